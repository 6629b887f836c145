"""The commands of the documents, and the tests that say they run them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
MARKER: Final = "documented"
DOCUMENTS: Final = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))

_FENCED: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`([^`]+)`")
_SHELLS: Final = ("sh", "bash", "shell", "console")
# What a line begins with that is a command: variables, then one of the programs and something that it is told.
_COMMAND: Final = re.compile(
    r"([A-Z_]+=\S+ )*(python3 run\.py|(\.venv/bin/)?(seriatim|dagster(-webserver|-daemon)?)|pip install|export) +\S"
)


def commands_in(text: str) -> Iterator[str]:
    """Yield the commands of a document in Markdown: those of its blocks and those within its sentences.

    A block without a language may be a picture, an output or commands, so each of its lines speaks for itself; of a
    block of a shell every line must be a command.

    Raises:
        ValueError: a line of a shell's block is none, so that nobody would notice if it were wrong.
    """
    for language, block in _FENCED.findall(text):
        if language and language not in _SHELLS:
            continue
        for line in block.splitlines():
            command, *comments = (part.strip() for part in re.split(r"\s+# ", line.removeprefix("$ ")))
            if language and command and not (command.startswith("#") or _COMMAND.match(command)):
                raise ValueError(f"{line!r} is in a block of a shell, and no command that is known; see _COMMAND")
            yield from (part for part in (command, *comments) if _COMMAND.match(part))
    for words in _INLINE.findall(_FENCED.sub("", text)):
        command = " ".join(words.split())
        if _COMMAND.match(command):
            yield command


def named_in(text: str) -> Iterator[str]:
    """Yield the commands that the tests of a module in Python are marked with.

    Raises:
        ValueError: a mark is not on a test, or holds something else than texts: nobody could say what it names.
    """
    if MARKER not in text:
        return  # Most modules; to parse them all takes seconds.
    tree = ast.parse(text)
    marks = [node for node in ast.walk(tree) if _is_mark(node)]
    of_tests = [
        decorator
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for decorator in node.decorator_list
    ]
    for mark in marks:
        assert isinstance(mark, ast.Call)
        texts = [argument.value for argument in mark.args if isinstance(argument, ast.Constant)]
        if mark not in of_tests or len(texts) != len(mark.args) or not all(isinstance(each, str) for each in texts):
            raise ValueError(f"line {mark.lineno}: pytest.mark.{MARKER} stands on a test and takes commands as texts")
        yield from map(str, texts)


def documented_commands() -> dict[str, list[str]]:
    """Return every command of the documents, and the documents that have it."""
    return _by_command(DOCUMENTS, commands_in)


def named_commands() -> dict[str, list[str]]:
    """Return every command that a test names, and the files of those tests."""
    return _by_command(sorted((ROOT / "tests").rglob("test_*.py")), named_in)


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == MARKER


def _by_command(files: Sequence[Path], read: Callable[[str], Iterator[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in files:
        for command in read(file.read_text(encoding="utf-8")):
            found.setdefault(command, []).append(str(file.relative_to(ROOT)))
    return found
