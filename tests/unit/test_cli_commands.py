"""The command as its user meets it: what it prints on a terminal, into a pipe, as JSON, and what it exits with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seriatim import LedgerPolicy, NoChange, apply
from seriatim.conflict_events import ConflictEvent
from tests.unit.cli_support import ACCOUNT, RUN, Cli, cli_on, record_conflicts, with_history

FIRST = ConflictEvent(
    "e1",
    ACCOUNT,
    1,
    RUN,
    ("bank/opened|1993-01-01",),
    RUN[::-1],
    ("deposit|1",),
    7_000_000_000_000_000_001,
    None,
    7,
    12,
    1_000,
)
SECOND = ConflictEvent("e2", ACCOUNT, 2, RUN, (), None, (), None, 5, 7, 1_234, 61_001)
OF_ANOTHER = ConflictEvent("e3", "bank.loan", 1, RUN, (), None, (), None, 5, 7, 56, 99_000)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        yield cli


def _with_history(cli: Cli) -> list[int]:
    return with_history(cli.bank).snapshot_ids()


def test_a_history_in_a_pipe_is_one_line_for_each_commit(cli: Cli) -> None:
    """With every operation id, so that grep finds them, and without colours."""
    created, deposited, opened = _with_history(cli)

    code, output, notes = cli("history", ACCOUNT)

    header, *lines = [line.split("\t") for line in output.splitlines()]
    assert code == 0
    assert header == ["time (UTC)", "snapshot", "rows", "attempts", "run", "base", "sums", "operations"]
    assert [line[1] for line in lines] == [str(opened), str(deposited), str(created)]
    assert lines[0][7].split(",")[::30] == ["bank/opened|1993-01-01", "bank/opened|1993-01-31"]
    assert lines[1][2:] == ["+1 -0", "1", RUN, str(created), "bal +400", "deposit|1"]
    assert lines[2][2:] == ["~+3 -0", "", "", "", "", "(foreign append)"]
    assert "\x1b" not in output
    assert notes.startswith("~ rows")


@pytest.mark.parametrize("width", [80, 160, 200])
def test_no_id_is_broken_up_on_a_terminal(cli: Cli, width: int) -> None:
    """A table where there is room for one; else a block for each commit."""
    snapshots = _with_history(cli)

    lines = cli.lines("history", ACCOUNT, width=width)

    words = {word for line in lines for word in line.split()}
    assert max(map(len, lines)) <= width
    assert {RUN, "deposit|1", "bank/opened|1993-01-01", "bank/opened|1993-01-31", *map(str, snapshots)} <= words
    assert any("... 29 more ..." in line for line in lines)
    assert ("attempts" in lines[0]) == (width > 80)


def test_a_history_as_json(cli: Cli) -> None:
    created, deposited, opened = _with_history(cli)

    document = cli.json("history", ACCOUNT)

    assert (document["table"], document["branch"]) == (ACCOUNT, "main")
    newest, commit, foreign = document["history"]
    assert len(newest["operation_ids"]) == 31
    assert newest["snapshot_ids"] == [opened]
    assert commit.pop("commit_id")
    assert commit.pop("committed_at").endswith("Z")
    assert foreign.pop("committed_at").endswith("Z")
    assert commit == {
        "kind": "commit",
        "snapshot_ids": [deposited],
        "snapshots_made": 1,
        "is_whole": True,
        "operation_ids": ["deposit|1"],
        "run_id": RUN,
        "host": "till",
        "base_snapshot_id": created,
        "computed_on_snapshot_id": None,
        "attempts": 1,
        "rows_added": 1,
        "rows_removed": 0,
        "sums": {"bal": 400},
        "delta_versions": [],
        "engine": {"operation": "append", "records_added": 1, "records_deleted": 0},
    }
    assert foreign == {
        "kind": "foreign",
        "snapshot_ids": [created],
        "made_by": None,
        "engine": {"operation": "append", "records_added": 3, "records_deleted": 0},
    }


def test_a_limit_shows_the_newest(cli: Cli) -> None:
    opened = _with_history(cli)[-1]

    assert [entry["snapshot_ids"] for entry in cli.json("history", ACCOUNT, "--limit", "1")["history"]] == [[opened]]


def test_a_cut_history_says_what_is_still_known(cli: Cli) -> None:
    _with_history(cli)
    cli.bank.expire_all_but_head()

    lines = cli.lines("history", ACCOUNT, width=160)

    assert any("Older history is gone" in line for line in lines)
    assert any("the ledger still knows" in line for line in lines)
    assert cli.json("history", ACCOUNT)["history"][-1]["kind"] == "cut"
    assert cli.json("history", ACCOUNT)["history"][-1]["is_ledger_whole"] is True


def test_a_table_without_commits_says_so(cli: Cli) -> None:
    cli.bank.create([])

    assert cli.lines("history", ACCOUNT, width=80) == ["bank.account: nothing has been committed."]


def test_control_characters_of_an_operation_id_do_not_reach_the_terminal(cli: Cli) -> None:
    """Whoever names an operation must not be able to repaint somebody else's screen."""
    cli.bank.create()
    apply(cli.bank.connect(), ACCOUNT, lambda base: NoChange(), operation_ids=["red\x1b[31m\tand\nmore"])

    _, output, _ = cli("history", ACCOUNT)
    lines = cli.lines("history", ACCOUNT, width=200)

    assert r"red\x1b[31m\tand\nmore" in output
    assert any(r"red\x1b[31m\tand\nmore" in line for line in lines)


