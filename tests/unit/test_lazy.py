"""Packages that import what they export when it is asked for."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ("seriatim.commit", "seriatim.audit", "seriatim.dagster")


class _Written(ast.NodeVisitor):
    """What a package's own text says of its lazy names: to type checkers, and when it runs."""

    def __init__(self, package: str) -> None:
        self.module, self.folder = import_module(package), Path(import_module(package).__file__ or "").parent
        self.typed: dict[str, str] = {}
        self.homes: dict[str, str] = {}
        self.visit(ast.parse((self.folder / "__init__.py").read_text(encoding="utf-8")))

    def visit_If(self, node: ast.If) -> None:
        assert ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body:
            assert isinstance(each, ast.ImportFrom)
            module = (each.module or "").removeprefix(f"{self.module.__name__}.")
            self.typed |= {name.name: module for name in each.names}
        (call,) = (each.value for each in node.orelse if isinstance(each, ast.Assign))
        assert isinstance(call, ast.Call)
        self.homes = ast.literal_eval(call.args[1])


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_and_python_are_told_the_same(package: str) -> None:
    written = _Written(package)

    assert written.homes == written.typed != {}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_none_is_hidden_by_a_module(package: str) -> None:
    """Importing a module of the package sets an attribute of its name, which goes before `__getattr__`."""
    written = _Written(package)

    for name, home in written.homes.items():
        assert getattr(written.module, name) is getattr(import_module(f"{package}.{home}"), name)
        assert name in dir(written.module)
        assert not (written.folder / f"{name}.py").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_there_is_no_attribute(package: str) -> None:
    """`hasattr`, and the import of a module of the package, depend on it."""
    assert not hasattr(import_module(package), "no_such_name")
