"""Tables of rules: collected from modules that are listed, immutable, and untouched by imports."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ingot.convert import rules
from ingot.convert.rules import P, R, Rule, RuleTable, modules_in
from ingot.errors import UnsupportedError

FRAMEWORKS = {
    "torch": (("rules",), "torch", ("New",), "New"),
    "tensorflow": (("rules",), "tensorflow", ("New",), "New"),
    "to_torch": (("rules",), "numpy", ("New",), ("", "New")),
    "keras": (("layers", "operations"), "keras", ("New",), "New"),
    "sklearn": (("families",), "sklearn", ("predict", "New"), ("New", "predict")),
}
"""By framework: the packages of its rules, what they import, arguments for its decorator, and the key of that."""
ROOT = Path(rules.__file__).parent
FOLDERS = [ROOT / name / package for name, (packages, *_) in FRAMEWORKS.items() for package in packages]
MODULES = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))


@dataclass(frozen=True, slots=True, eq=False)
class Other(Rule[P, R]):
    """Another kind of rule."""


def rule(*keys: str) -> Callable[[Callable[P, R]], Rule[P, R]]:
    return lambda function: Rule(keys, function)


def other(*keys: str) -> Callable[[Callable[P, R]], Other[P, R]]:
    return lambda function: Other(keys, function)


@rule("one", "uno")
def one() -> int:
    return 1


@rule("two")
def two() -> int:
    return 2


@other("one")
def otherwise() -> str:
    return "other"


def module(**variables: object) -> ModuleType:
    made = ModuleType("rules_of_a_test")
    vars(made).update(variables)
    return made


def collected(*modules: ModuleType) -> RuleTable[str, Rule[..., Any]]:
    return RuleTable.collect(Rule, modules)


def test_a_rule_is_called_as_its_function_and_tells_its_keys_and_place() -> None:
    assert one() == 1
    assert one.keys == ("one", "uno")
    assert one.place.startswith(f"{__name__}.one, line ")


def test_stacked_decorators_make_one_rule_for_all_keys() -> None:
    both = rule("three")(rule("tres", "drei")(lambda: 3))
    assert both.keys == ("three", "tres", "drei")
    assert not isinstance(both.function, Rule)
    assert both() == 3


def test_a_rule_of_one_kind_cannot_become_one_of_another() -> None:
    with pytest.raises(TypeError, match=r"\.one, line \d+ is marked as Rule and as Other"):
        other("one")(one)


def test_rules_are_collected_from_variables_lists_tuples_and_dicts() -> None:
    table = collected(
        module(one=one, several={"two": two}, listed=[rule("3")(two.function)], pair=(rule("4")(two.function), 1))
    )
    assert set(table) == {"one", "uno", "two", "3", "4"}
    assert table["uno"] is one


def test_a_table_holds_rules_of_one_kind() -> None:
    both = module(one=one, otherwise=otherwise)
    assert set(collected(both)) == {"one", "uno"}
    others: RuleTable[str, Other[..., Any]] = RuleTable.collect(Other, [both])
    assert dict(others) == {"one": otherwise}


def test_a_rule_that_another_module_imports_counts_once() -> None:
    assert collected(module(one=one), module(one=one))["one"] is one


def test_two_rules_for_one_key_are_an_error_that_names_both() -> None:
    def second() -> int:
        return 1

    with pytest.raises(TypeError, match=r"two rules for uno: .*\.one, line \d+; .*second, line \d+"):
        collected(module(one=one), module(second=rule("uno")(second)))


def test_a_table_is_overridden_by_a_new_one() -> None:
    table = collected(module(one=one))
    custom, last = rule("one")(lambda: -1), rule("one", "new")(lambda: -2)
    changed = table.overridden([custom, last])
    assert changed["one"] is changed["new"] is last
    assert changed["uno"] is table["one"] is one
    assert "new" not in table


def test_a_table_cannot_be_changed() -> None:
    table = collected(module(one=one))
    with pytest.raises(FrozenInstanceError):
        table.by_key = {}  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        table.by_key["two"] = two  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        one.keys = ()  # type: ignore[misc]


def test_a_key_without_a_rule_is_refused_with_an_explanation() -> None:
    table: RuleTable[str, Rule[..., Any]] = RuleTable.collect(Rule, [module(one=one)], lambda key: f"{key} is too many")
    assert table.lookup("one") is one
    with pytest.raises(UnsupportedError, match="two is too many"):
        table.lookup("two")
    with pytest.raises(UnsupportedError, match="no rule for it"):
        collected().lookup("two")


def test_a_class_has_the_rule_of_the_nearest_class_it_inherits_from() -> None:
    class Parent: ...

    class Child(Parent): ...

    class Override(Child):
        call = 1

    table = collected(module(parent=rule("Parent")(lambda: 1)))

    def key(kind: type) -> str:
        return kind.__name__

    assert table.for_class(Child, key) is table["Parent"]
    assert table.for_class(Override, key, overrides=lambda kind: "call" in vars(kind)) is None
    assert table.for_class(int, key) is None


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_importing_rules_leaves_the_tables_of_a_framework_unchanged(framework: str) -> None:
    packages, library, arguments, key = FRAMEWORKS[framework]
    pytest.importorskip(library)
    own = import_module(f"ingot.convert.{framework}.rule")
    before = dict(own.rules())
    imported = module(new=own.rule(*arguments)(lambda *_: None))
    modules = list(modules_in(*(f"ingot.convert.{framework}.{package}" for package in packages)))
    assert dict(own.rules()) == before
    assert key not in before
    assert set(RuleTable.collect(own.Rule, [imported])) == {key}
    assert set(RuleTable.collect(own.Rule, [*modules, imported])) - set(RuleTable.collect(own.Rule, modules)) == {key}
    assert dict(own.rules()) == before


@pytest.mark.parametrize("framework", ["keras", "sklearn"])
def test_a_registered_rule_takes_the_place_of_the_packages_own(framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip(framework)
    own = import_module(f"ingot.convert.{framework}.rule")
    before = own.rules()
    monkeypatch.setattr(own, "_registered", [])
    key: Any = "Dense" if framework == "keras" else ("Ridge", "predict")
    if framework == "keras":
        own.register(library.layers.Dense, len)
    else:
        own.register(import_module("sklearn.linear_model").Ridge, predict=len)
    assert own.rules()[key].function is len
    assert before[key].function is not len
    monkeypatch.undo()
    own.rules.cache_clear()
    assert own.rules()[key] is before[key]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_rules_only_defines(path: Path) -> None:
    for statement in ast.parse(path.read_text("utf-8")).body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        guard = isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        defines = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
        assert text or guard or isinstance(statement, defines), f"line {statement.lineno}"
