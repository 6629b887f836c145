"""The report: Markdown, and one picture beside it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soak.figures import Figures, Percentiles, windows
from soak.judge import Judgement
from soak.load import Course, Settings
from soak.task import KINDS

PICTURE: Final = "soak.svg"
_WINDOWS: Final = 60  # in a picture


def write_report(folder: Path, settings: Settings, course: Course, figures: Figures, judgement: Judgement) -> Path:
    """Write `soak.md` and its picture into the folder, and return the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    _draw(folder / PICTURE, settings, course, figures)
    path = folder / "soak.md"
    path.write_text("\n".join(_lines(settings, course, figures, judgement)) + "\n", encoding="utf-8")
    return path


def _lines(settings: Settings, course: Course, figures: Figures, judgement: Judgement) -> Iterator[str]:
    yield "# Soak"
    yield ""
    yield (
        f"{settings.minutes:g} minutes, {settings.writers} writer processes on one table, a kill about every "
        f"{settings.kill_every_s:g} s, upkeep beside them; seed {settings.seed}. {_machine()}."
    )
    yield ""
    yield "| verdict | |"
    yield "| --- | --- |"
    yield f"| against the plain-Python model | {len(judgement.problems)} problems |"
    yield f"| operations that landed, each once | {judgement.operations:,} |"
    yield f"| accounts compared | {judgement.accounts:,} |"
    yield f"| operations looked up in the ledger | {judgement.looked_up:,} |"
    yield f"| snapshots read to the last file | {judgement.snapshots_read:,} |"
    yield ""
    yield from (f"- {problem}" for problem in judgement.problems[:20])
    yield from _table_of_load(settings, course, figures)
    yield from _table_of_kinds(figures)
    yield from _table_of_growth(course)
    yield f"![over time]({PICTURE})"


def _table_of_load(settings: Settings, course: Course, figures: Figures) -> Iterator[str]:
    upkeep = figures.upkeep
    yield "| load | |"
    yield "| --- | --- |"
    yield f"| commits per second | {course.observer.commits / (settings.minutes * 60):.2f} |"
    yield f"| attempts per commit | {figures.attempts_per_commit:.2f} |"
    yield f"| changes kept on a new base (rebases) | {sum(each.rebases for each in figures.operations):,} |"
    yield f"| writers killed | {course.kills} |"
    yield f"| calls that found their operation done by a killed one | {sum(e.is_noop for e in figures.operations)} |"
    for name, count in sorted(figures.errors.items()):
        yield f"| calls that ended in {name}, and were made again | {count} |"
    yield f"| rounds of upkeep | {len(upkeep)} |"
    yield f"| files compacted, orphans removed | {_sum(upkeep, 'compacted')}, {_sum(upkeep, 'orphans_removed')} |"
    yield f"| rounds of upkeep that were refused or lost | {sum('error' in each for each in upkeep)} |"
    yield ""


def _table_of_kinds(figures: Figures) -> Iterator[str]:
    yield "| call | calls | p50 ms | p95 ms | p99 ms | highest ms | attempts |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for kind in (*KINDS, "all"):
        of_kind = [each for each in figures.applied if kind in (each.kind, "all")]
        took = Percentiles.of(each.latency_s for each in of_kind)
        attempts = sum(each.attempts for each in of_kind) / max(1, len(of_kind))
        yield (
            f"| {kind} | {took.calls:,} | {took.p50:.0f} | {took.p95:.0f} | {took.p99:.0f} | {took.highest:.0f} | "
            f"{attempts:.2f} |"
        )
    yield ""


def _table_of_growth(course: Course) -> Iterator[str]:
    yield "| at | commits | files | MiB | metadata KiB | snapshots | largest writer MiB |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    step = max(1, len(course.samples) // 10)
    for each in course.samples[::step]:
        yield (
            f"| {each.at_s:.0f} s | {each.commits:,} | {each.files:,} | {each.mib:.1f} | {each.metadata_kib:.0f} | "
            f"{each.snapshots} | {each.rss_mib_max:.0f} |"
        )
    yield ""


def _draw(path: Path, settings: Settings, course: Course, figures: Figures) -> None:
    picture = Figure(figsize=(11, 8), layout="constrained")
    axes: list[Axes] = list(picture.subplots(3, 2, sharex=True).flat)
    width_s = max(5.0, settings.minutes * 60 / _WINDOWS)
    stretches = windows(figures.applied, width_s)
    middles = [middle for middle, _ in stretches]
    took = [Percentiles.of(each.latency_s for each in operations) for _, operations in stretches]
    for name in ("p50", "p95", "p99"):
        axes[0].plot(middles, [getattr(each, name) for each in took], label=name)
    axes[0].legend()
    axes[0].set_yscale("log")
    axes[0].set_title("latency of a call, ms")
    axes[1].plot(middles, [len(operations) / width_s for _, operations in stretches])
    axes[1].set_title("operations per second")
    axes[2].plot(middles, [sum(e.attempts for e in operations) / len(operations) for _, operations in stretches])
    axes[2].set_title("attempts per commit")
    at_s = [each.at_s for each in course.samples]
    axes[3].plot(at_s, [each.rss_mib_max for each in course.samples])
    axes[3].set_title("memory of the largest writer, MiB")
    axes[4].plot(at_s, [each.files for each in course.samples])
    axes[4].set_title("files below the table's location")
    axes[5].plot(at_s, [each.metadata_kib for each in course.samples])
    axes[5].set_title("metadata file, KiB")
    for place in axes:
        place.grid(alpha=0.3)
    for place in axes[1:]:
        place.set_ylim(bottom=0)
    for place in axes[4:]:
        place.set_xlabel("seconds")
    picture.savefig(path, metadata={"Date": None})


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyiceberg", "pyarrow"))
    load = f"load average {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else "load not known"
    return (
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {packages}, SQLite; {load}"
    )


def _sum(upkeep: tuple[dict[str, int], ...], name: str) -> int:
    return sum(each.get(name, 0) for each in upkeep)
