"""`dataclass`, as that of the standard library, for classes with slots: it costs an import next to nothing.

The standard one compiles seven functions a class, which for some hundred classes is a third of the time of an import,
and most of them are never called. This one compiles `__init__`, `__eq__` and `__hash__` when they are first called, or
`__init__` when the signature of the class is asked for; it sets slots directly, which is quicker than
`object.__setattr__`. Fields, `replace`, matching, signatures, copies and pickles are those of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from reprlib import recursive_repr
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
    decorated: type[T] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    for name, make in missing.items():
        setattr(decorated, name, _named(decorated, name, make(decorated)))
    if "__init__" in missing:
        decorated.__signature__ = _SignatureLater(decorated)  # type: ignore[attr-defined]
    if unhashable:
        decorated.__hash__ = None  # type: ignore[assignment]
    return decorated


def _named(cls: type, name: str, method: Method) -> Method:
    method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
    return method


def _init(cls: Any) -> Method:
    def init(self: object, /, *arguments: Any, **named: Any) -> None:
        _compile_init(cls)(self, *arguments, **named)

    return init


def _compile_init(cls: Any) -> Method:
    cls.__init__ = compiled = _compiled(cls, "__init__", *_init_text(cls))
    compiled.__annotations__ = {field.name: field.type for field in fields(cls) if field.init} | {"return": None}
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
        same = f"{_compared(cls, 'self')} == {_compared(cls, 'other')}"
        text = f"(self, other): return {same} if other.__class__ is self.__class__ else NotImplemented"
        cls.__eq__ = compiled = _compiled(cls, "__eq__", text, {})
        return compiled(self, other)

    return eq


def _hash(cls: Any) -> Method:
    def hash_(self: object) -> Any:
        text = f"(self): return hash({_compared(cls, 'self')})"
        cls.__hash__ = compiled = _compiled(cls, "__hash__", text, {})
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


def _compiled(cls: type, name: str, text: str, variables: dict[str, Any]) -> Method:
    """A method from its text after the name, which reads variables."""
    space: dict[str, Any] = {}
    exec(f"def make({', '.join(variables)}):\n def {name}{text}\n return {name}", space)
    return _named(cls, name, space["make"](**variables))


def _init_text(cls: Any) -> tuple[str, dict[str, Any]]:
    """The parameters and the body of `__init__`, and the variables that they read."""
    positional, body = ["self"], []
    keyword: list[str] = []
    variables: dict[str, Any] = {"_factory": _FACTORY}
    for field in fields(cls):
        name = value = field.name
        default = ""
        if field.default_factory is not MISSING:
            variables[f"_new_{name}"] = field.default_factory
            value = f"_new_{name}() if {name} is _factory else {name}" if field.init else f"_new_{name}()"
            default = "=_factory"
        elif field.default is not MISSING:
            variables[f"_default_{name}"] = field.default
            value = name if field.init else f"_default_{name}"
            default = f"=_default_{name}"
        elif not field.init:
            continue
        if field.init:
            (keyword if field.kw_only else positional).append(name + default)
        variables[f"_set_{name}"] = getattr(cls, name).__set__
        body.append(f"_set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join((*positional, "*", *keyword) if keyword else positional)
    return f"({parameters}): " + ("; ".join(body) or "pass"), variables


def _compared(cls: Any, name: str) -> str:
    """The fields that are compared, as a tuple, of an object with a name."""
    return f"({''.join(f'{name}.{field.name},' for field in fields(cls) if field.compare)})"
