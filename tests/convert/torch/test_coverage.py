"""How much of torch's core operator set has a rule."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

MISSING = {
    "aten._adaptive_avg_pool2d_backward.default",
    "aten.avg_pool2d_backward.default",
    "aten.convolution_backward.default",
}
"""Gradients, which only programs of training steps compute."""


def core() -> set[str]:
    packets = {name: getattr(torch.ops.aten, name) for name in dir(torch.ops.aten)}
    return {
        f"aten.{name}.{overload}"
        for name, packet in packets.items()
        for overload in (packet.overloads() if hasattr(packet, "overloads") else ())
        if torch.Tag.core in getattr(packet, overload).tags and overload != "out"
    }


def test_every_core_operator_that_does_not_write_in_place_has_a_rule() -> None:
    from ingot.convert.torch.rule import rules

    in_place = {"aten.resize_.default"}
    questions = {"aten.sym_is_contiguous.default"}
    assert core() - set(rules()) - in_place - questions == MISSING
