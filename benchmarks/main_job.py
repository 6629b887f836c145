"""B9: the main job, on the real bank year where there is one: overlapping Dagster runs, judged by the serial oracle."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.figures import Key, Series
from benchmarks.profile import Profile, read_profile
from benchmarks.rounds import children_cpu_s

_REAL: Final = "SERIATIM_TRANSACTIONS_REAL"
_TOLD: Final = ("runs", "peak runs in flight", "commits", "conflicts met")
_SAMPLE_S: Final = 0.5
_RATE_HZ: Final = 50


def run(setting: Setting) -> Found:
    """Run it once, under the profiler if that is wanted, and say what it took.

    Raises:
        RuntimeError: the main job failed, or its balances are not the oracle's.
    """
    home, folded = setting.place / "home", setting.place / "profile.txt"
    environment, data = dict(os.environ), "a generated bank"
    if real := environment.get(_REAL):
        environment["SERIATIM_TRANSACTIONS"], data = real, Path(real).name
    command = [sys.executable, "-m", "pipelines.main_job", "--home", str(home)]
    if setting.is_profiled:
        command = [*_recording(folded), *command]
    cpu_begun_s, begun_s = children_cpu_s(), time.perf_counter()
    with _memory_watched() as peaks:
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall_s, cpu_s = time.perf_counter() - begun_s, children_cpu_s() - cpu_begun_s
    if ended.returncode:
        raise RuntimeError(f"the main job ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    series = [_series("wall s", wall_s, cpu_s), _series("peak MB, all processes", peaks[-1] / 2**20)]
    series += [_series(name, _figure(ended.stdout, name)) for name in _TOLD]
    series.append(_series("commits/s", _figure(ended.stdout, "commits") / wall_s))
    notes = [f"One run, on {data}."]
    if setting.is_profiled:
        notes += ["py-spy's own time is in these figures.", *_told(read_profile(folded))]
    return Found(tuple(series), tuple(notes))


def _series(metric: str, value: float, *cpu_s: float) -> Series:
    return Series(Key("main job", metric), (value,), cpu_s)


def _recording(folded: Path) -> Sequence[str]:
    """Return the command by which another is run under py-spy, with all the processes that it starts."""
    options = ["--subprocesses", "--format", "raw", "--rate", str(_RATE_HZ), "--output", str(folded)]
    return [str(Path(sys.executable).with_name("py-spy")), "record", *options, "--"]


def _figure(output: str, name: str) -> int:
    found = re.search(rf"│ {name}\s+│ ([\d,]+)", output)
    if found is None:
        raise RuntimeError(f"the main job does not say how many {name}:\n{output}")
    return int(found[1].replace(",", ""))


@contextmanager
def _memory_watched() -> Iterator[list[int]]:
    """Look at the memory of all processes that were started here, and give a list whose last entry is the peak."""
    peaks, is_over, this = [0], threading.Event(), psutil.Process()

    def watch() -> None:
        while not is_over.wait(_SAMPLE_S):
            peaks.append(max(peaks[-1], sum(_memory(each) for each in this.children(recursive=True))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        is_over.set()
        watcher.join()


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0  # It has ended meanwhile.


def _told(profile: Profile) -> Iterator[str]:
    for what, shares in (
        ("Whose work it was, of", profile.layers),
        ("Importing, by package, of", profile.imported),
        ("Functions by themselves, of", profile.hottest),
        ("Our functions with what they call, of", profile.of_ours),
    ):
        listed = "; ".join(f"{each.name} {each.part:.1%}" for each in shares)
        yield f"{what} {profile.samples:,} samples: {listed}."


BENCHMARK: Final = Benchmark("main_job", "The main job", (), run, is_default=False)
