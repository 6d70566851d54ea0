"""The rules: which function says which method of which estimator, by the estimator's class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ingot.builder import Var

if TYPE_CHECKING:
    from ingot.convert.sklearn.conversion import Conversion

Rule: TypeAlias = Callable[["Conversion", Any, Any], Var]
"""`(conversion, estimator, x) -> value`: what the method gives for `x`."""
Function = TypeVar("Function", bound=Callable[..., Any])

METHODS = ("transform", "predict_proba", "decision_function", "score_samples", "predict")
"""What rules say. Numbers have two axes, even where scikit-learn gives one; labels have one, or one a target."""

ALL = (*METHODS, "kneighbors_index", "kneighbors_distance")
"""Those, and what a search for neighbours gives, which is two things."""

_RULES: dict[tuple[str, str], Rule] = {}
_REFUSALS: dict[str, Callable[[Any], str | None]] = {}
_CHILDREN: dict[str, Callable[[Any], list[Any]]] = {}


def rule(method: str, *names: str) -> Callable[[Function], Function]:
    """Make a function the rule of `method` for scikit-learn's classes of these names."""

    def registered(function: Function) -> Function:
        for name in names:
            _RULES[name, method] = function
        return function

    return registered


def register(kind: type, **methods: Rule) -> None:
    """Make rules for estimators of your own: `register(MyScaler, transform=fn)`.

    `fn(conversion, estimator, x)` returns the value of the method for `x`, written with `ingot.builder.op`.
    """
    for method, function in methods.items():
        if method not in METHODS:
            raise ValueError(f"'{method}' is none of {', '.join(METHODS)}")
        _RULES[_key(kind), method] = function


def refusal(*names: str) -> Callable[[Function], Function]:
    """Make a function say why an estimator of these classes cannot be expressed: a reason, or None if it can."""

    def registered(function: Function) -> Function:
        for name in names:
            _REFUSALS[name] = function
        return function

    return registered


def children(*names: str) -> Callable[[Function], Function]:
    """Make a function list the estimators inside one of these classes that its rules use."""

    def registered(function: Function) -> Function:
        for name in names:
            _CHILDREN[name] = function
        return function

    return registered


def find_rule(estimator: Any, method: str) -> Rule | None:
    """The rule for a method of an estimator: of its class, or of one it inherits the method from."""
    for kind in type(estimator).__mro__:
        found = _RULES.get((_key(kind), method))
        if found is not None:
            return found
        if any(name in vars(kind) for name in METHODS) and not _is_ours(kind):
            return None  # it says something of its own that no rule knows
    return None


def has_rules(estimator: Any) -> bool:
    return any(find_rule(estimator, method) is not None for method in ALL)


def reason_against(estimator: Any) -> str | None:
    """Why an estimator cannot be expressed; None if nothing speaks against it."""
    for kind in type(estimator).__mro__:
        if _key(kind) in _REFUSALS:
            return _REFUSALS[_key(kind)](estimator)
    return None


def children_of(estimator: Any) -> list[Any]:
    for kind in type(estimator).__mro__:
        if _key(kind) in _CHILDREN:
            return _CHILDREN[_key(kind)](estimator)
    return []


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("sklearn", "xgboost", "lightgbm", "catboost")


def _key(kind: type) -> str:
    """A class by its name where it is scikit-learn's or a booster's, else with its module."""
    return kind.__qualname__ if _is_ours(kind) else f"{kind.__module__}.{kind.__qualname__}"
