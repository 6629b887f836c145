"""No command of the documents is without a test that runs it, and no test runs one that no document has any more."""

from __future__ import annotations

import pytest

from tests.documents.commands import commands_in, documented_commands, named_commands, named_in

BLOCKS = """
`python3 run.py dev` is a command, `seriatim.dagster` none; neither is `seriatim`, and `seriatim upkeep
TABLE` is one that is broken between two lines.

```
$ seriatim lookup TABLE id; echo $?     # pip install it
table: what it prints
4
dagster/   ->   a picture
X=1 python3 run.py test
```

```python
seriatim = "seriatim history TABLE"
```
"""


def test_every_command_of_the_documents_is_named_by_a_test() -> None:
    named = named_commands()

    assert {command: files for command, files in documented_commands().items() if command not in named} == {}


def test_every_command_that_a_test_names_is_in_a_document() -> None:
    documented = documented_commands()

    assert {command: files for command, files in named_commands().items() if command not in documented} == {}


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    assert list(commands_in(BLOCKS)) == [
        *("seriatim lookup TABLE id; echo $?", "pip install it", "X=1 python3 run.py test"),
        *("python3 run.py dev", "seriatim upkeep TABLE"),
    ]


def test_a_line_of_a_shell_that_is_no_known_command_is_an_error() -> None:
    """Else it could say anything."""
    with pytest.raises(ValueError, match="make demo"):
        list(commands_in("```sh\n# why\npython3 run.py demo\nmake demo\n```\n"))


def test_a_mark_on_a_test_names_its_commands() -> None:
    assert list(named_in("@pytest.mark.documented('a b', 'c')\ndef test_it(): ...\n")) == ["a b", "c"]


@pytest.mark.parametrize(
    "text", ["@pytest.mark.documented('a')\ndef helper(): ...\n", "@pytest.mark.documented(A)\ndef test_it(): ...\n"]
)
def test_a_mark_that_names_nothing_is_an_error(text: str) -> None:
    """It would count, and run nothing."""
    with pytest.raises(ValueError, match="stands on a test"):
        list(named_in(text))
