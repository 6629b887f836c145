"""`python3 run.py soak`: keep a table under load, judge it, and write a report.

Exit codes: 0 the table is what the model says; 1 it is not, and the report says how.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from soak.figures import figures
from soak.judge import judge
from soak.load import Settings, run
from soak.place import Place
from soak.report import write_report


def main(arguments: list[str] | None = None) -> int:
    """Run the soak and return its exit code."""
    options = _parser().parse_args(arguments)
    settings = Settings(options.minutes, options.writers, options.seed, options.kill_every)
    with tempfile.TemporaryDirectory(prefix="seriatim-soak-") as folder:
        place = Place(Path(folder))
        place.create()
        course = run(place, settings, lambda line: print(line, flush=True))
        judgement = judge(place, settings, course)
        report = write_report(options.report, settings, course, figures(place, settings, course), judgement)
    for problem in judgement.problems:
        print(problem)
    print(f"{judgement.operations} operations, {len(judgement.problems)} problems: {report}")
    return 1 if judgement.problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py soak", description="A table under load for a long time, and a report."
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="how long, default 30")
    parser.add_argument("--writers", type=int, default=4, help="writer processes, default 4")
    parser.add_argument("--seed", type=int, default=1, help="of the operations and the kills, default 1")
    parser.add_argument("--kill-every", type=float, default=10.0, help="seconds, on average; 0: never. Default 10")
    parser.add_argument(
        "--report", type=Path, default=Path(".seriatim/soak"), help="folder of the report, default .seriatim/soak"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
