"""The command of the benchmarks, on what was measured before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.benchmark import Found
from benchmarks.figures import Key, Series
from benchmarks.report import BEGIN, END
from benchmarks.results import Results
from tests.unit.bench_support import results

IMPORTS = "imports"  # A benchmark whose targets these figures are of.


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a document and no baseline, which the command takes for the checkout's."""
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{BEGIN}\n{END}\n")
    monkeypatch.setattr(command, "_DOCUMENT", document)
    monkeypatch.setattr(command, "_PLOTS", tmp_path / "plots")
    monkeypatch.setattr(command, "_KEPT", tmp_path / "kept")
    monkeypatch.setattr(command, "BASELINE", tmp_path / "baseline.json")
    return tmp_path


def _kept(place: Path, name: str, *ours_ms: float, is_quick: bool = False, cores: str = "2") -> str:
    (outcome,) = results(1).outcomes
    series = (
        Series(Key("import seriatim", "ms"), ours_ms),
        Series(Key("import pyiceberg.catalog.sql", "ms"), (100.0,) * len(ours_ms)),
    )
    measured = Results(
        {"cores": cores, "Python": "3.11.7"}, 7, is_quick, (replace(outcome, name=IMPORTS, found=Found(series)),)
    )
    measured.save(place / "kept" / f"{name}.json")
    return str(place / "kept" / f"{name}.json")


def test_a_regression_ends_with_exit_code_1(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, same = (_kept(place, str(ms), ms, ms + 1, ms + 2) for ms in (50, 51))
    bad = _kept(place, "90", 90, 91, 92, cores="4")

    codes = [
        command.main(["--from", good, "--save-baseline", "--report"]),
        command.main(["--from", same, "--compare"]),
        command.main(["--from", bad, "--compare"]),
    ]

    assert codes == [0, 0, 1]
    said = capsys.readouterr().out
    assert "| 0.51 (0.505 to 0.515) | 0.91 (0.905 to 0.915) | REGRESSED |" in said
    assert said.count("cores: 2, now 4") == 1
    assert "Python:" not in said
    assert (
        "| B6 | import seriatim: ms, to import pyiceberg.catalog.sql | 0.51 " in (place / "performance.md").read_text()
    )


def test_the_newest_results_are_taken(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _kept(place, "20260101-000000", 10.0)
    _kept(place, "20260102-000000", 20.0)

    assert command.main(["--from", "newest"]) == 0
    assert "| import seriatim | 20 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["imprts"], "no benchmark 'imprts'"),
        (["--from", "quick", "--save-baseline"], "a smoke test is no baseline"),
        (["--from", "good", "--compare"], "nothing to compare with"),
    ],
)
def test_a_wrong_use_ends_with_exit_code_2(
    arguments: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"quick": _kept(place, "quick", 50.0, is_quick=True), "good": _kept(place, "good", 50.0)}

    assert command.main([files.get(each, each) for each in arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (place / "baseline.json").exists()


def test_nothing_is_newest_where_nothing_was_measured(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["--from", "newest"])
    assert "nothing has been measured" in capsys.readouterr().err
