"""`dataclass`, as that of the standard library, for classes with slots: it costs an import next to nothing.

The standard one compiles seven functions a class, which for some hundred classes is a third of the time of an import,
and most of them are never called. This one makes `__init__`, `__eq__` and `__hash__` when they are first called, or
`__init__` when the signature of the class is asked for; it sets slots directly, which is quicker than
`object.__setattr__`. Python compiles such a method once for all classes of as many fields: each gets a copy of its code
with other names. Fields, `replace`, matching, signatures, copies and pickles are those of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache
from reprlib import recursive_repr
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

T = TypeVar("T")
Method: TypeAlias = Callable[..., Any]


def with_slots(*, slots: bool, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A decorator that gives a class the fields that it annotates, and slots for them."""
    assert slots, "without slots there is the standard library's"
    return lambda cls: _decorated(cls, frozen, eq)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = with_slots


@dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
class _Standard:
    """One of the standard library's, to see what it writes into a class."""

    field: int


_FIELD_KIND: Any = _Standard.__dataclass_fields__["field"]._field_type  # type: ignore[attr-defined]
_PARAMETERS: Any = _Standard.__dataclass_params__  # type: ignore[attr-defined]


def _decorated(cls: type[T], frozen: bool, eq: bool) -> type[T]:
    own = cls.__dict__
    makers: dict[str, Callable[[type], Method]] = {"__init__": _init, "__repr__": _repr}
    if eq:
        makers["__eq__"] = _eq
    if eq and frozen and own.get("__hash__") is None:  # Python sets it to None where there is an `__eq__`
        makers["__hash__"] = _hash
    if frozen:
        makers |= {"__setattr__": _setattr, "__delattr__": _delattr}
        makers |= {"__getstate__": _getstate, "__setstate__": _setstate}
    missing = {name: make for name, make in makers.items() if own.get(name) is None}
    unhashable = eq and not frozen and "__hash__" not in own
    decorated = _with_fields(cls)
    for name, make in missing.items():
        setattr(decorated, name, _named(decorated, name, make(decorated)))
    if "__init__" in missing:
        decorated.__signature__ = _SignatureLater(decorated)  # type: ignore[attr-defined]
    if unhashable:
        decorated.__hash__ = None  # type: ignore[assignment]
    return decorated


def _with_fields(cls: type[T]) -> type[T]:
    """A class with slots in place of another, and with fields as the standard library writes them down."""
    bases = cls.__mro__[-2:0:-1]
    named: dict[str, Field[Any]] = {}
    for base in bases:
        named.update(base.__dict__.get("__dataclass_fields__", ()))
    space = dict(cls.__dict__)
    for name, annotation in cls.__annotations__.items():
        named[name] = _field(name, annotation, space.pop(name, MISSING))
    for name in ("__dict__", "__weakref__"):
        space.pop(name, None)
    slots = {slot for base in bases for slot in base.__dict__.get("__slots__", ())}
    space["__slots__"] = tuple(name for name in named if name not in slots)
    space["__dataclass_fields__"], space["__dataclass_params__"] = named, _PARAMETERS
    space.setdefault("__match_args__", tuple(name for name, field in named.items() if field.init and not field.kw_only))
    metaclass: Any = type(cls)
    decorated = metaclass(cls.__name__, cls.__bases__, space)
    decorated.__qualname__ = cls.__qualname__
    return decorated  # type: ignore[no-any-return]


def _field(name: str, annotation: Any, default: Any) -> Field[Any]:
    """The field of a name, from what a class has under it."""
    assert "ClassVar" not in annotation, "it would be a field"
    field: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
    if field.default.__class__.__hash__ is None:
        raise ValueError(f"mutable default {field.default.__class__} for field {name} is not allowed: use a factory")
    field.name, field.type, field._field_type = name, annotation, _FIELD_KIND
    field.kw_only = field.kw_only is True
    return field  # type: ignore[no-any-return]


def _named(cls: type, name: str, method: Method) -> Method:
    method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _init(cls: Any) -> Method:
    def init(self: object, /, *arguments: Any, **named: Any) -> None:
        _compile_init(cls)(self, *arguments, **named)

    return init


def _compile_init(cls: Any) -> Method:
    of_init = [field for field in fields(cls) if field.init]
    order = sorted(fields(cls), key=lambda field: (not field.init, field.kw_only))
    text = _init_text(tuple(map(_kind, order)), hasattr(cls, "__post_init__"))
    cls.__init__ = compiled = _compiled(cls, "__init__", text, (field.name for field in order), _variables(cls, order))
    positional = [_default(field) for field in of_init if not field.kw_only]
    compiled.__defaults__ = tuple(default for default in positional if default is not MISSING)
    keyword = {field.name: _default(field) for field in of_init if field.kw_only}
    compiled.__kwdefaults__ = {name: default for name, default in keyword.items() if default is not MISSING} or None
    compiled.__annotations__ = {field.name: field.type for field in of_init} | {"return": None}
    return compiled


