"""Loops whose condition only counts: the trip count alone decides then how often a body runs.

TensorFlow's and Paddle's loops over the steps of a recurrent network compare a counter with the number of steps before
every run, beside a trip count that says the same, or instead of one. With the count alone, the number of rows that a
loop collects is known before it runs, and the loop becomes machine code. Counters that are states become functions of
the number of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.control.carried import HEADS, constant_element, truth

_ENDLESS = (1 << 31) - 1
"""A trip count from which on it is no limit, but the lack of one."""

_SAME_ELEMENT = ("Identity", "Squeeze", "Unsqueeze", "Reshape")
"""Operators that give the element of a tensor that has one."""

_SAME_TYPE = ("Slice", "Gather", "Add", "Sub", "Mul", "Min", "Max", *_SAME_ELEMENT)
"""Operators whose result has the type of their first input."""

_COMPARISONS = {"Less": 0, "Greater": 0, "LessOrEqual": -1, "GreaterOrEqual": -1}
"""What is added to the lesser side for a strict comparison."""


@dataclass(frozen=True, slots=True)
class _Below:
    """A term of a condition: a number that is `offset` more than that of the run is less than a bound.

    Before the first run, the number is zero.
    """

    offset: int
    bound: Value


def count_loops(model: Model) -> int:
    """Drop conditions of loops that only compare a counter with the number of runs; how many.

    Counters are taken for integers even where they are compared as floats, which round from 2^24 runs on. The types of
    the values of the model are left to an inference that follows. A model with a gradient in it stays as it is, as that
    names values of the graph.
    """
    if any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return 0
    loops = [node for graph in nested_graphs(model.graph) for node in graph if _is_conditional(node)]
    return sum(_count(_Loop(node)) for node in loops)


def same_element(value: Value) -> Value:
    """Where the element of a tensor that has one comes from; numbers that count are the same in all types."""
    while (node := value.producer) is not None:
        source = node.inputs[0] if node.inputs else None
        is_number = node.applies("Cast") and node.get("to") != DType.BOOL.value
        if source is None or not (is_number or node.applies(*_SAME_ELEMENT)):
            break
        value = source
    return value


def _is_conditional(node: Node) -> bool:
    """Whether a node is a Loop with a condition, and its body takes and gives what it must."""
    if not node.applies("Loop") or len(node.inputs) < HEADS or node.inputs[1] is None:
        return False
    body = node.get("body")
    return (
        isinstance(body, Graph) and len(body.inputs) == len(node.inputs) and len(body.outputs) >= len(node.inputs) - 1
    )


def _count(loop: _Loop) -> bool:
    """Let the trip count alone end a loop, if its condition says no more than that; whether it does."""
    before, after = loop.terms_before(), loop.terms_after()
    if before is None or not after:
        return False
    limit = loop.node.inputs[0]
    if limit is not None and not _is_endless(limit):
        bound, count = loop.bound(limit), limit
    else:
        if not any(term.offset == 1 for term in after) or not any(term.offset == 0 for term in before):
            return False  # it ends before or after the run whose number is the bound
        bound, count = after[0].bound, None
    if not loop.is_outside(bound) or not _is_integer(bound):
        return False
    if not all(_same(term.bound, bound) and term.offset <= 1 for term in after):
        return False
    if not all(_same(term.bound, bound) and term.offset <= 0 for term in before):
        return False
    loop.end_by(count or loop.count(bound))
    return True


class _Loop:
    """A Loop, with what the values of its body are in terms of the number of the run."""

    def __init__(self, node: Node) -> None:
        body = node["body"]
        assert isinstance(body, Graph)
        self.node = node
        self._body = body
        self._states = {value: place for place, value in enumerate(body.inputs[HEADS:])}
        self._counters = {state: start for state in self._states if (start := self._start(state)) is not None}

    def terms_before(self) -> list[_Below] | None:
        """The terms of the condition before the first run; None if one is of another kind."""
        return self._terms(self.node.inputs[1], lambda value: _integer(same_element(value)))

    def terms_after(self) -> list[_Below] | None:
        """The terms of the condition after a run; None if one is of another kind."""
        return self._terms(self._body.outputs[0], self._offset)

    def _terms(self, condition: Value | None, offset: Callable[[Value], int | None]) -> list[_Below] | None:
        terms: list[_Below] = []
        for part in _parts(condition):
            if part is self._body.inputs[1] or _is_true(part):
                continue
            node = part.producer
            strict = None if node is None else node.rule_in(_COMPARISONS)
            if node is None or strict is None:
                return None
            low, high = node.inputs if node.applies("Less", "LessOrEqual") else reversed(node.inputs)
            number = None if low is None else offset(low)
            if number is None or high is None:
                return None
            terms.append(_Below(number + strict, self.bound(high)))
        return terms

    def _offset(self, value: Value) -> int | None:
        """How much more than the number of the run an element of the body is; None if that is not known."""
        value = same_element(value)
        if value is self._body.inputs[0]:
            return 0
        if value in self._counters:
            return self._counters[value]
        sum_ = _plus(value)
        start = None if sum_ is None else self._offset(sum_[0])
        return None if sum_ is None or start is None else start + sum_[1]

    def _start(self, state: Value) -> int | None:
        """What a state that every run adds one to begins with; None for any other."""
        place = self._states[state]
        sum_ = _plus(same_element(self._body.outputs[1 + place]))
        if sum_ is None or sum_[1] != 1 or same_element(sum_[0]) is not state:
            return None
        initial = self.node.inputs[HEADS + place]
        return None if initial is None or constant_element(initial) is None else _integer(initial)

    def bound(self, value: Value) -> Value:
        """The value that an element is, before conversions, and before the loop if every run passes it on."""
        value = same_element(value)
        place = self._states.get(value)
        if place is None or same_element(self._body.outputs[1 + place]) is not value:
            return value
        initial = self.node.inputs[HEADS + place]
        return value if initial is None else same_element(initial)

    def is_outside(self, value: Value) -> bool:
        """Whether a value is there before the loop runs."""
        graph: Graph | None = self.node.graph
        while graph is not None and value.graph is not graph:
            graph = graph.outer
        return graph is not None or _integer(value) is not None

    def count(self, bound: Value) -> Value:
        """A trip count of so many runs."""
        with inserting(before=self.node):
            number = _integer(bound)
            scalar = np.int64(number) if number is not None else op.Reshape(bound, np.zeros(0, np.int64))
            count: Value = op.Cast(scalar, to=DType.INT64.value).value
        return count

    def end_by(self, count: Value) -> None:
        """Let a trip count alone end the loop, and read counters from the number of the run."""
        self.node.inputs = (count, None, *self.node.inputs[HEADS:])
        self._body.return_instead(0, self._body.inputs[1])
        for state, start in self._counters.items():
            initial = constant_element(self.node.inputs[HEADS + self._states[state]])
            if initial is None or not state.uses:
                continue
            with inserting(before=self._body.nodes[0]):
                shape = np.asarray(initial.shape, np.int64)
                number = op.Reshape(op.Cast(self._body.inputs[0], to=initial.dtype.value), shape)
                number = number if start == 0 else op.Add(number, initial.numpy())
            state.replace_uses(number.value)


def _parts(condition: Value | None) -> Iterator[Value]:
    """What a conjunction is made of, without conversions to an integer and back."""
    if condition is None:
        return
    node = condition.producer
    if node is not None and node.applies("And"):
        for part in node.inputs:
            yield from _parts(part)
    elif node is not None and node.applies(*_SAME_ELEMENT):
        yield from _parts(node.inputs[0])
    elif (source := _as_number(condition)) is not None:
        yield from _parts(source)
    else:
        yield condition


def _as_number(condition: Value) -> Value | None:
    """A condition that became a number, plus zero, and then a condition again."""
    node = condition.producer
    if node is None or not node.applies("Cast") or node.get("to") != DType.BOOL.value:
        return None
    number = node.inputs[0]
    sum_ = None if number is None else _plus(number)
    number = sum_[0] if sum_ is not None and sum_[1] == 0 else number
    cast = None if number is None else number.producer
    source = cast.inputs[0] if cast is not None and cast.applies("Cast") else None
    producer = None if source is None else source.producer
    return source if producer is not None and producer.applies(*_COMPARISONS, "And") else None


def _plus(value: Value) -> tuple[Value, int] | None:
    """A value and the integer that is added to it; None for what is no such sum."""
    node = value.producer
    if node is None or not node.applies("Add", "Sub") or len(node.inputs) != 2:
        return None
    left, right = node.inputs
    if left is None or right is None:
        return None
    if (number := _integer(right)) is not None:
        return left, number if node.applies("Add") else -number
    if node.applies("Add") and (number := _integer(left)) is not None:
        return right, number
    return None


def _integer(value: Value) -> int | None:
    """The integer that a value always is."""
    held = constant_element(same_element(value))
    if held is None or truth(held) is None or held.dtype is DType.BOOL:
        return None
    number = held.item()
    return int(number) if isinstance(number, int | float) and number == int(number) else None


def _is_endless(limit: Value) -> bool:
    number = _integer(limit)
    return number is not None and number >= _ENDLESS


def _is_true(value: Value) -> bool:
    return truth(constant_element(value)) is True


def _same(a: Value, b: Value) -> bool:
    number = _integer(a)
    return a is b or (number is not None and number == _integer(b))


def _is_integer(value: Value) -> bool:
    """Whether a value is known to hold integers, before types are inferred."""
    if isinstance(value.type, TensorType) and value.type.dtype:
        return value.type.dtype.is_integer
    constant, node = constant_element(value), value.producer
    if constant is not None:
        return _integer(value) is not None
    if node is None:
        return False
    if node.applies("Shape", "Size"):
        return True
    if node.applies("Cast"):
        return DType(node.get("to")).is_integer
    source = node.inputs[0] if node.inputs else None
    return source is not None and node.applies(*_SAME_TYPE) and _is_integer(source)
