"""Reductions of other rows than those of their reader: which of them is stored."""

from __future__ import annotations

import ingot
from codegen.test_nvptx import HEAD, scheduled


def test_a_layer_norm_of_a_pool_stores_the_pool_alone() -> None:
    text = f"""{HEAD} g (float[2, 8, 9, 9] x, float[8] v) => (y) {{
        p = AveragePool <kernel_shape = [3, 3]> (x) t = Transpose <perm = [0, 2, 3, 1]> (p)
        y = LayerNormalization (t, v)
    }}"""
    assert len(scheduled(ingot.parse_model(text))) == 2
