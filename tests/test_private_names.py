"""No package reads the private names of another: a name with one leading underscore is used where it is defined.

A package is the first part of a path under `ingot`: `ir`, `format`, `session`. In package P these are forbidden:

- `from ingot.q import _name`, of P too, and `module._name` where `module` is a module of another package;
- `object._name` (also through `getattr`, `setattr` and `object.__setattr__`) where a class of some other package
  defines `_name` and no class of P does;
- `variable._name` where the variable is annotated with, or was made by calling, a class of another package, whatever
  the classes of P define;
- `self._name` in a class whose base is a class of another package, unless the class itself defines `_name`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import ingot

ROOT = Path(ingot.__file__).parent

OF_OTHER_LIBRARIES = frozenset(
    {
        ("convert/keras/layers/dense.py", "_kernel"),  # of a Keras layer: its weights as they are stored
        ("convert/tensorflow/program.py", "_fields"),  # of every named tuple
        ("convert/torch/original.py", "_buffers"),  # of a torch.nn.Module
    }
)
"""Names of objects that are not ours, which a class of ours happens to have too: a file, and the name it uses.

An entry that is no longer needed fails the test.
"""


class Access(NamedTuple):
    """One use of a private name of another package."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}"


@dataclass
class Package:
    """The files of a package, and the private names that its classes define."""

    files: dict[str, ast.Module] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)


def foreign_accesses(sources: Mapping[str, str]) -> list[Access]:
    """The uses of private names across packages in `sources`, texts by path below `ingot`."""
    packages: dict[str, Package] = {}
    for file, text in sources.items():
        package = packages.setdefault(_package(file), Package())
        package.files[file] = tree = ast.parse(text)
        package.members.update(_members(tree))
    modules = {_module(file) for file in sources}
    accesses: list[Access] = []
    for own, package in packages.items():
        foreign = {name for other, its in packages.items() if other != own for name in its.members} - package.members
        for file, tree in package.files.items():
            accesses.extend(_in_file(file, tree, own, foreign, modules))
    return sorted(accesses)


def _in_file(file: str, tree: ast.Module, own: str, foreign: set[str], modules: set[str]) -> Iterator[Access]:
    imported = dict(_imported(tree))
    classes = {name for name, path in imported.items() if path not in modules and _package_of(path) != own}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ingot."):
            path = node.module or ""
            hidden = [part for part in path.split(".") if _package_of(path) != own]
            for part in filter(_is_private, (*hidden, *(alias.name for alias in node.names))):
                yield Access(file, node.lineno, part)
        elif isinstance(node, ast.Attribute) and _is_private(node.attr):
            base = node.value
            path = imported.get(base.id, "") if isinstance(base, ast.Name) else ""
            if path in modules:
                if _package_of(path) != own:
                    yield Access(file, node.lineno, node.attr)
            elif node.attr in foreign or (isinstance(base, ast.Name) and base.id in classes):
                yield Access(file, node.lineno, node.attr)
        elif isinstance(node, ast.Call) and (name := _named_in_call(node)) in foreign:
            yield Access(file, node.lineno, name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if classes and (variables := set(_variables_of(node, classes))):
                yield from _accesses_of(file, node, variables, foreign)
        elif isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id in classes for b in node.bases):
            yield from _accesses_of(file, node, {"self", "cls"}, foreign | set(_members_of(node)))


def _accesses_of(file: str, within: ast.AST, variables: set[str], others: set[str]) -> Iterator[Access]:
    """The private names but `others` that `within` reads of variables."""
    for node in ast.walk(within):
        match node:
            case ast.Attribute(value=ast.Name(id=variable), attr=name):
                if _is_private(name) and name not in others and variable in variables:
                    yield Access(file, node.lineno, name)


def _members(tree: ast.Module) -> Iterator[str]:
    """The private names that the classes of a file define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _members_of(node)


def _members_of(class_: ast.ClassDef) -> Iterator[str]:
    """The private names that a class defines: methods, fields, slots, and what it sets on `self`."""
    for statement in class_.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield from filter(_is_private, [name])
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield from filter(_is_private, [name])
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                yield from filter(_is_private, names)
                if "__slots__" in names:
                    texts = (item.value for item in ast.walk(value) if isinstance(item, ast.Constant))
                    yield from (text for text in texts if isinstance(text, str) and _is_private(text))
    for node in ast.walk(class_):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()) if _is_private(name):
                yield name


def _variables_of(function: ast.FunctionDef | ast.AsyncFunctionDef, classes: set[str]) -> Iterator[str]:
    """The names that a function binds to instances of `classes`, by an annotation or by a call of the class."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is not None and _allows_only(argument.annotation, classes):
            yield argument.arg
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if _allows_only(annotation, classes):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=called))) if called in classes:
                yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=called), attr="__new__")),
            ) if called in classes:
                yield name


