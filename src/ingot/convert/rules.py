"""Rules: functions under the keys they are for, and tables of them, each collected from modules that are listed.

    @dataclass(frozen=True, slots=True, eq=False)
    class Rule(rules.Rule[P, R]): ...                                     # one class is one kind of rule

    table = RuleTable.collect(Rule, modules_in("ingot.convert.torch.rules"))
    table["aten.add.Tensor"](site, x, y)

A decorator returns a rule and notes nothing elsewhere: importing a module of rules changes no table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from ingot.errors import UnsupportedError

P = ParamSpec("P")
R = TypeVar("R")
Key = TypeVar("Key", bound=Hashable)
AnyRule = TypeVar("AnyRule", bound="Rule[..., Any]")

NO_RULE = "no rule for it"


@dataclass(frozen=True, slots=True, eq=False)
class Rule(Generic[P, R]):
    """A function and the keys it is the rule for; calling the rule calls the function.

    A subclass is a kind of rule, with its options as fields. Given a rule of the same kind as its function, as stacked
    decorators do, it is the rule for the keys of both.
    """

    keys: tuple[Hashable, ...]
    function: Callable[P, R]

    def __post_init__(self) -> None:
        inner = self.function
        if not isinstance(inner, Rule):
            return
        if type(inner) is not type(self):
            raise TypeError(f"{inner.place} is marked as {type(inner).__name__} and as {type(self).__name__}")
        object.__setattr__(self, "keys", (*self.keys, *inner.keys))
        object.__setattr__(self, "function", inner.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def place(self) -> str:
        """Where the function is defined: `ingot.convert.torch.rules.view.permute, line 40`."""
        code = getattr(self.function, "__code__", None)
        if code is None:
            return repr(self.function)
        return f"{self.function.__module__}.{self.function.__qualname__}, line {code.co_firstlineno}"


@dataclass(frozen=True, slots=True, eq=False)
class RuleTable(Mapping[Key, AnyRule]):
    """Rules of one kind by their keys; immutable."""

    by_key: Mapping[Key, AnyRule] = field(default_factory=dict)
    explain: Callable[[Key], str] = lambda _: NO_RULE
    """Why there is no rule for a key."""

    @classmethod
    def collect(
        cls, kind: type[AnyRule], modules: Iterable[ModuleType], explain: Callable[[Key], str] = lambda _: NO_RULE
    ) -> RuleTable[Key, AnyRule]:
        """The rules of exactly this kind among the variables of modules, and in their lists, tuples and dicts.

        TypeError, naming both, for two rules for one key.
        """
        by_key: dict[Any, AnyRule] = {}
        for module in modules:
            for rule in _rules_of(kind, module):
                for key in rule.keys:
                    first = by_key.setdefault(key, rule)
                    if first is not rule:
                        raise TypeError(f"two rules for {key}: {first.place}; {rule.place}")
        return cls(MappingProxyType(by_key), explain)

    def overridden(self, rules: Iterable[AnyRule]) -> RuleTable[Key, AnyRule]:
        """A table with these rules too, in place of those it has for their keys; of two for one key, the later."""
        added: dict[Any, AnyRule] = {key: rule for rule in rules for key in rule.keys}
        return replace(self, by_key=MappingProxyType({**self.by_key, **added}))

    def lookup(self, key: Key) -> AnyRule:
        """The rule for a key; UnsupportedError that explains why there is none."""
        rule = self.by_key.get(key)
        if rule is None:
            raise UnsupportedError(self.explain(key))
        return rule

    def for_class(
        self, kind: type, key: Callable[[type], Key], overrides: Callable[[type], bool] = lambda _: False
    ) -> AnyRule | None:
        """The rule for a class, or for the nearest class it inherits from; None if one in between `overrides` that."""
        for base in kind.__mro__:
            rule = self.by_key.get(key(base))
            if rule is not None:
                return rule
            if overrides(base):
                return None
        return None

    def __getitem__(self, key: Key) -> AnyRule:
        return self.by_key[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.by_key)

    def __len__(self) -> int:
        return len(self.by_key)


def modules_in(*packages: str) -> Iterator[ModuleType]:
    """The modules of packages given by name, each imported as it is reached."""
    for package in packages:
        for module in iter_modules(import_module(package).__path__, f"{package}."):
            yield import_module(module.name)


def _rules_of(kind: type[AnyRule], module: ModuleType) -> Iterator[AnyRule]:
    for variable in vars(module).values():
        members: Iterable[object]
        match variable:
            case dict():
                members = variable.values()
            case list() | tuple():
                members = variable
            case _:
                members = (variable,)
        yield from (member for member in members if type(member) is kind)
