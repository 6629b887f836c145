"""Catalogs by the names that PyIceberg's own configuration gives them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyiceberg.utils.config import Config

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_SQLITE: Final = "sqlite:///"
_LOOK_ONLY: Final = {"init_catalog_tables": "false"}  # A mistaken address must not get a catalog's tables.


class CatalogError(Exception):
    """The catalog cannot be opened; the message says what to do."""


def known_catalogs() -> list[str]:
    """Return the names that `.pyiceberg.yaml` and the environment give to catalogs."""
    return sorted(Config().get_known_catalogs())


def chosen(name: str | None) -> str:
    """Return the name of the catalog that is meant; None: PyIceberg's default."""
    return name if name is not None else Config().get_default_catalog_name()


def open_catalog(name: str) -> Catalog:
    """Open a catalog of the configuration; nothing is created in its place.

    Raises:
        CatalogError: the configuration has none of that name, or what it says is of no use.
    """
    known = known_catalogs()
    if name.lower() not in known:
        has = f"it has {', '.join(known)}; choose one with --catalog, or" if known else "it has none at all;"
        raise CatalogError(
            f"PyIceberg's configuration has no catalog {name!r}: {has} add it to .pyiceberg.yaml, or set "
            f"PYICEBERG_CATALOG__{name.upper().replace('-', '_')}__URI"
        )
    _require_file(name)
    from pyiceberg.catalog import load_catalog

    try:
        return load_catalog(name, **_LOOK_ONLY)
    except ValueError as err:
        raise CatalogError(f"the settings of catalog {name!r} are of no use: {err}") from err


def _require_file(name: str) -> None:
    """Refuse an SQLite file that is not there, which SQLite would make."""
    uri = str((Config().get_catalog_config(name) or {}).get("uri", ""))
    file = uri.removeprefix(_SQLITE).partition("?")[0]
    if uri.startswith(_SQLITE) and file not in ("", ":memory:") and not Path(file).exists():
        raise CatalogError(f"the database of catalog {name!r} is not there: {file}")


def settings() -> list[tuple[str, str]]:
    """Return every setting of every catalog, with its name; some are secrets."""
    return list(_settings(Config().config))


def _settings(config: object, name: str = "") -> list[tuple[str, str]]:
    if isinstance(config, dict):
        return [setting for key, value in config.items() for setting in _settings(value, str(key))]
    return [(name, str(config))]
