"""Control flow: operators that call functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.convert.operands import as_var, cast, constant, number
from ingot.convert.tensorflow.looping import Loop, loop_of
from ingot.convert.tensorflow.pair import Pair
from ingot.convert.tensorflow.resource import Collected, Collecting, Items, Resource
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.lists import started
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType


@rule("PartitionedCall", "StatefulPartitionedCall", pairs=True)
def call(site: Site, *arguments: Any, f: Any) -> Any:
    return site.call(f.name, arguments)


@rule("If", "StatelessIf", pairs=True)
def if_(site: Site, condition: Var, *arguments: Any, then_branch: Any, else_branch: Any) -> Any:
    held = constant(condition)
    if held is not None:
        return site.call(then_branch.name if held.item() else else_branch.name, arguments)
    return _chosen(
        site,
        _truth(condition),
        lambda: site.call(then_branch.name, arguments),
        lambda: site.call(else_branch.name, arguments),
    )


@rule("Case", "StatelessCase", pairs=True)
def case(site: Site, index: Var, *arguments: Any, branches: Any) -> Any:
    """The branch of that number, or the last where there is none."""
    names = [branch.name for branch in branches]
    held = constant(index)
    if held is not None:
        return site.call(names[int(held.item()) if 0 <= held.item() < len(names) else -1], arguments)

    def chosen(at: int) -> Any:
        if at == len(names) - 1:
            return site.call(names[at], arguments)
        return _chosen(
            site,
            op.Equal(index, number(at, DType.INT32)),
            lambda: site.call(names[at], arguments),
            lambda: chosen(at + 1),
        )

    return chosen(0)


@rule("While", "StatelessWhile", pairs=True)
def while_(site: Site, *initial: Any, cond: Any, body: Any) -> Any:
    """A Loop of the states that change; those that only count or only collect are its own to give."""
    returned = {tensor.name for tensor in getattr(site.op.graph, "outputs", ())}
    unread = [at for at, tensor in enumerate(site.op.outputs) if not tensor.consumers() and tensor.name not in returned]
    loop = loop_of(site.function(cond.name), site.function(body.name), initial, unread)
    claims = {at: _sizes(initial[at]) for at in loop.carried}
    states = list(initial)
    while True:
        try:
            return _looped(site, loop, states, cond.name, body.name, claims)
        except _Varies as error:
            claims[error.state] = None
        except _Learned as error:
            states[error.state] = replace(initial[error.state], shape=error.shape)


class _Varies(Exception):
    """The sizes of a state are others after a turn of the loop."""

    def __init__(self, state: int) -> None:
        super().__init__(state)
        self.state = state


class _Learned(Exception):
    """The elements of a list are found to have a shape, with which it can be made before the loop."""

    def __init__(self, state: int, shape: tuple[Any, ...]) -> None:
        super().__init__(state)
        self.state = state
        self.shape = shape


def _looped(site: Site, loop: Loop, initial: list[Any], cond: str, body: str, claims: dict[int, Any]) -> list[Any]:
    unmade = [at for at in loop.carried if isinstance(initial[at], Items) and initial[at].stacked is None]
    initial = [started(site, each) if at in unmade else each for at, each in enumerate(initial)]

    def arguments(turn: Any, states: Sequence[Var]) -> list[Any]:
        filled = list(initial)
        for at, state in zip(loop.carried, states, strict=True):
            filled[at] = _rewrapped(initial[at], state, claims[at])
        for at, start in loop.counted.items():
            kind = initial[at].dtype or DType.INT32
            filled[at] = cast(turn, kind) if start == 0 else op.Add(cast(turn, kind), number(start, kind))
        for at in loop.collected:
            filled[at] = Collecting(initial[at])
        return filled

    def holds(values: Sequence[Any]) -> Var:
        return _truth(site.call(cond, values)[0])

    def step(turn: Var, *states: Var) -> Any:
        new = site.call(body, arguments(turn, states))
        for at in loop.carried:
            if claims[at] is not None and _sizes(new[at]) != claims[at]:
                raise _Varies(at)
            _refuse_change(initial[at], new[at])
        for at in unmade:
            if initial[at].least is not None and not initial[at].full and _is_readable(site, new[at].shape):
                raise _Learned(at, new[at].shape)
        next_states = [_plain(new[at]) for at in loop.carried] + [_item(new[at]) for at in loop.collected]
        if loop.turns is not None:
            return tuple(next_states)
        after = [new[at] if at in loop.carried else each for at, each in enumerate(initial)]
        for at in loop.counted:
            after[at] = new[at]
        return holds(after), *next_states

    if not loop.carried and not loop.collected and loop.turns is None:
        raise UnsupportedError("a loop that never ends")
    first = [as_var(_plain(initial[at])) for at in loop.carried]
    results: tuple[Any, ...] = ()
    if loop.carried or loop.collected:
        going = None if loop.turns is not None else holds(initial)
        outputs = op.Loop(loop.turns, going, *first, body=step)
        results = outputs if isinstance(outputs, tuple) else (outputs,)
    final = list(initial)
    for at, value in zip(loop.carried, results, strict=False):
        final[at] = _rewrapped(initial[at], value, claims[at])
    for at, value in zip(loop.collected, results[len(loop.carried) :], strict=True):
        items = initial[at]
        final[at] = Items(items.dtype, value, items.least, items.shape, loop.fills(items, site.elements))
    for at, start in loop.counted.items():
        kind = initial[at].dtype or DType.INT32
        turns = cast(loop.turns, kind) if loop.turns is not None else final[at]
        final[at] = as_var(turns if start == 0 else op.Add(turns, number(start, kind)))
    return final


def _chosen(site: Site, condition: Var, yes: Callable[[], Any], no: Callable[[], Any]) -> list[Any]:
    """What one of two branches gives; what is no tensor must be the same in both."""
    kinds: list[list[Any]] = []

    def branch(write: Callable[[], Any]) -> Any:
        values = [started(site, each) if isinstance(each, Items) else each for each in write()]
        kinds.append(values)
        return tuple(_plain(each) for each in values if not isinstance(each, Resource)) or (np.array(True),)

    outputs = op.If(condition, then=lambda: branch(yes), else_=lambda: branch(no))
    values = iter(outputs if isinstance(outputs, tuple) else (outputs,))
    merged: list[Any] = []
    for one, other in zip(*kinds, strict=True):
        if isinstance(one, Resource):
            if not isinstance(other, Resource) or one.handle is not other.handle:
                raise UnsupportedError("a branch chooses between variables or tables")
            merged.append(one)
            continue
        _refuse_change(one, other)
        value = next(values)
        if isinstance(one, Items):
            full = isinstance(other, Items) and one.full and other.full
            merged.append(replace(_rewrapped(one, value, None), full=full))
        else:
            merged.append(_rewrapped(one, value, None))
    return merged


def _refuse_change(one: Any, other: Any) -> None:
    if isinstance(one, Items) and (not isinstance(other, Items) or not _same_length(one.least, other.least)):
        raise UnsupportedError("a list whose reserved length changes")
    if type(one) is not type(other) and (isinstance(one, Pair | Items) or isinstance(other, Pair | Items)):
        raise UnsupportedError("a value that is of another kind afterwards")


def _same_length(one: Any, other: Any) -> bool:
    if one is other or one is None or other is None:
        return one is other or other is None
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(one == other)
    return isinstance(one, Var) and isinstance(other, Var) and one.value is other.value


def _truth(x: Var) -> Var:
    """A condition as a bool: a number is true unless it is zero, a text unless it is empty."""
    if x.dtype is DType.BOOL:
        return x
    if x.dtype is DType.STRING:
        return op.Not(op.Equal(x, np.array("", object)))
    return op.Not(op.Equal(x, number(0, x.dtype or DType.INT32)))


def _plain(value: Any) -> Any:
    """The tensor that a value is carried as."""
    match value:
        case Pair():
            return value.var
        case Items() if value.stacked is not None:
            return value.stacked
        case Var():
            return value
        case np.ndarray():
            return value
    raise UnsupportedError("a loop or a branch gives something that is no tensor")


def _item(value: Any) -> Var:
    if not isinstance(value, Collected):
        raise UnsupportedError("a list that is not only added to")
    return value.item


def _rewrapped(like: Any, state: Var, sizes: Any) -> Any:
    """A tensor as the kind of value that `like` is, of sizes that are known not to change."""
    if isinstance(like, Items):
        if state.rank is None and like.shape is not None:
            state.value.type = TensorType(like.dtype, (None, *like.shape))
        return replace(like, stacked=state, full=like.full)
    var = like.var if isinstance(like, Pair) else like
    if sizes is not None and isinstance(var, Var) and var.dtype is not None:
        state.value.type = TensorType(var.dtype, sizes)
    return Pair(state) if isinstance(like, Pair) else state


def _is_readable(site: Site, shape: Any) -> bool:
    """Whether the sizes of an element are known outside of the loop."""
    return shape is not None and all(
        size is not None and (isinstance(size, int) or site.readable(size)) for size in shape
    )


def _sizes(value: Any) -> Any:
    """The shape of a tensor, as far as it is known; None where it is not, and for what is no tensor."""
    var = value.var if isinstance(value, Pair) else value
    return shape_of(var.value) if isinstance(var, Var) else None
