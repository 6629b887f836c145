"""Which tests reach a line of the core, and which of them one mutant gets."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tests for one mutant, in the order in which they run."""

    tests: tuple[str, ...]
    seconds: float  # that they took without it
    left_out: int  # which reach it too, beyond the budget


@dataclass(frozen=True, slots=True)
class Reach:
    """What a run of all tests has shown."""

    tests_of: Mapping[str, Mapping[int, frozenset[str]]]  # by file and line; of lines that imports alone run: none
    seconds: Mapping[str, float]  # of each test that passed

    def chosen(self, file: str, line: int, source: Path, budget_s: float) -> Chosen:
        """Choose the tests that reach the statement on that line; if imports alone do, those that reach its file."""
        of_lines = self.tests_of.get(file, {})
        lines = statement_lines(source.read_text(encoding="utf-8"), line)
        reaching = frozenset[str]().union(*(of_lines.get(each, ()) for each in lines))
        if not reaching and any(each in of_lines for each in lines):
            reaching = frozenset[str]().union(*of_lines.values())
        ordered = self._ordered(reaching & self.seconds.keys())
        tests: list[str] = []
        spent = 0.0
        for test in ordered:
            if tests and spent + self.seconds[test] > budget_s:
                break
            tests.append(test)
            spent += self.seconds[test]
        return Chosen(tuple(tests), spent, len(ordered) - len(tests))

    def _ordered(self, tests: frozenset[str]) -> list[str]:
        """Take the quickest of each file first, then the next of each, and so on: files are about different things."""
        rounds: list[tuple[int, float, str]] = []
        seen: dict[str, int] = {}
        for test in sorted(tests, key=lambda each: (self.seconds[each], each)):
            file = test.partition("::")[0]
            seen[file] = seen.get(file, 0) + 1
            rounds.append((seen[file], self.seconds[test], test))
        return [test for _, _, test in sorted(rounds)]


def statement_lines(source: str, line: int) -> range:
    """Return the lines of the innermost statement on that line; of one with a body, those before the body."""
    found = range(line, line + 1)
    size = None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
        if first <= line <= last and (size is None or last - first < size):
            found, size = range(first, last + 1), last - first
    return found
