"""What the benchmarks write down: results, report, pictures, profiles."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.benchmark import WrongResultError, WrongUseError, require
from benchmarks.crew import Crew, work
from benchmarks.figures import Key, Series
from benchmarks.plots import draw
from benchmarks.profile import profile_of
from benchmarks.registry import BENCHMARKS
from benchmarks.report import BEGIN, END, generated, number, verdicts_of, write_report
from benchmarks.results import load, merged
from tests.documents.commands import ROOT
from tests.unit.bench_support import Failing, Forgetful, benchmark, results

STACKS = """\
process 6:"python -c
print(1)";
process 7:"python -m x";<module> (x.py:1);apply (seriatim/commit/apply_change.py:3);write (avro/file.py:9) 30
process 7:"python -m x";<module> (x.py:1);apply (seriatim/commit/apply_change.py:8);write (avro/file.py:4) 10
process 8:"python";_load (<frozen importlib._bootstrap>:1);<module> (numpy/core/a.py:9);f (seriatim/commit/a.py:3) 40
process 8:"python -m x";<module> (x.py:3);run (dagster/core/run.py:3) 20
"""


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = results(8, 10, 12)
    found.save(tmp_path / "kept" / "a.json")

    assert load(tmp_path / "kept" / "a.json") == found


def test_a_later_file_counts_and_another_machine_is_refused() -> None:
    first, second = results(8, 10, 12), results(9, 11, 13)

    assert merged([first, second]) == second
    with pytest.raises(WrongUseError, match="cores differ"):
        merged([first, replace(second, machine={"cores": "4"})])


def test_the_report_says_what_was_measured_and_what_is_met() -> None:
    text = generated(results(8, 10, 12), {"one": benchmark()}, {"one": "plots/one.svg"})

    assert "cores 2; seed 7." in text
    assert "| T1 | ours: ms, to peer | 0.5 (0.45 to 0.55) | <= 1x | met |" in text
    assert "| T2 | ours: ms, to floor | - | <= 2.5x | not measured |" in text
    assert "| | ms | CPU ms |" in text
    assert "| ours | 10 (9 to 11) | 5 (4.5 to 5.5) |" in text
    assert "| peer | 20 | 10 |" in text
    assert "load average 0.1 before, 1.9 after" in text
    assert "![One thing](plots/one.svg)" in text
    assert "of no worth" not in text
    assert "of no worth" in generated(replace(results(1), is_quick=True), {"one": benchmark()}, {})


@pytest.mark.parametrize(("value", "text"), [(12345.6, "12,346"), (3, "3"), (0.01234, "0.0123"), (12.34, "12.3")])
def test_a_number_has_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_report_replaces_what_is_between_the_marks_and_nothing_else(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    write_report(document, "new\n")
    write_report(document, "newer\n")

    assert document.read_text() == f"before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"


@pytest.mark.parametrize("text", ["no marks", f"{BEGIN} alone", f"{END} {BEGIN}", f"{BEGIN}{END}{END}"])
def test_a_document_without_its_marks_is_left_alone(text: str, tmp_path: Path) -> None:
    """Whatever is in it, somebody has written it."""
    document = tmp_path / "performance.md"
    document.write_text(text)

    with pytest.raises(WrongUseError, match="nothing was written"):
        write_report(document, "new")
    assert document.read_text() == text


def test_pictures_of_the_same_figures_are_the_same(tmp_path: Path) -> None:
    """Else each report would change every picture, and a reader could not see which figures have."""
    points = tuple(Series(Key("ours", "ms", at), (at / 10, at / 9)) for at in (20, 200))
    rates = (Series(Key("apply with turnstile", "commits/s"), (30, 40, 50)), Series(Key("peer", "commits/s"), (20,)))
    (outcome,) = results(1).outcomes
    both = replace(
        results(1),
        outcomes=tuple(
            replace(outcome, name=name, found=replace(outcome.found, series=series))
            for name, series in (("history", points), ("contention", rates), ("imports", rates))
        ),
    )

    assert (
        draw(both, tmp_path / "a")
        == draw(both, tmp_path / "b")
        == {
            "history": "history.svg",
            "contention": "contention.svg",
        }
    )

    for name in ("history.svg", "contention.svg"):
        picture = (tmp_path / "a" / name).read_bytes()
        assert picture == (tmp_path / "b" / name).read_bytes()
        assert b"apply with turnstile" in picture or b"ours" in picture


def test_the_pictures_of_the_document_are_there_and_small() -> None:
    shown = set(re.findall(r"\]\(plots/([^)]+)\)", (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")))

    assert shown == {path.name for path in (ROOT / "docs" / "plots").glob("*")}
    assert all(path.stat().st_size < 100_000 for path in (ROOT / "docs" / "plots").glob("*"))


def test_every_target_is_said_differently() -> None:
    """The baseline knows them by that."""
    said = [(each.code, each.what) for benchmark in BENCHMARKS.values() for each in benchmark.targets]

    assert len(set(said)) == len(said) > 40


def test_a_profile_says_whose_work_it_was() -> None:
    """The innermost frame that is anybody's, but for importing, whoever began it."""
    profile = profile_of(STACKS.splitlines())

    assert profile.samples == 100
    assert [(each.name, each.part) for each in profile.layers] == [
        ("the commit core", 0.4),
        ("importing", 0.4),
        ("Dagster", 0.2),
    ]
    assert [(each.name, each.part) for each in profile.imported] == [("numpy", 0.4)]
    assert profile.hottest[0].name in ("write (avro/file.py)", "f (seriatim/commit/a.py)")
    assert [(each.name, each.part) for each in profile.of_ours] == [("apply (seriatim/commit/apply_change.py)", 0.4)]


def test_a_benchmark_whose_table_is_wrong_fails() -> None:
    require("right", 3, 3)
    with pytest.raises(WrongResultError, match="holds 2, not 3"):
        require("wrong", 2, 3)


def test_verdicts_are_of_what_was_run() -> None:
    assert [each.word for each in verdicts_of(results(21), {"one": benchmark()})] == [
        "NOT met",
        "not measured",
        "not measured",
    ]


@pytest.mark.slow
def test_a_crew_whose_commits_are_lost_fails(tmp_path: Path) -> None:
    """However fast it was; each of two has warmed up by three increments before its own three."""
    with pytest.raises(WrongResultError, match="holds 11, not 12"):
        work(Forgetful(), tmp_path, Crew(processes=1, threads=2, increments=3))


@pytest.mark.slow
def test_a_worker_that_fails_is_told(tmp_path: Path) -> None:
    """And nobody waits for the others, who cannot begin without it."""
    with pytest.raises(RuntimeError, match=r"worker \d: OSError: \S+ is not there"):
        work(Failing(), tmp_path, Crew(processes=2, threads=1, increments=3))
