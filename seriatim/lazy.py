"""Packages that import what they export when it is asked for: PyIceberg and PyArrow cost what Dagster does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module


def exports(
    package: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package: `homes` says in which of its modules each name is.

    No name may be that of a module of the package: who imports the module puts it in the place of the name. `modules`
    can be used as attributes without having been imported.
    """

    def imported(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return imported, listed
