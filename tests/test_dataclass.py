"""Data classes of ours are those of the standard library, in all that can be seen of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

import ingot
import ingot.compile
import ingot.repair
import ingot.session
from ingot import dataclass as dataclass_module
from ingot.dataclass import dataclass, with_slots


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    source: str | None = field(default=None, init=False, compare=False, repr=False)
    unit: str = field(default="m", kw_only=True)

    @property
    def norm(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A point with a name."""

    name: str = ""


@dataclass(slots=True)
class Counter:
    """One that can be changed."""

    count: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Same:
    """One that is compared by identity."""

    x: int


def test_objects_have_the_fields_that_are_annotated() -> None:
    point = Point(1, 2, unit="km")
    assert (point.x, point.y, point.tags, point.source, point.unit, point.norm) == (1, 2, [], None, "km", 3)
    assert Point(1).tags is not Point(1).tags
    assert Named(1, name="a") == Named(1, 0, ["other"], "a")
    assert [item.name for item in fields(Named)] == ["x", "y", "tags", "source", "unit", "name"]
    assert Point.__match_args__ == ("x", "y", "tags")
    assert not hasattr(point, "__dict__")


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_equal_fields_are_equal_objects_of_one_class() -> None:
    assert Point(1) == Point(1, 0, ["a"]) != Point(2)
    assert hash(Point(1)) == hash(Point(1, 0, ["a"]))
    assert Point(1) != Named(1)
    assert (Same(1) == Same(1), len({Same(1), Same(1)})) == (False, 2)
    assert Counter(1) == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_frozen_objects_stay_as_they_are() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del Named(1).x
    counter = Counter()
    counter.count += 1
    assert counter.count == 1


def test_objects_are_shown_replaced_copied_and_pickled() -> None:
    named = Named(1, name="a")
    assert repr(named) == "Named(x=1, y=0, tags=[], unit='m', name='a')"
    assert replace(named, x=3) == Named(3, name="a")
    for twin in (copy.copy(named), copy.deepcopy(named), pickle.loads(pickle.dumps(named))):
        assert (twin, type(twin)) == (named, Named)
    assert dataclasses.asdict(Counter(2)) == {"count": 2}
    match Point(4):
        case Point(x, y):
            assert (x, y) == (4, 0)


def test_methods_that_a_class_defines_are_its_own() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("below zero")

    assert (Own(1) == Own(2), hash(Own(1)), repr(Own(1))) == (True, 7, "own")
    with pytest.raises(ValueError, match="below zero"):
        Own(-1)


def test_a_class_agrees_with_the_standard_library_on_what_is_compared_and_hashed() -> None:
    def define(decorator: Any) -> Any:
        class Both:
            a: int
            b: str = field(default="b", compare=False)

        return decorator(frozen=True, slots=True)(Both)

    ours, standard = define(with_slots), define(dataclasses.dataclass)
    assert repr(ours(1)) == repr(standard(1))
    assert hash(ours(1)) == hash(standard(1))
    assert ours(1).__eq__(standard(1)) is NotImplemented


def test_methods_of_classes_of_as_many_fields_are_compiled_once() -> None:
    def define(first: str, second: str) -> Any:
        annotations = {first: "int", second: "str"}
        return with_slots(frozen=True, slots=True)(type("Pair", (), {"__annotations__": annotations, second: "b"}))

    one, two = define("a", "b"), define("hash", "self_")
    assert (hash(one(1)), one(1) == one(1, "b"), one(b="c", a=2).b) == (hash((1, "b")), True, "c")
    compiled = dataclass_module._code.cache_info().misses
    assert (hash(two(1)), two(1) == two(1, "b"), two(self_="c", hash=2).self_) == (hash((1, "b")), True, "c")
    assert dataclass_module._code.cache_info().misses == compiled


def test_a_default_that_objects_would_share_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):
        with_slots(slots=True)(type("Shared", (), {"__annotations__": {"tags": "list[str]"}, "tags": []}))


@pytest.mark.parametrize("decorate", [with_slots(frozen=True, slots=True), with_slots(slots=True)])
def test_a_class_has_the_signature_of_the_standard_library_before_there_is_an_object(decorate: Any) -> None:
    def classes(decorate: Any) -> tuple[type, type, type]:
        @decorate
        class Base:
            """One with all kinds of fields."""

            x: int
            y: float = 0.5
            tags: list[str] = field(default_factory=list)
            source: str | None = field(default=None, init=False)
            unit: str = field(default="m", kw_only=True)

        @decorate
        class Derived(Base):
            """One with one more."""

            name: str = ""

        class Own(Base):
            """One with another `__init__`."""

            def __init__(self, both: int) -> None:
                super().__init__(both, both)  # type: ignore[call-arg]

        return Base, Derived, Own

    standard = classes(dataclasses.dataclass(slots=True))
    for ours, theirs in zip(classes(decorate), standard, strict=True):
        assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
        assert not hasattr(ours, "__signature__")


@pytest.mark.parametrize("module", [ingot, ingot.ir, ingot.repair, ingot.session, ingot.compile])
def test_signatures_of_public_classes_name_their_fields(module: Any) -> None:
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    classes: list[Any] = [getattr(module, name) for name in names]
    for cls in [each for each in classes if hasattr(each, "__dataclass_fields__")]:
        named = {item.name for item in fields(cls) if item.init}
        assert named == set(inspect.signature(cls).parameters), cls
