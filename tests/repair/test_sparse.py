"""Sparse initialisers: which of them become dense, and what that may take."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import ingot
from ingot.session import LimitError, RunLimits
from repair.untidy import X, info, model, node, sparse

HUGE = 1 << 45
MIB = 2**20


@pytest.mark.parametrize("strict", [False, True])
def test_a_small_file_with_a_huge_sparse_constant_is_refused_before_it_is_allocated(strict: bool) -> None:
    untidy = model([node("ReduceMax", "w", "y")], sparse_constants=[sparse([HUGE], [0, 2])])
    tracemalloc.start()
    try:
        with pytest.raises(ingot.CheckError, match="sparse_tensor"):
            ingot.Session(untidy.SerializeToString(), strict=strict)
        assert tracemalloc.get_traced_memory()[1] < 50 * MIB
    finally:
        tracemalloc.stop()


def test_a_sparse_constant_becomes_dense_within_the_memory_of_a_run() -> None:
    data = model([node("Add", "x w", "y")], sparse_constants=[sparse([100, 1, 3], [0, 2])]).SerializeToString()
    assert [done.rule for done in ingot.Session(data).repairs] == ["sparse", "declared"]
    with pytest.raises(ingot.CheckError, match="sparse_tensor"):
        ingot.Session(data, limits=RunLimits(memory=1000))


def test_a_sparse_constant_that_no_node_reads_as_a_tensor_stays_sparse() -> None:
    product = model([node("SparseToDenseMatMul", "w m", "p", domain="com.microsoft"), node("Relu", "x", "y")])
    product.graph.sparse_initializer.append(sparse([HUGE, 3], [0, 2]))
    product.graph.input.append(info("m", (3, 1)))
    unused = model([node("Relu", "x", "y")], sparse_constants=[sparse([HUGE], [0, 2])])
    for untidy in (product, unused):
        untidy.graph.output[0].CopyFrom(info("y", (1, 1, 1)))
        assert "sparse" not in {done.rule for done in ingot.repair(ingot.from_onnx(untidy))}


@pytest.mark.filterwarnings("ignore:the model is not compiled")  # the reference refuses it then
@pytest.mark.parametrize("provider", ["cpu", "reference"])
def test_a_huge_sparse_constant_matters_only_where_it_is_read(provider: str) -> None:
    unused = model([node("Relu", "x", "y")], sparse_constants=[sparse([HUGE], [0, 2])]).SerializeToString()
    session = ingot.Session(unused, providers=(provider,))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X, 0))
    read = model(
        [node("SparseToDenseMatMul", "w x", "y", domain="com.microsoft")],
        outputs=[info("y", (HUGE, 3))],
        sparse_constants=[sparse([HUGE, 2], [0, 2])],
        imports=[("", 17), ("com.microsoft", 1)],
    ).SerializeToString()
    with pytest.raises((ingot.CompileError, LimitError), match="bytes"):
        ingot.Session(read, providers=(provider,), fallback=False).run(None, {"x": X})
