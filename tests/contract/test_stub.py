"""The generated stub of the core tells the truth about the module beside it."""

import ast
import inspect
from pathlib import Path

import pytest

from committee import _core

STUB = Path(_core.__file__).with_name("_core.pyi")


def list_public(names: object) -> set[str]:
    assert isinstance(names, (list, set))
    return {name for name in names if not name.startswith("_")}


def read_stub() -> dict[str, ast.stmt]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def test_the_package_is_typed() -> None:
    assert STUB.is_file()
    assert STUB.with_name("py.typed").is_file()


def test_the_stub_has_the_names_of_the_module() -> None:
    names = [name for name in dir(_core) if not inspect.ismodule(getattr(_core, name))]
    assert list_public(set(read_stub())) == list_public(names)


@pytest.mark.parametrize("name", sorted(n for n in dir(_core) if inspect.isclass(getattr(_core, n))))
def test_the_stub_has_the_members_of_each_class(name: str) -> None:
    node = read_stub()[name]
    assert isinstance(node, ast.ClassDef)
    members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    members |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    assert list_public(members) == list_public(set(vars(getattr(_core, name))))
