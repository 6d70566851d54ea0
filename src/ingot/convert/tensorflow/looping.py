"""What a While does, read off its two functions: which states change, which only count, which only collect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import tensorflow as tf

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant
from ingot.convert.tensorflow.resource import Items
from ingot.dtypes import DType
from ingot.ir.value import Value

Elements = Callable[[Any], tuple[Any, ...] | None]


@dataclass(frozen=True, slots=True)
class Loop:
    """The states of a While by number: `carried` from turn to turn, or given by the turn itself, or never changed."""

    carried: tuple[int, ...]
    counted: dict[int, int]
    """States that are one more after each turn, by what they start with; only where the number of turns is known."""
    collected: tuple[int, ...]
    """Lists that get the element of each turn, in order, and are not read."""
    turns: Any = None
    """How often the body runs, a scalar of int64; None where the condition decides after each turn."""

    def fills(self, items: Items, elements: Elements) -> bool:
        """Whether as many elements are collected as the list was made for."""
        if self.turns is None or items.least is None:
            return items.least is None
        if isinstance(self.turns, Var) and isinstance(items.least, Var):
            return _counted(self.turns) is _counted(items.least)
        one, other = elements(self.turns), elements(items.least)
        return one is not None and None not in one and one == other


def loop_of(condition: Any, body: Any, initial: Sequence[Any], unread: Sequence[int]) -> Loop:
    """The loop that the functions of a While express, for `initial` states; nobody reads the final `unread` ones."""
    outputs = [_behind(tensor) for tensor in body.outputs]
    inputs = [tensor.name for tensor in body.inputs]
    invariant = {at for at, tensor in enumerate(outputs) if tensor.name == inputs[at]}
    counts: dict[int, int] = {}
    for at, tensor in enumerate(outputs):
        start = constant(initial[at]) if isinstance(initial[at], Var) and at not in invariant else None
        if (
            start is not None
            and start.ndim == 0
            and start.dtype.kind == "i"
            and _adds_one(tensor, at, body, initial, invariant)
        ):
            counts[at] = int(start)
    turns = _turns(condition, initial, invariant, counts)
    collected = tuple(
        at
        for at, tensor in enumerate(outputs)
        if isinstance(initial[at], Items)
        and initial[at].stacked is None
        and _collects(body, tensor, at, counts, condition)
    )
    counted = counts if turns is not None else {}
    idle = {at for at in unread if at in counts and _is_idle(body, condition, at)}
    left = [
        at for at in range(len(initial)) if at not in invariant | idle and at not in counted and at not in collected
    ]
    return Loop(tuple(left), counted, collected, turns)


def _turns(condition: Any, initial: Sequence[Any], invariant: set[int], counts: dict[int, int]) -> Any:
    """How often a condition that all counters are below their limits holds; None for any other condition."""
    inputs = {tensor.name: at for at, tensor in enumerate(condition.inputs)}
    limits: list[Any] = []
    left = [_behind(condition.outputs[0])]
    while left:
        operation = left.pop().op
        if operation.type == "LogicalAnd":
            left += [_behind(tensor) for tensor in operation.inputs]
            continue
        if operation.type not in ("Less", "LessEqual", "Greater", "GreaterEqual"):
            return None
        sides = [_behind(tensor) for tensor in operation.inputs]
        counter, limit = sides if operation.type.startswith("Less") else reversed(sides)
        at = inputs.get(counter.name)
        if at is None or at not in counts:
            return None
        bound = _bound(limit, inputs, initial, invariant)
        if bound is None:
            return None
        more = (1 if operation.type.endswith("Equal") else 0) - counts[at]
        limits.append(np.asarray(bound, np.int64) + more if isinstance(bound, np.ndarray) else _plus(bound, more))
    numbers = [each for each in limits if isinstance(each, np.ndarray)]
    others = [each for each in limits if not isinstance(each, np.ndarray)]
    if numbers:
        smallest = min(int(each) for each in numbers)
        if not others or smallest < np.iinfo(np.int32).max - 1:
            others.append(np.array(max(smallest, 0), np.int64))
    if len(others) == 1:
        return others[0]
    return reduce(op.Min, others)


def _bound(limit: Any, inputs: dict[str, int], initial: Sequence[Any], invariant: set[int]) -> Any:
    """A limit that stays the same: a number, or a state that never changes."""
    if limit.op.type == "Const":
        return np.asarray(tf.make_ndarray(limit.op.get_attr("value")))
    at = inputs.get(limit.name)
    if at is None or at not in invariant or not isinstance(initial[at], Var):
        return None
    held = constant(initial[at])
    return held if held is not None else cast(initial[at], DType.INT64)


def _plus(bound: Any, more: int) -> Any:
    return op.Add(bound, np.array(more, np.int64)) if more else bound


def _collects(body: Any, tensor: Any, at: int, counts: dict[int, int], condition: Any) -> bool:
    """Whether a list gets one element a turn, at the place of a counter from zero, and is used for nothing else."""
    operation = tensor.op
    own = body.inputs[at]
    if operation.type != "TensorListSetItem" or _behind(operation.inputs[0]).name != own.name:
        return False
    counters = {body.inputs[place].name for place, start in counts.items() if start == 0}
    if _behind(operation.inputs[1]).name not in counters:
        return False
    readers = [each for each in own.consumers() if each.name != operation.name]
    if any(each.type != "Identity" or each.outputs[0].consumers() for each in readers):
        return False
    after = [each for each in tensor.consumers() if each.type != "Identity"]
    return not after and not condition.inputs[at].consumers()


def _adds_one(tensor: Any, at: int, body: Any, initial: Sequence[Any], invariant: set[int]) -> bool:
    """Whether a state after a turn is itself and one: a constant of the body, or a state that never changes."""
    operation = tensor.op
    if operation.type not in ("Add", "AddV2"):
        return False
    names = [each.name for each in body.inputs]
    sides = [_behind(each) for each in operation.inputs]
    other = [each for each in sides if each.name != names[at]]
    if len(other) != 1:
        return False
    if other[0].op.type == "Const":
        held = np.asarray(tf.make_ndarray(other[0].op.get_attr("value")))
    else:
        place = names.index(other[0].name) if other[0].name in names else -1
        step = constant(initial[place]) if place in invariant and isinstance(initial[place], Var) else None
        if step is None:
            return False
        held = step
    return held.ndim == 0 and bool(held.item() == 1)


def _is_idle(body: Any, condition: Any, at: int) -> bool:
    """Whether a counter is read by nothing but its own counting."""
    own = body.inputs[at]
    added = _behind(body.outputs[at]).op
    return not condition.inputs[at].consumers() and all(each.name == added.name for each in own.consumers())


def _counted(x: Var) -> Any:
    """The value that a count was converted from."""
    value: Value | None = x.value
    while value is not None and value.producer is not None and value.producer.applies("Cast"):
        value = value.producer.inputs[0]
    return value


def _behind(tensor: Any) -> Any:
    """What Identity operators pass on."""
    while tensor.op.type in ("Identity", "StopGradient"):
        tensor = tensor.op.inputs[0]
    return tensor
