"""Functions of ingot as text that needs ingot no more: the definition of an operator with the helpers that it calls.

The text of a function is copied as it stands in its module, without decorators, annotations and checks: statements that
only raise, or call a function for nothing but what it may raise. Names that it reads of its module or of others are
copied too; those of two modules that are called alike get a number. Errors become ValueErrors.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from ingot.dataclass import dataclass
from ingot.errors import UnsupportedError
from ingot.source.layout import WIDTH
from ingot.source.variables import Variables

_COPIED_MODULES = ("ingot.ops.", "ingot.dtypes", "ingot.source.prelude.", "ingot.prim.suppression")
"""Modules whose text may be taken: arrays go in and come out, and no object of ingot."""

_ERRORS = "ingot.errors"
_INSTEAD = {
    ("ingot.dataclass", "dataclass"): ("dataclasses", "dataclass"),
    ("ingot.ir.types", "format_shape"): ("ingot.source.prelude.sizes", "format_shape"),
    **{
        ("ingot.dims", name): ("ingot.source.prelude.sizes", name)
        for name in ("minimum", "maximum", "divide_exactly", "symbols")
    },
}
"""Names that a program has from elsewhere."""

_STAYING_DECORATORS = ("cache", "lru_cache", "contextmanager")

_ASKING = ("all", "any", "isdisjoint", "items", "keys", "values", "get", "startswith", "endswith", "max", "min", "sum")
"""Methods that leave their object as it is."""

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True, slots=True, eq=False)
class _Module:
    """The text of a module, and what its names stand for: definitions, and names of other modules."""

    name: str
    lines: list[bytes]
    definitions: dict[str, Definition]
    imports: dict[str, tuple[str, str | None]]


class Bundle:
    """Definitions taken so far, in an order in which each follows what it needs."""

    def __init__(self, names: Variables) -> None:
        self._names = names
        self._emitted: dict[tuple[str, str], str] = {}
        self._texts: list[str] = []
        self.imports: set[str] = set()

    @property
    def definitions(self) -> list[str]:
        return self._texts

    def function(self, function: Callable[..., Any]) -> str:
        """The name under which a program has `function` once the definitions are in it.

        UnsupportedError, and nothing taken, where it needs what cannot be taken along.
        """
        key = function.__module__, function.__name__
        _refuse_foreign(*key, set())
        return self._take(*key)

    def _take(self, module_name: str, name: str) -> str:
        known = self._emitted.get((module_name, name))
        if known is not None:
            return known
        module = _module(module_name)
        definition = module.definitions.get(name)
        if definition is None:
            origin, attribute = module.imports[name]
            return self._imported(origin, attribute, name)
        emitted = self._emitted[module_name, name] = self._names.free_as_is(name)
        place = len(self._texts)
        text = _text(module, definition, name, emitted, self._resolve)
        self._texts.insert(place if isinstance(definition, ast.ClassDef) else len(self._texts), text)
        return emitted

    def _resolve(self, module: _Module, name: str) -> str:
        """What to write for a name that a definition of a module reads."""
        if name in module.definitions:
            return self._take(module.name, name)
        return self._imported(*module.imports[name], name)

    def _imported(self, origin: str, attribute: str | None, name: str) -> str:
        if origin == _ERRORS:
            return "ValueError"
        origin, attribute = _INSTEAD.get((origin, attribute or ""), (origin, attribute))
        if origin.startswith("ingot"):
            assert attribute is not None
            return self._take(origin, attribute)
        if attribute is None:
            self.imports.add(f"import {origin}" if origin == name else f"import {origin} as {name}")
        else:
            self.imports.add(f"from {origin} import {attribute}" + ("" if attribute == name else f" as {name}"))
        return name


def _refuse_foreign(module_name: str, name: str, seen: set[tuple[str, str]]) -> None:
    """UnsupportedError if a definition needs an object of ingot, directly or by what it calls."""
    if (module_name, name) in seen:
        return
    seen.add((module_name, name))
    if not module_name.startswith(_COPIED_MODULES):
        raise UnsupportedError(f"it needs {module_name}.{name}")
    module = _module(module_name)
    definition = module.definitions.get(name)
    if definition is None:
        origin, attribute = module.imports[name]
        origin, attribute = _INSTEAD.get((origin, attribute or ""), (origin, attribute))
        if origin == _ERRORS or not origin.startswith("ingot"):
            return
        if attribute is None or _is_module(f"{origin}.{attribute}"):
            raise UnsupportedError(f"it needs {origin}.{attribute}")
        _refuse_foreign(origin, attribute, seen)
        return
    for read, member in _reads(module, definition):
        if member is not None:
            _refuse_foreign(*_member(module, read, member), seen)
        else:
            _refuse_foreign(module_name, read, seen)


@cache
def _module(name: str) -> _Module:
    source = inspect.getsource(import_module(name))
    definitions: dict[str, Definition] = {}
    imports: dict[str, tuple[str, str | None]] = {}
    pending = list(ast.parse(source).body)
    while pending:
        node = pending.pop(0)
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                definitions[node.name] = node
            case ast.Assign():
                for target in node.targets:
                    names = (part for part in ast.walk(target) if isinstance(part, ast.Name))
                    definitions.update((part.id, node) for part in names)
            case ast.AnnAssign(target=ast.Name(id=target_name)):
                definitions[target_name] = node
            case ast.ImportFrom():
                imports.update((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)
            case ast.Import():
                imports.update((alias.asname or alias.name, (alias.name, None)) for alias in node.names)
            case ast.If():
                pending = [*node.body, *node.orelse, *pending]
    return _Module(name, source.encode().split(b"\n"), definitions, imports)


def _member(module: _Module, name: str, member: str) -> tuple[str, str]:
    """The module and name of a member of the module that a name stands for."""
    origin, attribute = module.imports[name]
    key = f"{origin}.{attribute}", member
    return _INSTEAD.get(key, key)


@cache
def _is_module(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def _reads(module: _Module, definition: Definition) -> Iterator[tuple[str, str | None]]:
    """The names of its module that a definition reads, each with the member it reads where it stands for a module."""
    for node, member in _global_names(module, definition):
        yield node.id, member.attr if member is not None else None


def _global_names(module: _Module, definition: Definition) -> Iterator[tuple[ast.Name, ast.Attribute | None]]:
    bound = _bound_names(definition)
    members = {
        id(node.value): node
        for node in _evaluated(module, definition)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in _evaluated(module, definition):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in bound:
            continue
        if node.id not in module.definitions and node.id not in module.imports:
            assert hasattr(builtins, node.id), f"{module.name}: {node.id}"
            continue
        origin, attribute = module.imports.get(node.id, ("", None))
        is_member = origin.startswith("ingot") and attribute is not None and _is_module(f"{origin}.{attribute}")
        yield node, members.get(id(node)) if is_member else None


def _evaluated(module: _Module, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a definition that are run: no checks, no annotations, and no decorators but those that are kept."""
    yield node
    if _is_check(module, node) and not isinstance(node, ast.Raise):
        return
    for field, child in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_comment"):
            continue
        for part in child if isinstance(child, list) else [child]:
            if field == "decorator_list" and isinstance(node, ast.FunctionDef) and not _stays(part):
                continue
            if isinstance(part, ast.AST):
                yield from _evaluated(module, part)