@pytest.mark.parametrize(
    ("operation_id", "code", "status"),
    [("deposit|1", 0, "applied"), ("bank/opened|1993-01-31", 0, "applied"), ("deposit|2", 4, "not applied")],
)
def test_a_lookup_answers_by_its_exit_code(cli: Cli, operation_id: str, code: int, status: str) -> None:
    _, deposited, opened = _with_history(cli)

    assert cli("lookup", ACCOUNT, operation_id)[0] == code
    assert cli("lookup", ACCOUNT, operation_id, "--json")[0] == code
    document = cli.json("lookup", ACCOUNT, operation_id)
    assert (document["status"], document["operation_id"], document["head_snapshot_id"]) == (
        status,
        operation_id,
        opened,
    )
    assert document.get("snapshot_id") in (None, deposited, opened)


def test_a_lookup_says_by_which_snapshot(cli: Cli) -> None:
    deposited = _with_history(cli)[1]

    _, output, _ = cli("lookup", ACCOUNT, "deposit|1")

    assert f"deposit|1 has been applied by snapshot {deposited} at 20" in output


def test_a_lookup_that_cannot_tell_says_why(cli: Cli) -> None:
    """Neither yes nor no: whoever does it again may do it twice."""
    cli.bank.create()
    cli.bank.deposit(1)
    cli.bank.expire_all_but_head()

    code, output, errors = cli("lookup", ACCOUNT, "deposit|1")

    assert code == 3
    assert f"cut at snapshot {cli.bank.head()}" in output
    assert errors == ""
    assert cli.json("lookup", ACCOUNT, "deposit|1")["status"] == "cannot tell"


def test_the_time_of_issue_tells_old_ids_from_new_ones(cli: Cli) -> None:
    cli.bank.create()
    for name in ("old", "newer", "newest"):
        policy = LedgerPolicy(recent_max=0, window_s=0)
        apply(cli.bank.connect(), ACCOUNT, lambda base: NoChange(), operation_ids=[name], ledger=policy)

    assert cli("lookup", ACCOUNT, "never")[0] == 3
    assert cli.json("lookup", ACCOUNT, "never")["forgotten_until"].endswith("Z")
    assert cli("lookup", ACCOUNT, "never", "--issued-at", "2999-01-01T00:00:00Z")[0] == 4
    assert cli("lookup", ACCOUNT, "never", "--issued-at", "2001-01-01")[0] == 3


def test_conflicts_are_those_of_the_table_newest_first(cli: Cli) -> None:
    cli.bank.create()
    record_conflicts(cli.bank, FIRST, OF_ANOTHER, SECOND)

    document = cli.json("conflicts", ACCOUNT)

    assert (document["table"], document["from"]) == (ACCOUNT, "bank.conflicts")
    assert [each["event_id"] for each in document["conflicts"]] == ["e2", "e1"]
    assert document["conflicts"][1] == {
        "event_id": "e1",
        "occurred_at": "1970-01-01T00:00:01.000Z",
        "attempt": 1,
        "wasted_ms": 12,
        "loser": {"run_id": RUN, "operation_ids": ["bank/opened|1993-01-01"]},
        "winner": {
            "run_id": RUN[::-1],
            "operation_ids": ["deposit|1"],
            "snapshot_id": 7_000_000_000_000_000_001,
        },
        "expected_snapshot_id": None,
        "actual_snapshot_id": 7,
    }
    assert len(cli.json("conflicts", ACCOUNT, "-n", "1")["conflicts"]) == 1


@pytest.mark.parametrize("width", [80, 160, 240])
def test_conflicts_fit_on_a_terminal(cli: Cli, width: int) -> None:
    cli.bank.create()
    record_conflicts(cli.bank, FIRST, SECOND)

    lines = cli.lines("conflicts", ACCOUNT, width=width)

    words = {word for line in lines for word in line.split()}
    assert max(map(len, lines)) <= width
    assert {"7000000000000000001", "bank/opened|1993-01-01", "deposit|1", "1,234"} <= words
    assert RUN in words
    assert lines[0].startswith("time (UTC)") == (width > 80)
    assert ("Left out for want of width: winner's run, read, met (--json has it)." in lines) == (width == 160)
    assert lines[-1] == "2 conflicts, 1,246 ms wasted."


def test_conflicts_may_be_kept_elsewhere(cli: Cli) -> None:
    cli.bank.create()
    record_conflicts(cli.bank, FIRST, name="bank.lost")
    record_conflicts(cli.bank, OF_ANOTHER)

    assert len(cli.json("conflicts", ACCOUNT, "--from", "bank.lost")["conflicts"]) == 1
    assert cli.lines("conflicts", ACCOUNT, width=80) == ["bank.conflicts has no conflicts of bank.account."]
