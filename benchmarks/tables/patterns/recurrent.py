"""Recurrent layers as PyTorch, Keras, tf2onnx and Paddle write them."""

from __future__ import annotations

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def zeros(g: PatternGraph, *shape: int) -> str:
    """A state of zeros, made of constant sizes while the model runs."""
    return str(g("ConstantOfShape", g.constant(list(shape), "int64")))


def pytorch(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> tuple[str, ...]:
    """Two layers, batch first: Transpose, LSTM with states, Squeeze, and last states joined."""
    x = g("Transpose", g.input(1, length, inputs), perm=[1, 0, 2])
    h, c = g.input(layers, 1, hidden), g.input(layers, 1, hidden)
    last: list[tuple[str, str]] = []
    for layer in range(layers):
        states = [g("Slice", state, [layer], [layer + 1], [0]) for state in (h, c)]
        width = inputs if layer == 0 else hidden
        weights = (g.weight(1, 4 * hidden, width), g.weight(1, 4 * hidden, hidden), g.weight(1, 8 * hidden))
        y, yh, yc = g("LSTM", x, *weights, None, *states, hidden_size=hidden, outputs=3)
        x, last = g("Squeeze", y, [1]), [*last, (yh, yc)]
    ends = [g("Concat", *(pair[place] for pair in last), axis=0) for place in (0, 1)]
    return g("Transpose", x, perm=[1, 0, 2]), *ends


def bidirectional(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> str:
    """Both directions, joined by Transpose and Reshape, layer by layer."""
    x = g("Transpose", g.input(1, length, inputs), perm=[1, 0, 2])
    for layer in range(layers):
        width = inputs if layer == 0 else 2 * hidden
        weights = (g.weight(2, 4 * hidden, width), g.weight(2, 4 * hidden, hidden), g.weight(2, 8 * hidden))
        y, _, _ = g("LSTM", x, *weights, hidden_size=hidden, direction="bidirectional", outputs=3)
        x = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), [0, 0, -1])
    return str(g("Transpose", x, perm=[1, 0, 2]))


def keras(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> str:
    """tf2onnx of Keras: initial states of zeros, the last output alone, and a dense layer."""
    x = g("Transpose", g.input(1, length, inputs), perm=[1, 0, 2])
    for layer in range(layers):
        width = inputs if layer == 0 else hidden
        weights = (g.weight(1, 4 * hidden, width), g.weight(1, 4 * hidden, hidden), g.weight(1, 8 * hidden))
        states = (zeros(g, 1, 1, hidden), zeros(g, 1, 1, hidden))
        y, yh, _ = g("LSTM", x, *weights, None, *states, hidden_size=hidden, outputs=3)
        x = g("Squeeze", y, [1])
    return str(g("Add", g("MatMul", g("Squeeze", yh, [0]), g.weight(hidden, 4)), g.weight(4)))


def gru(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> tuple[str, str]:
    """PyTorch's GRU with a dense layer behind it, as in noise suppression."""
    x = g("Transpose", g.input(1, length, inputs), perm=[1, 0, 2])
    for layer in range(layers):
        width = inputs if layer == 0 else hidden
        weights = (g.weight(1, 3 * hidden, width), g.weight(1, 3 * hidden, hidden), g.weight(1, 6 * hidden))
        y, yh = g("GRU", x, *weights, None, g.input(1, 1, hidden), hidden_size=hidden, linear_before_reset=1, outputs=2)
        x = g("Squeeze", y, [1])
    dense = g("MatMul", g("Transpose", x, perm=[1, 0, 2]), g.weight(hidden, inputs))
    return g("Sigmoid", g("Add", dense, g.weight(inputs))), yh


def paddle(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> str:
    """Paddle's OCR neck: a map to a sequence, both directions, a dense layer."""
    x = g("Transpose", g("Squeeze", g.input(1, inputs, 1, length), [2]), perm=[2, 0, 1])
    for layer in range(layers):
        width = inputs if layer == 0 else 2 * hidden
        weights = (g.weight(2, 4 * hidden, width), g.weight(2, 4 * hidden, hidden), g.weight(2, 8 * hidden))
        states = (zeros(g, 2, 1, hidden), zeros(g, 2, 1, hidden))
        y, _, _ = g("LSTM", x, *weights, None, *states, hidden_size=hidden, direction="bidirectional", outputs=3)
        x = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), [0, 0, -1])
    rows = g("Transpose", x, perm=[1, 0, 2])
    return str(g("Add", g("MatMul", rows, g.weight(2 * hidden, 32)), g.weight(32)))


def cell(g: PatternGraph, length: int, inputs: int, hidden: int, layers: int) -> tuple[str, str]:
    """A cell spelled out, unrolled for a few steps."""
    x, h, c = g.input(length, 1, inputs), g.input(1, hidden), g.input(1, hidden)
    w, r, b = g.weight(inputs, 4 * hidden), g.weight(hidden, 4 * hidden), g.weight(4 * hidden)
    for step in range(min(length, 4 * layers)):
        gates = g("Add", g("Add", g("MatMul", g("Gather", x, step, axis=0), w), g("MatMul", h, r)), b)
        i, f, n, o = g("Split", gates, [hidden] * 4, axis=1, outputs=4)
        c = g("Add", g("Mul", g("Sigmoid", f), c), g("Mul", g("Sigmoid", i), g("Tanh", n)))
        h = g("Mul", g("Sigmoid", o), g("Tanh", c))
    return h, c


_USUAL = {"length": (2, 20, 100), "inputs": (3, 40, 128), "hidden": (4, 64, 128), "layers": (1, 2, 2)}
PATTERNS = {
    "recurrent: PyTorch LSTM": pattern(pytorch, **_USUAL),
    "recurrent: PyTorch LSTM, both directions": pattern(bidirectional, **_USUAL),
    "recurrent: Keras LSTM by tf2onnx": pattern(keras, **_USUAL),
    "recurrent: PyTorch GRU": pattern(gru, **_USUAL),
    "recurrent: Paddle LSTM of OCR": pattern(paddle, **_USUAL),
    "recurrent: LSTM cell, unrolled": pattern(cell, **_USUAL),
}