def _allows_only(annotation: ast.expr, classes: set[str]) -> bool:
    """Whether an annotation is of `classes` alone: `X`, `X | Y`, `X | None`, `"X"`."""
    match annotation:
        case ast.Name(id=name):
            return name in classes
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return _allows_only(left, classes)
        case ast.BinOp(left=left, right=right):
            return _allows_only(left, classes) and _allows_only(right, classes)
        case ast.Constant(value=str() as text):
            return _allows_only(ast.parse(text, mode="eval").body, classes)
    return False


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a file imports from ingot, each with the full path of what it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ingot":
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is not None and alias.name.startswith("ingot."):
                    yield alias.asname, alias.name


def _named_in_call(call: ast.Call) -> str:
    """The attribute that `getattr(x, "_name")` and its like name; the empty string for other calls."""
    match call:
        case ast.Call(
            func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr")
            | ast.Attribute(attr="__setattr__" | "__getattribute__"),
            args=[_, ast.Constant(value=str() as name), *_],
        ):
            return name
    return ""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _package(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def _module(file: str) -> str:
    return ".".join(["ingot", *file.removesuffix(".py").removesuffix("/__init__").split("/")])


def _package_of(path: str) -> str:
    """The package of a full path: `ir` for `ingot.ir.node.Node`, and none for `ingot` itself."""
    return path.split(".")[1] if "." in path else ""


@cache
def _all_accesses() -> list[Access]:
    return foreign_accesses({path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")})


def test_no_package_reads_the_private_names_of_another() -> None:
    accesses = _all_accesses()
    assert [str(access) for access in accesses if access[::2] not in OF_OTHER_LIBRARIES] == []


def test_the_list_of_exceptions_only_shrinks() -> None:
    accesses = {access[::2] for access in _all_accesses()}
    assert sorted(OF_OTHER_LIBRARIES - accesses) == []


ONE = """
class Thing:
    __slots__ = ("_slot",)
    _field: int

    def __init__(self):
        self._set = 1

    def _method(self): ...

def _function(): ...
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from ingot.one.thing import _function", "_function"),
        ("from ingot.one import _hidden", "_hidden"),
        ("from ingot.one._hidden import name", "_hidden"),
        ("from ingot.one import thing\nthing._function()", "_function"),
        ("import ingot.one.thing as thing\nthing._function()", "_function"),
        ("def f(x): return x._slot", "_slot"),
        ("def f(x): x.y._field = 1", "_field"),
        ("def f(x): return x[0]._set", "_set"),
        ("def f(x): return x()._method()", "_method"),
        ("def f(x): return getattr(x, '_slot')", "_slot"),
        ("def f(x): object.__setattr__(x, '_slot', 1)", "_slot"),
        ("from ingot.one.thing import Thing\nclass Other(Thing):\n    def f(self): return self._slot", "_slot"),
        (f"{ONE}\nfrom ingot.one.thing import Thing as It\ndef f(x: It | None): return x._slot", "_slot"),
        (f"{ONE}\nfrom ingot.one.thing import Thing as It\ndef f():\n    x = It()\n    return x._slot", "_slot"),
        (f"{ONE}\nfrom ingot.one.thing import Thing as It\nIt._method(1)", "_method"),
        (f"{ONE}\nfrom ingot.one.thing import Thing as It\nclass O(It):\n    def f(self): return self._slot", "_slot"),
        ("from ingot.two import _own", "_own"),
    ],
)
def test_a_private_name_of_another_package_is_reported(text: str, name: str) -> None:
    accesses = foreign_accesses({"one/thing.py": ONE, "one/__init__.py": "", "two.py": text})
    assert [(access.file, access.name) for access in accesses] == [("two.py", name)]


@pytest.mark.parametrize(
    "text",
    [
        "class Other:\n    _slot = 1\ndef f(x: Other): return x._slot",
        "class Other:\n    def f(self):\n        self._slot = 1\n        return self._slot",
        "def f(x): return x._other_library",
        "def f(x): return x.__class__",
        "from ingot.two import own as _own\nfor _ in range(3): pass",
        "from ingot.one.thing import Thing\nclass O(Thing):\n    def _mine(self): return self._mine()",
        f"{ONE}\ndef f(x: Thing): return x._slot, x._method()",
    ],
)
def test_a_private_name_of_the_same_package_is_not_reported(text: str) -> None:
    assert (
        foreign_accesses({"one/thing.py": ONE, "one/__init__.py": "", "two/it.py": text, "two/__init__.py": ""}) == []
    )