class _SignatureLater:
    """The attribute that `inspect.signature` asks a class for first: absent, but asking compiles `__init__`."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self._init = cls.__init__

    def __get__(self, instance: object, owner: type) -> Any:
        if self._cls.__init__ is self._init:
            _compile_init(self._cls)
        raise AttributeError(f"type object '{owner.__name__}' has no attribute '__signature__'")


class _Factory:
    """The default of a parameter whose field has a factory, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _eq(cls: Any) -> Method:
    def eq(self: object, other: object) -> Any:
        names = _compared(cls)
        same = f"{_tuple('self', len(names))} == {_tuple('other', len(names))}"
        text = f"(self, other): return {same} if other.__class__ is self.__class__ else NotImplemented"
        cls.__eq__ = compiled = _compiled(cls, "__eq__", text, names, {})
        return compiled(self, other)

    return eq


def _hash(cls: Any) -> Method:
    def hash_(self: object) -> Any:
        names = _compared(cls)
        text = f"(self): return hash({_tuple('self', len(names))})"
        cls.__hash__ = compiled = _compiled(cls, "__hash__", text, names, {})
        return compiled(self)

    return hash_


def _repr(cls: Any) -> Method:
    @recursive_repr("...")
    def repr_(self: object) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(cls) if field.repr)
        return f"{self.__class__.__qualname__}({shown})"

    return repr_


def _setattr(cls: Any) -> Method:
    names = cls.__dataclass_fields__

    def setattr_(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return setattr_


def _delattr(cls: Any) -> Method:
    names = cls.__dataclass_fields__

    def delattr_(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return delattr_


def _getstate(cls: Any) -> Method:  # noqa: ARG001
    def getstate(self: Any) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]

    return getstate


def _setstate(cls: Any) -> Method:  # noqa: ARG001
    def setstate(self: Any, state: list[Any]) -> None:
        for field, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    return setstate


def _compiled(cls: type, name: str, text: str, names: Iterable[str], variables: Mapping[str, Any]) -> Method:
    """A method from its text after the name, in which fields are `f0`, `f1`..., and which reads variables."""
    own = {f"f{place}": field for place, field in enumerate(names)}
    code = _code(name, text, tuple(variables))
    renamed = code.replace(
        co_varnames=tuple(own.get(local, local) for local in code.co_varnames),
        co_names=tuple(own.get(read, read) for read in code.co_names),
    )
    cells = tuple(CellType(variables[free]) for free in code.co_freevars)
    return _named(cls, name, FunctionType(renamed, _SPACE, name, None, cells))


_SPACE: dict[str, Any] = {"__builtins__": __builtins__}
"""The globals of all such methods."""


@cache
def _code(name: str, text: str, variables: tuple[str, ...]) -> CodeType:
    """The code of a method, for all classes that it is right for."""
    space: dict[str, Any] = {}
    exec(f"def make({', '.join(variables)}):\n def {name}{text}\n return {name}", space)
    return space["make"](*variables).__code__  # type: ignore[no-any-return]


_PLAIN, _WITH_FACTORY, _KEYWORD, _KEYWORD_WITH_FACTORY, _FROM_FACTORY, _CONSTANT, _UNSET = "pfkgFCU"
"""What `__init__` does for a field: the parameters come first, those that have to be named after the others."""


def _kind(field: Field[Any]) -> str:
    has_factory = field.default_factory is not MISSING
    if field.init:
        kinds = (_KEYWORD, _KEYWORD_WITH_FACTORY) if field.kw_only else (_PLAIN, _WITH_FACTORY)
        return kinds[has_factory]
    return _FROM_FACTORY if has_factory else _UNSET if field.default is MISSING else _CONSTANT


def _default(field: Field[Any]) -> Any:
    """The default of a parameter, MISSING if it has none."""
    return field.default if field.default_factory is MISSING else _FACTORY


def _init_text(kinds: tuple[str, ...], has_more: bool) -> str:
    """The parameters and the body of `__init__` for fields of these kinds; `has_more` to do after it."""
    parameters, body = ["self"], []
    for place, kind in enumerate(kinds):
        value = f"f{place}"
        if kind in (_KEYWORD, _KEYWORD_WITH_FACTORY) and "*" not in parameters:
            parameters.append("*")
        if kind in (_PLAIN, _WITH_FACTORY, _KEYWORD, _KEYWORD_WITH_FACTORY):
            parameters.append(value)
        if kind in (_WITH_FACTORY, _KEYWORD_WITH_FACTORY):
            value = f"new{place}() if {value} is factory else {value}"
        elif kind in (_FROM_FACTORY, _CONSTANT):
            value = f"new{place}()" if kind == _FROM_FACTORY else f"new{place}"
        if kind != _UNSET:
            body.append(f"set{place}(self, {value})")
    if has_more:
        body.append("self.__post_init__()")
    return f"({', '.join(parameters)}): " + ("; ".join(body) or "pass")


def _variables(cls: Any, order: Iterable[Field[Any]]) -> dict[str, Any]:
    """What the body of `__init__` reads: how fields are set, and what they are set to if they are not given."""
    variables: dict[str, Any] = {"factory": _FACTORY}
    for place, field in enumerate(order):
        variables[f"set{place}"] = getattr(cls, field.name).__set__
        variables[f"new{place}"] = field.default if field.default_factory is MISSING else field.default_factory
    return variables


def _compared(cls: Any) -> list[str]:
    """The names of the fields that are compared."""
    return [field.name for field in fields(cls) if field.compare]


def _tuple(name: str, fields: int) -> str:
    """The fields of an object of a name, as a tuple."""
    return f"({''.join(f'{name}.f{place},' for place in range(fields))})"
