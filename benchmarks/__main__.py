"""Runs benchmarks by name; all of them if none is given."""

from __future__ import annotations

import sys

from benchmarks import mirror

BENCHMARKS = {"mirror": mirror.main}


def main(args: list[str]) -> int:
    """Run those that are named, with the options that follow."""
    names = [arg for arg in args if not arg.startswith("-")] or list(BENCHMARKS)
    options = [arg for arg in args if arg.startswith("-")]
    if unknown := [name for name in names if name not in BENCHMARKS]:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    return max(BENCHMARKS[name](options) for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
