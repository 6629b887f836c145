"""The mutants of the core, as cosmic-ray makes them, and a seeded sample: one mutant for each place."""

from __future__ import annotations

import ast
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_NO_MUTATION: Final = "core/NoOp"
_Place = tuple[str, tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to break one place."""

    file: str
    line: int
    operator: str
    occurrence: int
    text: str = field(repr=False)  # of the whole file, mutated
    before: str
    after: str

    def __str__(self) -> str:
        """Say where it is and what it is."""
        return f"{self.file}:{self.line} {self.operator.removeprefix('core/')}"


def sampled(root: Path, package: str, count: int, chance: random.Random) -> list[Mutant]:
    """Return mutants of that many places of a package; what changes nothing, or does not parse, is passed over."""
    places = list(_places(root, package).items())
    chance.shuffle(places)
    chosen: list[Mutant] = []
    for (file, (line, _), _), kinds in places:
        if len(chosen) == count:
            break
        chance.shuffle(kinds)
        chosen.extend(list(_mutants(root, file, line, kinds))[:1])
    return chosen


def _mutants(root: Path, file: str, line: int, kinds: list[tuple[str, int]]) -> Iterator[Mutant]:
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = (root / file).read_text(encoding="utf-8")
    for operator, occurrence in kinds:
        mutated: str | None = mutate_code(text, get_operator(operator)(), occurrence)
        if mutated is not None and is_other_code(text, mutated):
            yield Mutant(file, line, operator, occurrence, mutated, *_first_difference(text, mutated))
            return


def _places(root: Path, package: str) -> dict[_Place, list[tuple[str, int]]]:
    """Return each place that an operator can change, with the operators and which of its occurrences it is."""
    from cosmic_ray.commands import init
    from cosmic_ray.modules import find_modules
    from cosmic_ray.work_db import WorkDB, use_db

    found: dict[_Place, list[tuple[str, int]]] = defaultdict(list)
    with _scratch() as folder, use_db(str(folder / "session.sqlite"), WorkDB.Mode.create) as session:
        init(sorted(find_modules([root / package])), session, {})
        for item in session.work_items:
            for mutation in item.mutations:
                file = Path(mutation.module_path).relative_to(root).as_posix()
                if mutation.operator_name != _NO_MUTATION:
                    place = (file, tuple(mutation.start_pos), tuple(mutation.end_pos))
                    found[place].append((mutation.operator_name, mutation.occurrence))
    return {place: sorted(found[place]) for place in sorted(found)}


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="seriatim-mutation-") as folder:
        yield Path(folder)


def is_other_code(text: str, mutated: str) -> bool:
    """Whether the mutated file parses and does something else: annotations are never evaluated here."""
    try:
        return _without_annotations(text) != _without_annotations(mutated)
    except SyntaxError:
        return False


def _without_annotations(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _first_difference(text: str, mutated: str) -> tuple[str, str]:
    lines = zip(text.splitlines(), mutated.splitlines(), strict=False)
    return next(((one.strip(), other.strip()) for one, other in lines if one != other), ("", ""))
