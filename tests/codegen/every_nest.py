"""Small models that have every kind of nest and of element between them, with inputs to run them on."""

from __future__ import annotations

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.ir.types import TensorType

HEADER = '<ir_version: 13, opset_import: ["" : 25, "ai.onnx.ml" : 5, "com.microsoft" : 1]>'
SIZES = {"n": 5, "m": 4, "t": 11, "b": 2, "N": 6}
FLOATS = ("float16", "float", "double")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NUMBERS = {"float16": 10, "float": 1, "double": 11, "bfloat16": 16, "bool": 9} | dict(
    zip(INTEGERS, (3, 2, 5, 4, 6, 12, 7, 13), strict=True)
)
"""The standard's numbers of types."""
UNARY = (
    *("Exp", "Log", "Tanh", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh"),
    *("Sqrt", "Floor", "Ceil", "Round", "Abs", "Neg", "Sigmoid", "Softplus", "Gelu", "Mish", "Reciprocal", "Sign"),
)


def _functions(kind: str) -> str:
    names = ", ".join(f"{kind}[n, 7] y{i}" for i in range(len(UNARY) + 2))
    body = " ".join(f"y{i} = {name} (x)" for i, name in enumerate(UNARY))
    last = len(UNARY)
    body += f" a = Abs (x) y{last} = Pow (a, x) y{last + 1} = Mod <fmod=1> (x, a)"
    return f"g ({kind}[n, 7] x) => ({names}) {{ {body} }}"


def _casts() -> str:
    """From float32 and from float64 to every type, and back; float64 is not compiled to bfloat16."""
    body, outputs = "", []
    for i, (kind, number) in enumerate(NUMBERS.items()):
        body += f"a{i} = Cast <to={number}> (x) y{i} = Cast <to=11> (a{i}) "
        outputs.append(f"double[n] y{i}")
        if kind != "bfloat16":
            body += f"z{i} = Cast <to={number}> (w) "
            outputs.append(f"{kind}[n] z{i}")
    return f"g (float[n] x, double[n] w) => ({', '.join(outputs)}) {{ {body} }}"


def _integers() -> str:
    body = "".join(
        f"q{i} = Div (a{i}, b{i}) r{i} = Mod (a{i}, b{i}) y{i} = Add (q{i}, r{i}) " for i in range(len(INTEGERS))
    )
    inputs = ", ".join(f"{kind}[n] a{i}, {kind}[n] b{i}" for i, kind in enumerate(INTEGERS))
    outputs = ", ".join(f"{kind}[n] y{i}" for i, kind in enumerate(INTEGERS))
    return f"g ({inputs}) => ({outputs}) {{ {body} }}"


def _trees(kind: str, links: int) -> str:
    """Two trees, one of a chain of nodes that has too many leaves for bits if there are enough links."""
    nodes = list(range(links + 1))
    features = [node % 3 for node in nodes]
    splits = ", ".join(str(node / links - 0.45) for node in nodes)
    leaves = [1] * links + [1]
    return f"""g ({kind}[N, 3] x) => ({kind}[N, 2] y) {{ y = ai.onnx.ml.TreeEnsemble <
        tree_roots = [0, {links}], n_targets = 2, nodes_featureids = {features},
        nodes_modes = uint8[{links + 1}] {{{", ".join(["0"] * (links + 1))}}},
        nodes_splits = {kind}[{links + 1}] {{{splits}}},
        nodes_truenodeids = {nodes}, nodes_trueleafs = {leaves},
        nodes_falsenodeids = {[*range(1, links), links + 1, links + 2]},
        nodes_falseleafs = {[*[0] * (links - 1), 1, 1]},
        leaf_targetids = {[place % 2 for place in range(links + 3)]},
        leaf_weights = {kind}[{links + 3}] {{{", ".join(str(place / 8) for place in range(links + 3))}}}> (x) }}"""


TEXTS = {
    **{f"functions of {kind}": _functions(kind) for kind in FLOATS},
    "casts": _casts(),
    "integers": _integers(),
    "products": """g (float[m, 20] x, double[m, 20] d, float16[m, 20] h, int8[m, 20] i, float[20, 33] w,
        double[20, 33] dw, float16[20, 33] hw, int8[20, 33] iw, float[33] b)
        => (float[m, 33] y, double[m, 33] dy, float16[m, 33] hy,
        int32[m, 33] iy) {
        p = MatMul (x, w) s = Add (p, b) y = Relu (s) dy = MatMul (d, dw) hy = MatMul (h, hw)
        iy = MatMulInteger (i, iw) }""",
    "products of 16-bit floats": """g (bfloat16[m, 21] x, bfloat16[21, 33] w, bfloat16[21, 17] c,
        float16[n, 16, 12, 12] i, float16[20, 16, 3, 3] f, float16[b, 2, m, 16] q, float16[b, 2, 16, t] k,
        float16[b, 2, t, 16] v)
        => (bfloat16[m, 33] y, bfloat16[m, 17] z, float16[n, 20, 12, 12] o, float16[b, 2, m, 16] r) {
        y = MatMul (x, w) z = MatMul (x, c) o = Conv <pads = [1, 1, 1, 1]> (i, f)
        s = MatMul (q, k) p = Softmax (s) r = MatMul (p, v) }""",
    "codes": """g (float[m, 40] x, int4[40, 33] w, float[3, 33] s, int4[3, 33] p, uint8[33, 40] u, float[33] c)
        => (float[m, 33] y, float[m, 33] z) {
        d = DequantizeLinear <axis = 0, block_size = 16> (w, s, p) y = MatMul (x, d)
        e = DequantizeLinear <axis = 0> (u, c) z = Gemm <transB = 1> (x, e) }""",
    "rounded codes": """g (float[b, m, 40] x, uint8[33, 2, 16] w, float[33, 2] s) => (float[b, m, 33] y) {
        a = Abs (x)
        y = com.microsoft.MatMulNBits <K = 40, N = 33, bits = 4, block_size = 32, accuracy_level = 4> (a, w, s) }""",
    "winograd": """g (float[n, 16, 12, 12] x, float[40, 16, 3, 3] w, float[40] b) => (float[n, 40, 12, 12] y) {
        c = Conv <pads = [1, 1, 1, 1]> (x, w, b) y = Relu (c) }""",
    "depthwise": """g (float[n, 24, 9, 9] x, float[24, 1, 3, 3] w) => (float[n, 24, 5, 5] y) {
        c = Conv <group = 24, pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
        y = HardSwish (c) }""",
    "windows": """g (float[n, 4, 20, 34] x, float[4, 1, 5, 5] w) => (float[n, 4, 10, 17] y) {
        c = Conv <group = 4, pads = [2, 2, 2, 2], strides = [2, 2]> (x, w)
        y = HardSwish (c) }""",
    "attention": """g (float[b, 2, m, 16] q, float[b, 2, t, 16] k, float[b, 2, t, 16] v, float[b, 1, m, t] mask)
        => (float[b, 2, m, 16] y) {
        kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, kt) f = Constant <value_float = 0.3> ()
        scaled = Mul (s, f) masked = Add (scaled, mask) p = Softmax (masked) y = MatMul (p, v) }""",
    "normalisation": """g (float[n, 40] x, float[40] s, float[40] b) => (float[n, 40] y, int64[n] i, float[n] m) {
        y = LayerNormalization (x, s, b) i = ArgMax <axis = 1, keepdims = 0> (x)
        one = Constant <value_ints = [1]> () m = ReduceMax <keepdims = 0> (x, one) }""",
    "recurrence": """g (float[5, n, 6] x, float[1, 32, 6] w, float[1, 32, 8] r)
        => (float[5, 1, n, 8] y, float[5, n, 6] c) {
        y = LSTM <hidden_size = 8> (x, w, r) axis = Constant <value_int = 0> () c = CumSum (x, axis) }""",
    "indices": """g (float[9, 6] x, int64[4] i, int64[2, 6] e, float[2, 6] u)
        => (float[4, 6] a, float[2, 6] b, float[9, 6] c) {
        a = Gather (x, i) b = GatherElements (x, e) c = ScatterElements <reduction = "add"> (x, e, u) }""",
    "pooling": """g (float[n, 3, 9, 9] x) => (float[n, 3, 4, 4] a, float[n, 3, 18, 18] b) {
        a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
        empty = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
        b = Resize <mode = "linear"> (x, , empty) }""",
    "sorts": """g (float[n, 300] x, double[n, 300] d, float16[n, 90] h, uint8[n, 300] u, int64[n, 20] i)
        => (float[n, 7] a, int64[n, 7] ai, double[n, 200] b, int64[n, 200] bi, float16[n, 90] c, int64[n, 90] ci,
        uint8[n, 7] e, int64[n, 7] ei, int64[n, 7] f, int64[n, 7] fi)
        <int64[1] seven = {7}, int64[1] most = {200}, int64[1] all = {90}> {
        a, ai = TopK (x, seven) b, bi = TopK <largest = 0> (d, most) c, ci = TopK (h, all)
        e, ei = TopK (u, seven) f, fi = TopK <largest = 0> (i, seven) }""",
    "suppression": """g (float[b, 70, 4] x, float[b, 3, 70] s) => (int64[k, 3] y)
        <int64 most = {20}, float part = {0.3}, float floor = {0.1}> {
        y = NonMaxSuppression (x, s, most, part, floor) }""",
    "small trees": _trees("float", 5),
    "large trees": _trees("float", 70),
    "trees of doubles": _trees("double", 5),
    "control flow": """g (float[N] x, int64 m) => (float[N] y, float[N] z) {
        go = Constant <value = bool {1}> () one = Constant <value_float = 1.0> ()
        a, b = Loop <body = body (int64 i, bool g1, float[N] s, float[N] t) => (bool on, float[N] u, float[N] v) {
            on = Identity (g1) u = Add (t, one) v = Mul (s, one) }> (m, go, x, x)
        total = ReduceSum <keepdims = 0> (a) zero = Constant <value_float = 0.0> () high = Greater (total, zero)
        y = If <then_branch = yes () => (float[N] r) { r = Exp (a) },
            else_branch = no () => (float[N] r) { r = Neg (a) }> (high)
        z = Identity (b) }""",
}


CONSTANT = {
    "codes": ("w", "s", "p", "u", "c"),
    "rounded codes": ("w", "s"),
    "products of 16-bit floats": ("c", "f"),
    "winograd": ("w", "b"),
    "depthwise": ("w",),
    "recurrence": ("w", "r"),
}
"""Inputs that are constants instead, as weights are: what is done to them is done when a model is compiled."""


READS_SIZES = ("suppression",)
"""Models that compute sizes while they run, which programs without a host cannot."""


def programs() -> dict[str, Model]:
    """The models that need no host between their kernels, by what they are for."""
    return {name: model for name, model in models().items() if name not in READS_SIZES}


def models() -> dict[str, Model]:
    """The models, by what they are for."""
    made: dict[str, Model] = {}
    for name, text in TEXTS.items():
        model = made[name] = ingot.parse_model(f"{HEADER} {text}")
        values = feeds(model)
        inputs_to_initializers(model, {each: values[each] for each in CONSTANT.get(name, ())})
    return made


def feeds(model: Model) -> dict[str, Array]:
    """Inputs of a model: numbers around zero, integers to divide by, and indices that are in range."""
    random = np.random.default_rng(0)
    made: dict[str, Array] = {}
    for value in model.graph.inputs:
        assert isinstance(value.type, TensorType)
        shape = tuple(size if isinstance(size, int) else SIZES[str(size)] for size in value.type.shape or ())
        dtype = value.type.dtype.numpy
        if value.name == "e":
            made[value.name] = np.stack([random.permutation(9)[:6], random.permutation(9)[:6]]).astype(dtype)
        elif dtype.kind in "iu":
            made[value.name] = random.integers(1, 4, shape).astype(dtype)
        else:
            made[value.name] = (random.standard_normal(shape) * 0.6).astype(dtype)
    return made