def _is_check(module: _Module, node: ast.AST) -> bool:
    """Whether a statement has no effect but what it may raise."""
    match node:
        case ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return _only_raises(module.name, name)
        case ast.If(test=head) | ast.For(iter=head):
            return not _may_change(head) and all(_is_check(module, part) for part in (*node.body, *node.orelse))
    return False


def _may_change(expression: ast.expr) -> bool:
    """Whether an expression asks an object to do something: to take the next token, or the first of a list."""
    calls = (node.func for node in ast.walk(expression) if isinstance(node, ast.Call))
    owners = [call.value for call in calls if isinstance(call, ast.Attribute) and call.attr not in _ASKING]
    return any(not (isinstance(owner, ast.Name) and owner.id == "np") for owner in owners)


@cache
def _only_raises(module_name: str, name: str) -> bool:
    """Whether a function returns nothing and changes nothing, so that it is called for what it may raise."""
    module = _module(module_name)
    definition = module.definitions.get(name)
    if definition is None:
        origin, attribute = module.imports.get(name, ("", None))
        return origin.startswith("ingot.ops") and attribute is not None and _only_raises(origin, attribute)
    return isinstance(definition, ast.FunctionDef) and all(_is_harmless(module, part) for part in definition.body)


def _is_harmless(module: _Module, statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Assign(targets=[ast.Name() | ast.Tuple()])
            | ast.AnnAssign(target=ast.Name())
            | ast.Raise()
            | ast.Pass()
            | ast.Break()
        ):
            return True
        case ast.Return(value=value):
            return value is None
        case ast.If() | ast.For():
            return all(_is_harmless(module, part) for part in (*statement.body, *statement.orelse))
        case ast.Try():
            parts = [*statement.body, *(part for handler in statement.handlers for part in handler.body)]
            return all(_is_harmless(module, part) for part in parts)
        case ast.Expr(value=ast.Constant()):
            return True
    return isinstance(statement, ast.Expr) and _is_check(module, statement)


