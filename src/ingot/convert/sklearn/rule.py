"""Rules: which function writes which method of which estimator, by the estimator's class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot.builder import Var
from ingot.convert import rules as tables
from ingot.convert.rules import P, R, RuleTable, modules_in

if TYPE_CHECKING:
    from ingot.convert.sklearn.conversion import Conversion

METHODS = ("transform", "predict_proba", "decision_function", "score_samples", "predict")
"""What rules write. Numbers have two axes, even where scikit-learn gives one; labels have one, or one a target."""

ALL = (*METHODS, "kneighbors_index", "kneighbors_distance")
"""Those, and the two results of a search for neighbours."""

_PACKAGE = "ingot.convert.sklearn.families"


@dataclass(frozen=True, slots=True, eq=False)
class Rule(tables.Rule[P, R]):
    """`(conversion, estimator, x) -> value`: what a method gives for `x`; its keys are classes and methods."""


@dataclass(frozen=True, slots=True, eq=False)
class Refusal(tables.Rule[P, R]):
    """`(estimator) -> str | None`: why an estimator cannot be expressed; None if nothing speaks against it."""


@dataclass(frozen=True, slots=True, eq=False)
class Children(tables.Rule[P, R]):
    """`(estimator) -> list`: the estimators inside one that its rules use."""


MethodRule: TypeAlias = Rule[["Conversion", Any, Any], Var]

_registered: list[MethodRule] = []


def rule(method: str, *names: str) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of `method` for scikit-learn's classes of these names."""
    return lambda function: Rule(tuple((name, method) for name in names), function)


def refusal(*names: str) -> Callable[[Callable[P, R]], Refusal[P, R]]:
    """Make a function the refusal of estimators of these classes."""
    return lambda function: Refusal(names, function)


def children(*names: str) -> Callable[[Callable[P, R]], Children[P, R]]:
    """Make a function list the estimators inside one of these classes."""
    return lambda function: Children(names, function)


def register(kind: type, **methods: Callable[[Conversion, Any, Any], Var]) -> None:
    """Make rules for estimators of your own: `register(MyScaler, transform=fn)`.

    `fn(conversion, estimator, x)` returns the value of the method for `x`, written with `ingot.builder.op`.
    """
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"'{method}' is none of {', '.join(METHODS)}")
    _registered.extend(Rule(((_key(kind), method),), function) for method, function in methods.items())
    rules.cache_clear()


@cache
def rules() -> RuleTable[tuple[str, str], MethodRule]:
    """The rules of this package, and those that were registered in their place or beside them."""
    return RuleTable[tuple[str, str], MethodRule].collect(Rule, modules_in(_PACKAGE)).overridden(_registered)


@cache
def refusals() -> RuleTable[str, Refusal[[Any], str | None]]:
    return RuleTable.collect(Refusal, modules_in(_PACKAGE))


@cache
def children_rules() -> RuleTable[str, Children[[Any], list[Any]]]:
    return RuleTable.collect(Children, modules_in(_PACKAGE))


def find_rule(estimator: Any, method: str) -> MethodRule | None:
    """The rule for a method of an estimator: of its class, or of one it inherits the method from."""
    return rules().for_class(type(estimator), lambda kind: (_key(kind), method), overrides=_has_own_methods)


def has_rules(estimator: Any) -> bool:
    return any(find_rule(estimator, method) is not None for method in ALL)


def reason_against(estimator: Any) -> str | None:
    """Why an estimator cannot be expressed; None if nothing speaks against it."""
    refused = refusals().for_class(type(estimator), _key)
    return None if refused is None else refused(estimator)


def children_of(estimator: Any) -> list[Any]:
    listed = children_rules().for_class(type(estimator), _key)
    return [] if listed is None else listed(estimator)


def _has_own_methods(kind: type) -> bool:
    """Whether a class that is no library's defines a method, which no rule knows."""
    return not _is_ours(kind) and any(name in vars(kind) for name in METHODS)


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("sklearn", "xgboost", "lightgbm", "catboost")


def _key(kind: type) -> str:
    """A class by its name where it is scikit-learn's or a booster's, else with its module."""
    return kind.__qualname__ if _is_ours(kind) else f"{kind.__module__}.{kind.__qualname__}"
