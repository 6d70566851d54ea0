"""Activations spelled out: GELU, SiLU, hard-swish and their kin, with and without the product before."""

from __future__ import annotations

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def gelu_erf(g: PatternGraph, x: str) -> str:
    return str(g("Mul", g("Mul", x, g("Add", g("Erf", g("Div", x, 2**0.5)), 1.0)), 0.5))


def gelu_tanh(g: PatternGraph, x: str) -> str:
    inner = g("Mul", g("Add", x, g("Mul", g("Pow", x, 3.0), 0.044715)), 0.7978845608)
    return str(g("Mul", g("Mul", x, 0.5), g("Add", g("Tanh", inner), 1.0)))


def gelu_sigmoid(g: PatternGraph, x: str) -> str:
    return str(g("Mul", x, g("Sigmoid", g("Mul", x, 1.702))))


def silu(g: PatternGraph, x: str) -> str:
    return str(g("Mul", x, g("Sigmoid", x)))


def hard_swish(g: PatternGraph, x: str) -> str:
    return str(g("Div", g("Mul", x, g("Clip", g("Add", x, 3.0), 0.0, 6.0)), 6.0))


def mish(g: PatternGraph, x: str) -> str:
    return str(g("Mul", x, g("Tanh", g("Softplus", x))))


def relu6(g: PatternGraph, x: str) -> str:
    return str(g("Clip", x, 0.0, 6.0))


def leaky_by_where(g: PatternGraph, x: str) -> str:
    return str(g("Where", g("Greater", x, 0.0), x, g("Mul", x, 0.01)))


_SPELLINGS = {
    "GELU, Erf": gelu_erf,
    "GELU, Tanh": gelu_tanh,
    "GELU, Sigmoid": gelu_sigmoid,
    "SiLU": silu,
    "hard-swish": hard_swish,
    "Mish": mish,
    "ReLU6": relu6,
    "leaky, Where": leaky_by_where,
}


def alone(g: PatternGraph, length: int, width: int, name: str) -> str:
    return _SPELLINGS[name](g, g.input(1, length, width))


def feed_forward(g: PatternGraph, length: int, width: int, name: str) -> str:
    """Two products with the activation between them."""
    x = g.input(1, length, width)
    inner = g("Add", g("MatMul", x, g.weight(width, 4 * width)), g.weight(4 * width))
    return str(g("Add", g("MatMul", _SPELLINGS[name](g, inner), g.weight(4 * width, width)), g.weight(width)))


def gated(g: PatternGraph, length: int, width: int) -> str:
    """Llama's feed-forward block."""
    x = g.input(1, length, width)
    gate = silu(g, g("MatMul", x, g.weight(width, 3 * width)))
    inner = g("Mul", gate, g("MatMul", x, g.weight(width, 3 * width)))
    return str(g("MatMul", inner, g.weight(3 * width, width)))


PATTERNS = {
    **{
        f"activation: {name}": pattern(alone, length=(2, 64, 512), width=(3, 768, 2048), name=(name,) * 3)
        for name in _SPELLINGS
    },
    **{
        f"feed-forward: {name}": pattern(feed_forward, length=(2, 32, 128), width=(4, 192, 384), name=(name,) * 3)
        for name in ("GELU, Erf", "GELU, Tanh", "GELU, Sigmoid", "SiLU")
    },
    "feed-forward: gated": pattern(gated, length=(2, 32, 128), width=(4, 192, 384)),
}
