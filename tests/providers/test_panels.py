"""Packed weights are in memory once, however many plans read them."""

from __future__ import annotations

import gc

import numpy as np

from ingot import Session
from ingot.dims import symbol
from ingot.dtypes import Array, DType
from ingot.fuse.contraction import Packed
from ingot.ir import Graph, Model, Node, Value
from ingot.ir.types import TensorType
from ingot.loops.ir import Tile
from ingot.providers.cpu import panels
from ingot.providers.cpu.panels import panels_of
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.executable import Executable

TILE = Tile(6, 2, 8)


def weights(start: float = 0) -> Array:
    return (np.arange(64 * 40, dtype=np.float32) + start).reshape(1, 64, 40)


def test_the_same_memory_is_packed_once() -> None:
    source = weights()
    first = panels_of(Packed(source), TILE)
    assert panels_of(Packed(source[:]), TILE) is first
    assert panels_of(Packed(source), Tile(6, 4, 8)) is not first


def test_other_memory_with_the_same_weights_shares_their_panels() -> None:
    first = panels_of(Packed(weights()), TILE)
    assert panels_of(Packed(weights()), TILE) is first
    other = weights()
    other[0, -1, -1] = -1
    assert panels_of(Packed(other), TILE) is not first


def test_weights_whose_axes_lie_otherwise_are_packed_as_their_matrix() -> None:
    filters = weights().reshape(20, 2, 8, 8).transpose(1, 2, 3, 0)
    packed = Packed(filters, (0, 3, 1))
    assert packed.shape == (1, 128, 20)
    np.testing.assert_array_equal(panels_of(packed, TILE), panels_of(Packed(filters.reshape(1, 128, 20)), TILE))
    several = Packed(weights().reshape(2, 32, 5, 8), (1, 1, 2))
    np.testing.assert_array_equal(panels_of(several, TILE), panels_of(Packed(weights().reshape(2, 32, 40)), TILE))


def test_weights_that_were_changed_since_are_packed_anew() -> None:
    source = weights()
    first = panels_of(Packed(source), TILE)
    source *= 3
    again = panels_of(Packed(source), TILE)
    assert again is not first
    np.testing.assert_array_equal(again, 3 * first)


def test_memory_that_is_used_for_other_weights_is_packed_anew() -> None:
    source = weights()
    first = panels_of(Packed(source), TILE)
    address = source.ctypes.data
    del source
    for _ in range(50):  # some get the memory that was given back
        again = weights(1)
        assert panels_of(Packed(again), TILE) is not first
        if again.ctypes.data == address:
            break


def test_nothing_is_kept_that_no_plan_holds() -> None:
    held = panels_of(Packed(weights(7)), TILE)
    before = len(panels._BY_CONTENT)
    del held
    gc.collect()
    assert len(panels._BY_CONTENT) < before


def test_a_model_compiled_again_reads_the_weights_of_before() -> None:
    graph = Graph([Value("x", TensorType(DType.FLOAT32, (symbol("n"), 64)))])
    w = graph.add_initializer("w", weights()[0])
    graph.outputs.append(graph.append(Node("MatMul", [graph.inputs[0], w], ["y"])).output)
    session = Session(Model(graph, {"": 22}), providers=("cpu", "reference"))
    assert session.compiled is not None
    again = session._plans._recompiled(Assumptions({"x": (3, 64)}), [])
    assert again is not None
    assert _weights(again) == _weights(session._plans.first)


def _weights(executable: Executable | None) -> set[int]:
    assert executable is not None
    return {id(array) for _, array in executable.plan.memory if array.size >= 64 * 40}
