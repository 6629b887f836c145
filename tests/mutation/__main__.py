"""Mutates a seeded sample of the commit core with cosmic-ray, and says which mutants no test notices.

    python3 run.py mutation                          20 places, chosen by a new seed
    python3 run.py mutation --sample 200 --seed 7    those that seed 7 chooses, again the same

A mutant is killed when a test fails with it that passes without it, or when the tests do not end. Each gets the tests
that reach its line, one of each file first and quick ones before slow ones, to the first that fails.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from seriatim.system import SystemClock, new_random
from tests.mutants.checkout import ROOT, copied
from tests.mutation.coverage_run import reach_of
from tests.mutation.reach import Reach
from tests.mutation.sites import Mutant, sampled
from tests.mutation.trial import Finding, Outcome, tried

CORE: Final = "seriatim/commit"
AT_ONCE: Final = 2
TESTS: Final = (
    "tests/contract",
    "tests/oracle/test_concurrent_writers.py",
    "tests/oracle/test_life.py",
    "tests/oracle/test_mortal_writers.py",
    "tests/oracle/test_schedules.py",
    "tests/unit/test_intervals.py",
)


def main(arguments: Sequence[str]) -> int:
    """Try a sample of mutants, and print the score and the survivors."""
    options = _parser().parse_args(arguments)
    clock = SystemClock()
    seed = options.seed if options.seed is not None else new_random().randrange(1_000_000)
    reach = reach_of(ROOT, CORE, tuple(options.tests))
    mutants = sampled(ROOT, CORE, options.sample, random.Random(seed))
    begun_s = clock.monotonic_s()
    with tempfile.TemporaryDirectory(prefix="seriatim-mutation-") as folder:
        findings = _tried(Path(folder), reach, mutants, budget_s=options.budget)
    spent_s = clock.monotonic_s() - begun_s
    _print(findings)
    judged = [finding for finding in findings if finding.outcome is not Outcome.UNCLEAR]
    killed = sum(finding.is_killed for finding in judged)
    print(f"{killed} of {len(judged)} mutants were killed: {killed / max(1, len(judged)):.0%}.")
    print(f"{spent_s / max(1, len(findings)):.0f} s for each, {AT_ONCE} at once; the coverage run is not counted.")
    print(f"Again the same: --sample {options.sample} --seed {seed}")
    return 0


def _tried(folder: Path, reach: Reach, mutants: Sequence[Mutant], *, budget_s: float) -> list[Finding]:
    roots: SimpleQueue[Path] = SimpleQueue()
    for number in range(AT_ONCE):
        roots.put(copied(folder / str(number)))

    def try_one(mutant: Mutant) -> Finding:
        root = roots.get()
        try:
            finding = tried(root, mutant, reach.chosen(mutant.file, mutant.line, ROOT / mutant.file, budget_s))
        finally:
            roots.put(root)
        print(f"{mutant}: {finding.outcome.value}", file=sys.stderr, flush=True)
        return finding

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(try_one, mutants))


def _print(findings: Sequence[Finding]) -> None:
    """Print a line for each mutant, and of those that were not killed what they are."""
    for finding in sorted(findings, key=lambda each: (not each.is_killed, each.mutant.file, each.mutant.line)):
        told = f"{finding.outcome.value}: {finding.mutant}"
        if finding.killed_by is not None:
            told += f", by {finding.killed_by}"
        if finding.outcome is Outcome.SURVIVED:
            told += f", {finding.tests} tests"
            told += f"; {finding.left_out} more were beyond the budget" if finding.left_out else ""
        print(told)
        if not finding.is_killed:
            print(f"    - {finding.mutant.before}\n    + {finding.mutant.after}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py mutation", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=20, help="how many places to mutate, one mutant each")
    parser.add_argument("--seed", type=int, help="chooses the sample; printed when it is not given")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests, at most, for one mutant")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="the tests to choose from; default: all of the core")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
