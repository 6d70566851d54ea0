"""What onnx finds is found: on a part of the node cases here, on all of them in benchmarks/inference.py."""

from __future__ import annotations

from benchmarks.found import Comparison
from benchmarks.inference import FALSE

from conformance.cases import node_cases


def test_nothing_that_onnx_finds_is_missed() -> None:
    found = Comparison()
    for name, case in list(node_cases().items())[::8]:
        found.add(name, case.model)
    assert found.models > 200
    assert [what for what in found.missed if not any(false in what for false in FALSE)] == []
    assert found.ours.types == found.values
    assert found.ours.ranks >= found.theirs.ranks
    assert found.ours.sizes >= found.theirs.sizes
