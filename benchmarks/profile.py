"""Where the time of many processes goes: stacks as py-spy samples them, put into shares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_IMPORTING: Final = "importlib"
_LAYERS: Final = (  # The innermost frame that one of them knows says whose work a sample is.
    ("the commit core", "seriatim/commit/"),
    ("the mirror", "seriatim/mirror/"),
    ("the auditor", "seriatim/audit/"),
    ("what Seriatim tells Dagster", "seriatim/dagster/"),
    ("the rest of Seriatim", "seriatim/"),
    ("the bank's assets", "assets/"),
    ("the serial oracle", "oracle/"),
    ("the main job", "pipelines/"),
    ("Dagster", "dagster/"),
)


@dataclass(frozen=True, slots=True)
class Share:
    """A name, and its part of all samples."""

    name: str
    part: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What the samples come to; parts of time that was spent running, not waiting."""

    samples: int
    layers: tuple[Share, ...]  # whose work it was, what it called included; together they are everything
    imported: tuple[Share, ...]  # of the layer "importing": the packages whose modules were being run
    hottest: tuple[Share, ...]  # functions, without what they called
    of_ours: tuple[Share, ...]  # functions of ours, with what they called, without importing


def read_profile(folded: Path, *, top: int = 10) -> Profile:
    """Read a file of `py-spy record --format raw`."""
    return profile_of(folded.read_text(encoding="utf-8").splitlines(), top=top)


def profile_of(lines: Iterable[str], *, top: int = 10) -> Profile:
    """Count stacks: frames of `function (file:line)`, outermost first, then how often they were seen."""
    layers: Counter[str] = Counter()
    imported: Counter[str] = Counter()
    hottest: Counter[str] = Counter()
    ours: Counter[str] = Counter()
    for frames, count in _stacks(lines):
        layer = _layer(frames)
        layers[layer] += count
        hottest[frames[-1]] += count
        if layer == "importing":
            imported[_package(frames)] += count
        else:
            ours.update(dict.fromkeys({frame for frame in frames if "seriatim/" in frame}, count))
    samples = layers.total()
    counted = ((layers, len(layers)), (imported, top), (hottest, top), (ours, top))
    return Profile(samples, *(_shares(each, samples, number) for each, number in counted))


def _stacks(lines: Iterable[str]) -> Iterator[tuple[Sequence[str], int]]:
    for line in lines:
        stack, _, count = line.rpartition(" ")
        # A line is no part of what a function is; py-spy puts the process and the thread first, which are no functions.
        frames = [re.sub(r":\d+\)$", ")", frame) for frame in stack.split(";") if frame.endswith(")")]
        if frames and count.isdigit():  # A command of several lines makes lines that are no stacks.
            yield frames, int(count)


def _layer(frames: Sequence[str]) -> str:
    if any(_IMPORTING in frame for frame in frames):
        return "importing"
    for frame in reversed(frames):
        for name, path in _LAYERS:
            if f"({path}" in frame or f"/{path}" in frame:
                return name
    return "anything else"


def _package(frames: Sequence[str]) -> str:
    """Return the package of the innermost module that was being imported."""
    for frame in reversed(frames):
        if found := re.match(r"<module> \((\w+)/", frame):
            return found[1]
    return "anything else"


def _shares(counted: Counter[str], samples: int, top: int) -> tuple[Share, ...]:
    return tuple(Share(name, count / samples) for name, count in counted.most_common(top))
