"""Small models of the shapes that quantisers meet."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(np.float32)


def parsed(text: str, **constants: Any) -> ingot.Model:
    """A model of opset 21, with these arrays as initialisers of these names."""
    model = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    for name, array in constants.items():
        value = model.graph.initializers.get(name)
        if value is None:
            holder = next(v for node in model.nodes() for v in node.inputs if v is not None and v.name == name)
            holder.constant = ingot.Tensor(array, name=name)
            holder.type = holder.constant.type
            model.graph.initializers.add(holder)
    return model


def residual() -> ingot.Model:
    """Convolutions with a normalisation, a residual sum, a concatenation, a grouped and a transposed one."""
    return parsed(
        """residual (float[n, 4, 8, 8] x) => (float[n, 5] y) {
          c1 = Conv <pads: ints = [1, 1, 1, 1]> (x, w1, b1)
          n1 = BatchNormalization (c1, g, g2, m, v)
          a1 = Relu (n1)
          c2 = Conv <pads: ints = [1, 1, 1, 1], group: int = 8> (a1, w2, b2)
          s = Add (c2, a1)
          a2 = Clip (s, zero, six)
          p = MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (a2)
          t = ConvTranspose <strides: ints = [2, 2]> (p, w3, b3)
          both = Concat <axis: int = 1> (t, a2)
          c4 = Conv (both, w4)
          q = GlobalAveragePool (c4)
          f = Flatten (q)
          y = Gemm <transB: int = 1> (f, w5, b5)
        }""",
        w1=normal(8, 4, 3, 3, scale=0.3), b1=normal(8), g=np.abs(normal(8)), g2=normal(8), m=normal(8),
        v=np.abs(normal(8)) + 1, w2=normal(8, 1, 3, 3, scale=0.4), b2=normal(8), zero=np.float32(0), six=np.float32(6),
        w3=normal(8, 6, 2, 2, scale=0.3), b3=normal(6), w4=normal(7, 14, 1, 1, scale=0.3), w5=normal(5, 7),
        b5=normal(5),
    )  # fmt: skip


def attention() -> ingot.Model:
    """A layer of a transformer: a normalisation, projections that share their input, scores, sums and two products."""
    return parsed(
        """attention (float[n, s, 16] x) => (float[n, s, 16] y) {
          h = LayerNormalization (x, g, b)
          q = MatMul (h, wq)
          k = MatMul (h, wk)
          v = MatMul (h, wv)
          kt = Transpose <perm: ints = [0, 2, 1]> (k)
          scores = MatMul (q, kt)
          weights = Softmax (scores)
          mixed = MatMul (weights, v)
          o = MatMul (mixed, wo)
          r = Add (x, o)
          u = MatMul (r, w1)
          ub = Add (u, b1)
          a = Gelu (ub)
          d = MatMul (a, w2)
          y = Add (r, d)
        }""",
        g=np.abs(normal(16)) + 0.5, b=normal(16), wq=normal(16, 16, scale=0.2), wk=normal(16, 16, seed=1, scale=0.2),
        wv=normal(16, 16, seed=2, scale=0.3), wo=normal(16, 16, seed=3, scale=0.3), w1=normal(16, 64, scale=0.2),
        b1=normal(64), w2=normal(64, 16, scale=0.2),
    )  # fmt: skip
