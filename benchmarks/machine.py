"""Where figures were measured: machine, file system, versions, load."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import psutil

_PACKAGES: Final = ("pyiceberg", "pyarrow", "deltalake", "duckdb", "duckdb-extension-ducklake", "dagster", "sqlalchemy")


def describe(place: Path) -> Mapping[str, str]:
    """Return what a reader must know to compare figures with others."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "file system": _file_system(place),
        "Python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def load_average() -> float:
    """Return how many processes wanted to run, of late."""
    return os.getloadavg()[0]


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _file_system(place: Path) -> str:
    mounts = [each for each in psutil.disk_partitions(all=True) if place.resolve().is_relative_to(each.mountpoint)]
    return max(mounts, key=lambda each: len(each.mountpoint)).fstype if mounts else "not known"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
