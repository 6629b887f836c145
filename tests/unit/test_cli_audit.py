"""`seriatim audit`: the verdict as text, as a document, as a page, and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from seriatim.conflict_events import ConflictEvent
from tests.unit.cli_support import ACCOUNT, RUN, Cli, cli_on, record_conflicts, with_history


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        with_history(cli.bank)
        yield cli


def _double_append(cli: Cli, operation_id: str = "again") -> None:
    """Land one operation twice, as a loop does that takes a lost reply for a failure."""
    for number in range(2):
        with cli.bank.rival() as catalog:
            table = catalog.load_table(ACCOUNT)
            snapshot = table.current_snapshot()
            assert snapshot is not None
            words = {
                "seriatim.commit-id": f"c{number}",
                "seriatim.operation-ids": f'["{operation_id}"]',
                "seriatim.base-snapshot-id": str(snapshot.snapshot_id),
            }
            rows = pa.Table.from_pylist([{"id": 9, "bal": 1}], schema=table.schema().as_arrow())
            table.append(rows, snapshot_properties=words)


def test_a_clean_table_ends_with_0(cli: Cli) -> None:
    code, output, _ = cli("audit", ACCOUNT, "--unique-key", "id", "--bounds", "bal:0:")

    assert (code, output) == (0, "bank.account, branch main: 3 snapshots judged, nothing is wrong.\n")


def test_an_anomaly_ends_with_6_and_its_witness(cli: Cli) -> None:
    _double_append(cli)

    code, output, _ = cli("audit", ACCOUNT, "--unique-key", "id")

    assert code == 6
    assert "2 anomalies." in output
    assert "  double apply: again was applied by snapshot" in output
    assert "    operations  again\n" in output
    assert "    row         {'id': 9}: 2 rows\n" in output


def test_what_cannot_be_judged_ends_with_3(cli: Cli) -> None:
    cli.bank.deposit(1)

    code, output, _ = cli("audit", ACCOUNT)

    assert code == 3
    assert "cannot be judged: it is none of Seriatim's, and no invariant is declared" in output
    assert cli("audit", ACCOUNT, "--unique-key", "id", "--bounds", "bal::500")[0] == 0


def test_the_document_says_what_the_text_says(cli: Cli) -> None:
    _double_append(cli)

    document = cli.json("audit", ACCOUNT, "--constant-sum", "bal", "--sums-as-recorded", "bal", "--since", "4711")

    assert document["status"] == "anomalies"
    assert document["invariants"] == ["the sum of bal is constant", "the sum of bal moves as recorded"]
    assert "double apply" in [anomaly["kind"] for anomaly in document["anomalies"]]
    assert "4711" in document["notes"][0]


@pytest.mark.parametrize(
    "arguments",
    [("--bounds", "bal"), ("--bounds", "bal::"), ("--bounds", "bal:a:b"), ("--since", "x")],
)
def test_wrong_use_ends_with_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("audit", ACCOUNT, *arguments)[0] == 2


def test_a_column_that_is_not_there_is_an_error_and_no_anomaly(cli: Cli) -> None:
    code, _, error = cli("audit", ACCOUNT, "--unique-key", "nr")

    assert code == 1
    assert "'nr'" in error


class _Page(HTMLParser):
    """What a page refers to, and what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.classes: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.add(value or "")
            if name == "class":
                self.classes.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_nothing_else_and_links_within_itself(cli: Cli, tmp_path: Path) -> None:
    """Every anomaly is there with its witness, every commit in the timeline, and names cannot break out of the text."""
    nasty = "<script>alert(1)</script>"
    _double_append(cli, nasty)
    record_conflicts(cli.bank, ConflictEvent("e1", ACCOUNT, 1, RUN, ("lost",), RUN, ("won",), 1, 2, 3, 4, 2**42))
    file = tmp_path / "audit.html"

    code, _, _ = cli("audit", ACCOUNT, "--html", str(file), "--conflicts-from", "bank.conflicts")

    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert code == 6
    assert "script" not in page.tags
    assert nasty in page.text
    assert "double apply" in page.text
    assert "lost attempt 1" in page.text
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert sum(each.startswith("event") for each in page.classes) == 6
    assert sum(each.endswith("red") and each.startswith("event") for each in page.classes) == 1