def _stays(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    text = ast.unparse(name)
    return text.split(".")[-1] in (*_STAYING_DECORATORS, "property", "classmethod", "staticmethod", "cached_property")


def _bound_names(definition: Definition) -> set[str]:
    if isinstance(definition, ast.Assign | ast.AnnAssign):
        inner = [node for node in ast.walk(definition) if isinstance(node, ast.comprehension | ast.Lambda)]
        parts = [part for node in inner for part in ast.walk(node)]
    else:
        parts = list(ast.walk(definition))[1:]
    names = {part.arg for part in parts if isinstance(part, ast.arg)}
    names |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    names |= {part.name for part in parts if isinstance(part, ast.ExceptHandler) and part.name}
    imports = [alias for part in parts if isinstance(part, ast.Import) for alias in part.names]
    names |= {alias.asname or alias.name for alias in imports if not alias.name.startswith("ingot")}
    if isinstance(definition, ast.FunctionDef):
        names |= {part.name for part in parts if isinstance(part, ast.FunctionDef)}
    return names


Resolve = Callable[[_Module, str], str]


def _text(module: _Module, definition: Definition, name: str, emitted: str, resolve: Resolve) -> str:
    """The text of a definition with its edits made; what it reads is resolved, and so taken, before."""
    edits: list[tuple[int, int, bytes]] = []
    offsets = _offsets(module.lines)

    def span(node: ast.AST) -> tuple[int, int]:
        start = offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    for node, member in _global_names(module, definition):
        if member is not None:
            origin, attribute = _member(module, node.id, member.attr)
            edits.append((*span(member), resolve(_module(origin), attribute).encode()))
        else:
            resolved = resolve(module, node.id)
            if resolved != node.id:
                edits.append((*span(node), resolved.encode()))
    in_class = isinstance(definition, ast.ClassDef)
    for part in _evaluated(module, definition):
        if isinstance(part, ast.stmt) and _is_check(module, part) and not _is_alone(module, definition, part):
            edits.append((offsets[part.lineno - 1], offsets[part.end_lineno or 1], b""))
        elif isinstance(part, ast.FunctionDef):
            edits.append(_header(part, emitted if part is definition else part.name, offsets))
        elif isinstance(part, ast.AnnAssign):
            edits.append(_without_annotation(part, span, in_class))
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "numpy":
            edits.append((span(part.func.value)[1], span(part)[1], b""))  # constants are arrays already
        elif isinstance(part, ast.Call) and _raises(module, part):
            hints = [keyword for keyword in part.keywords if keyword.arg == "hint"]
            if hints and part.args:
                edits.append((span(part.args[-1])[1], span(part)[1] - 1, b""))
    if not isinstance(definition, ast.FunctionDef) and name != emitted:
        edits += _renamed(definition, name, emitted, span, offsets, module)
    first = definition.lineno - 1
    if isinstance(definition, ast.ClassDef | ast.FunctionDef):
        staying = [d for d in definition.decorator_list if isinstance(definition, ast.ClassDef) or _stays(d)]
        first = min([first, *(decorator.lineno - 1 for decorator in staying)])
    start, end = offsets[first], offsets[definition.end_lineno or 1] - 1
    return _edited(b"\n".join(module.lines) + b"\n", start, end, edits).decode().rstrip("\n")


def _is_alone(module: _Module, definition: Definition, statement: ast.AST) -> bool:
    """Whether a statement is all there is in its block, which may not be left empty."""
    for node in _evaluated(module, definition):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list) and statement in block:
                return all(_is_check(module, other) or _is_docstring(other) for other in block)
    return False


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _edited(text: bytes, start: int, end: int, edits: list[tuple[int, int, bytes]]) -> bytes:
    """A part of a text with replacements made; of two that overlap, the longer one."""
    out: list[bytes] = []
    at = start
    for first, last, new in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if first >= at and last <= end:
            out += [text[at:first], new]
            at = last
    return b"".join([*out, text[at:end]])


def _offsets(lines: list[bytes]) -> list[int]:
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    return offsets


def _header(node: ast.FunctionDef, name: str, offsets: list[int]) -> tuple[int, int, bytes]:
    """`def name(arguments):` without annotations."""
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    margin = " " * node.col_offset
    text = ast.unparse(arguments)
    text = text if '"' in text else text.replace("'", '"')
    shown = f"def {name}({text}):"
    if len(margin) + len(shown) > WIDTH:
        shown = "\n".join([f"def {name}(", *(f"{margin}    {part}," for part in text.split(", ")), f"{margin}):"])
    start = offsets[node.lineno - 1] + node.col_offset
    end = offsets[node.body[0].lineno - 1] - 1
    return start, end, shown.encode()


def _without_annotation(
    node: ast.AnnAssign, span: Callable[[ast.AST], tuple[int, int]], in_class: bool
) -> tuple[int, int, bytes]:
    start, end = span(node.target)[1], span(node.annotation)[1]
    if in_class:
        return start, end, b": object"
    if node.value is None:
        return *span(node), b"pass"
    return start, end, b""


def _raises(module: _Module, node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and module.imports.get(node.func.id, ("",))[0] == _ERRORS


def _renamed(
    definition: ast.ClassDef | ast.Assign | ast.AnnAssign,
    name: str,
    emitted: str,
    span: Callable[[ast.AST], tuple[int, int]],
    offsets: list[int],
    module: _Module,
) -> list[tuple[int, int, bytes]]:
    if isinstance(definition, ast.ClassDef):
        line = module.lines[definition.lineno - 1]
        start = offsets[definition.lineno - 1] + line.index(name.encode())
        return [(start, start + len(name), emitted.encode())]
    targets = [definition.target] if isinstance(definition, ast.AnnAssign) else definition.targets
    names = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name) and part.id == name]
    return [(*span(part), emitted.encode()) for part in names]
