"""Results: what benchmarks found, when, where and under which load, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Found, WrongUseError
from benchmarks.figures import Key, Series


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one benchmark found, and the load average before and after it."""

    name: str
    found: Found
    begun_at: str
    load_before: float
    load_after: float
    took_s: float


@dataclass(frozen=True, slots=True)
class Results:
    """What was found on one machine, by benchmarks in the order in which they ran."""

    machine: Mapping[str, str]
    seed: int
    is_quick: bool
    outcomes: tuple[Outcome, ...]

    def save(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._fields(), indent=1) + "\n", encoding="utf-8")

    def _fields(self) -> Mapping[str, object]:
        return {
            "machine": self.machine,
            "seed": self.seed,
            "is_quick": self.is_quick,
            "outcomes": [
                {
                    "name": each.name,
                    "begun_at": each.begun_at,
                    "load": [each.load_before, each.load_after],
                    "took_s": each.took_s,
                    "series": [[*one.key, one.values, one.cpu] for one in each.found.series],
                    "notes": each.found.notes,
                }
                for each in self.outcomes
            ],
        }


def load(path: Path) -> Results:
    """Read a file that `Results.save` wrote."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    outcomes = tuple(_outcome(each) for each in fields["outcomes"])
    return Results(fields["machine"], fields["seed"], fields["is_quick"], outcomes)


def merged(files: Iterable[Results]) -> Results:
    """Put files together, of one machine; where two have the same benchmark, the later file counts.

    Raises:
        WrongUseError: they are of different machines or versions, whose figures have nothing to do with each other.
    """
    first, *others = files
    outcomes = {each.name: each for each in first.outcomes}
    for other in others:
        if other.machine != first.machine:
            differing = [name for name in first.machine if first.machine[name] != other.machine.get(name)]
            raise WrongUseError(
                f"the files are of different machines: {', '.join(differing)} differ; name those of one"
            )
        outcomes.update({each.name: each for each in other.outcomes})
    is_quick = any(each.is_quick for each in (first, *others))
    return Results(first.machine, first.seed, is_quick, tuple(outcomes.values()))


def _outcome(fields: Mapping[str, Any]) -> Outcome:
    series = tuple(
        Series(Key(name, metric, at), tuple(values), tuple(cpu)) for name, metric, at, values, cpu in fields["series"]
    )
    found = Found(series, tuple(fields["notes"]))
    before, after = fields["load"]
    return Outcome(fields["name"], found, fields["begun_at"], before, after, fields["took_s"])
