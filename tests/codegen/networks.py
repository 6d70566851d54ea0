"""Small networks of the kinds that are shipped to small machines, with random weights."""

from __future__ import annotations

import math

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model

HEADER = '<ir_version: 13, opset_import: ["" : 25]>'


def encoder(words: int = 50, width: int = 32, heads: int = 4, layers: int = 2) -> Model:
    """A transformer as BERT is: embeddings, and layers of attention and two products, normalised."""
    weights: dict[str, tuple[int, ...]] = {"table": (words, width), "places": (16, width)}
    body = ["e = Gather (table, ids) x0 = Add (e, places)"]
    body.append(f"split = Constant <value_ints = [0, 0, {heads}, {width // heads}]> ()")
    body.append(f"join = Constant <value_ints = [0, 0, {width}]> ()")
    body.append(f"scale = Constant <value_float = {(width / heads) ** -0.5}> ()")
    for n in range(layers):
        for side in "qkv":
            weights |= {f"w{side}{n}": (width, width), f"b{side}{n}": (width,)}
            body.append(f"p{side}{n} = MatMul (x{n}, w{side}{n}) s{side}{n} = Add (p{side}{n}, b{side}{n})")
            body.append(f"r{side}{n} = Reshape (s{side}{n}, split)")
            perm = "[0, 2, 3, 1]" if side == "k" else "[0, 2, 1, 3]"
            body.append(f"{side}{n} = Transpose <perm = {perm}> (r{side}{n})")
        weights |= {f"wo{n}": (width, width), f"wu{n}": (width, 4 * width), f"wd{n}": (4 * width, width)}
        weights |= {f"{name}{n}": (width,) for name in ("g", "h", "gg", "hh")}
        body.append(f"""m{n} = MatMul (q{n}, k{n}) t{n} = Mul (m{n}, scale)
            a{n} = Softmax (t{n}) c{n} = MatMul (a{n}, v{n})
            ct{n} = Transpose <perm = [0, 2, 1, 3]> (c{n}) cc{n} = Reshape (ct{n}, join) o{n} = MatMul (cc{n}, wo{n})
            xo{n} = Add (x{n}, o{n}) y{n} = LayerNormalization (xo{n}, g{n}, h{n})
            u{n} = MatMul (y{n}, wu{n}) gu{n} = Gelu (u{n}) d{n} = MatMul (gu{n}, wd{n}) xd{n} = Add (y{n}, d{n})
            x{n + 1} = LayerNormalization (xd{n}, gg{n}, hh{n})""")
    body.append(f"y = Identity (x{layers})")
    return _network("int64[b, 16] ids", f"float[b, 16, {width}] y", body, weights)


def images() -> Model:
    """A network of convolutions: 3 x 3 ones, one by depth, one by points, a residual, and a classifier."""
    weights: dict[str, tuple[int, ...]] = {
        "w1": (16, 3, 3, 3), "w2": (32, 16, 3, 3), "b2": (32,), "w3": (32, 1, 3, 3), "w4": (32, 32, 1, 1),
        "w5": (32, 32, 3, 3), "b5": (32,), "wc": (32, 10), "bc": (10,),
    }  # fmt: skip
    body = """c1 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w1) r1 = Relu (c1)
        c2 = Conv <pads = [1, 1, 1, 1]> (r1, w2, b2) r2 = HardSwish (c2)
        c3 = Conv <pads = [1, 1, 1, 1], group = 32> (r2, w3) r3 = Relu (c3)
        c4 = Conv (r3, w4) s4 = Add (c4, r2)
        c5 = Conv <pads = [1, 1, 1, 1]> (s4, w5, b5) r5 = Relu (c5)
        p = GlobalAveragePool (r5) f = Flatten (p) g = Gemm (f, wc, bc) y = Softmax (g)"""
    return _network("float[b, 3, 32, 32] x", "float[b, 10] y", [body], weights)


def _network(inputs: str, outputs: str, body: list[str], weights: dict[str, tuple[int, ...]]) -> Model:
    kinds = ", ".join(f"float[{', '.join(map(str, shape))}] {name}" for name, shape in weights.items())
    model = ingot.parse_model(f"{HEADER} g ({inputs}, {kinds}) => ({outputs}) {{ {' '.join(body)} }}")
    random = np.random.default_rng(0)
    values: dict[str, Array] = {
        name: (random.standard_normal(shape) / math.sqrt(math.prod(shape[1:]))).astype(np.float32)
        for name, shape in weights.items()
    }
    inputs_to_initializers(model, dict(values))
    return model
