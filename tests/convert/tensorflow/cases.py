"""One case or more for each raw operator of TensorFlow that has a rule: how it is called, on what, in which types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from ingot.dtypes import Array

FLOATS = "float32 float64"
HALVES = "float32 float64 float16 bfloat16"
WHOLE = "int32 int64"
NUMBERS = f"{FLOATS} {WHOLE}"
ALL = f"{NUMBERS} float16 bfloat16 int8 int16 uint8"


@dataclass(frozen=True)
class In:
    """An input of the function: its array, of the type of the case unless it has one of its own."""

    array: Array
    own: bool = False
    open: tuple[int, ...] = ()
    """Axes whose size the function is not told."""


@dataclass(frozen=True)
class Const:
    """A constant of the type of the case."""

    value: Any


@dataclass(frozen=True)
class Case:
    """A call of one raw operator in one type: a function of tensors, and arrays to call it with."""

    op: str
    dtype: str
    function: Callable[..., Any]
    arrays: tuple[Array, ...]
    specs: tuple[Any, ...]
    first: bool = True
    """Whether it is the first of the types that the same call is made in."""

    def __str__(self) -> str:
        return f"{self.op} {self.dtype}"


def rng(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Array:
    return np.random.default_rng(seed + len(shape)).uniform(low, high, shape)


def whole(*shape: int, low: int = 0, high: int = 5, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape)


def x(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> In:
    """Numbers in the type of the case; integers are a few times as large."""
    return In(rng(*shape, low=low, high=high, seed=seed))


def ints(*shape: int, low: int = 0, high: int = 5, dtype: str = "int32", seed: int = 1) -> In:
    return In(whole(*shape, low=low, high=high, seed=seed).astype(dtype), own=True)


def own(value: Any, dtype: str | None = None) -> In:
    return In(np.asarray(value, dtype if dtype != "str" else object), own=True)


def words(*texts: str) -> In:
    return In(np.array(texts, object), own=True)


def case(op: str, dtypes: str = "float32", /, **given: Any) -> Iterator[Case]:
    """The operator called with `given`: `In`s are inputs of the function, everything else is a constant of it."""
    for dtype in dtypes.split():
        inputs = [each for value in given.values() for each in _ins(value)]
        arrays = tuple(_typed(each, dtype) for each in inputs)
        specs = tuple(
            tf.TensorSpec(
                [None if axis in each.open else size for axis, size in enumerate(array.shape)],
                tf.string if array.dtype == object else array.dtype,
            )
            for each, array in zip(inputs, arrays, strict=True)
        )

        def call(*tensors: Any, dtype: str = dtype) -> Any:
            left = iter(tensors)
            return getattr(tf.raw_ops, op)(**{name: _filled(value, left, dtype) for name, value in given.items()})

        yield Case(op, dtype, call, arrays, specs, dtype == dtypes.split()[0])


def _ins(value: Any) -> list[In]:
    if isinstance(value, In):
        return [value]
    return [each for item in value for each in _ins(item)] if isinstance(value, list | tuple) else []


def _typed(each: In, dtype: str) -> Array:
    if each.own:
        return each.array
    if dtype == "bool":
        return np.asarray(each.array > 0)
    if dtype == "string":
        return np.array([f"t{int(item * 2)}" for item in each.array.ravel()], object).reshape(each.array.shape)
    kind = tf.as_dtype(dtype)
    if kind.is_integer:
        scaled = np.round(each.array * 3)
        return (np.abs(scaled) if dtype.startswith("u") else scaled).astype(kind.as_numpy_dtype)
    return each.array.astype(kind.as_numpy_dtype)


def _filled(value: Any, tensors: Iterator[Any], dtype: str) -> Any:
    match value:
        case In():
            return next(tensors)
        case Const():
            return tf.constant(value.value, dtype)
        case list() if any(_ins(item) for item in value):
            return [_filled(item, tensors, dtype) for item in value]
    return value


def all_cases() -> list[Case]:
    """Every case of every family."""
    return [each for family in FAMILIES for each in family()]


def arithmetic() -> Iterator[Case]:
    for op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
        yield from case(op, ALL if op not in ("Add", "SquaredDifference") else NUMBERS, x=x(2, 3), y=x(3, seed=5))
    yield from case("Add", "string", x=x(2, 3), y=x(3))
    yield from case("RealDiv", HALVES, x=x(2, 3), y=x(3, low=0.5))
    yield from case("Div", NUMBERS, x=x(2, 3), y=x(3, low=0.5))
    for op in ("FloorDiv", "FloorMod", "TruncateDiv", "Mod", "TruncateMod"):
        kinds = {"TruncateDiv": WHOLE, "TruncateMod": NUMBERS, "Mod": NUMBERS}.get(op, f"{NUMBERS} int16 int8 uint8")
        yield from case(op, kinds, x=x(4, 5, low=-4, high=4), y=In(np.array([1, -1, 2.0, -0.7, 0.4])))
    yield from case("DivNoNan", FLOATS, x=x(2, 3), y=In(np.array([0.0, 1, -2])))
    yield from case("MulNoNan", FLOATS, x=In(np.array([np.nan, np.inf, 2])), y=In(np.array([0.0, 0, -2])))
    yield from case("Pow", FLOATS, x=x(2, 3, low=0.1), y=x(3))
    yield from case("Pow", WHOLE, x=x(2, 3), y=In(np.array([0.0, 1, 0.67])))
    yield from case("AddN", NUMBERS, inputs=[x(2, 3), x(2, 3, seed=1), x(2, 3, seed=2)])
    yield from case("AccumulateNV2", inputs=[x(2, 3), x(2, 3, seed=1)], shape=[2, 3])
    yield from case("BiasAdd", HALVES, value=x(2, 4, 5, 3), bias=x(3))
    yield from case("BiasAdd", value=x(2, 3, 4, 5), bias=x(3), data_format="NCHW")
    yield from case("BiasAddV1", value=x(2, 3), bias=x(3))
    yield from case("Xdivy", FLOATS, x=In(np.array([0.0, 1, 2])), y=In(np.array([0.0, 3, -1])))
    yield from case("Xlogy", FLOATS, x=In(np.array([0.0, 1, 2])), y=In(np.array([0.0, 3, 1])))
    yield from case("Xlog1py", FLOATS, x=In(np.array([0.0, 1, 2])), y=In(np.array([-1.0, 3, 1e-6])))
    grid = np.array([-1.5, -0.0, 0.0, 2])
    yield from case("Atan2", FLOATS, y=In(grid[:, None] + 0.0), x=In(grid + 0.0))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        yield from case(op, f"{WHOLE} uint8 int16", x=x(2, 3), y=x(3, seed=3))
    yield from case("Invert", f"{WHOLE} uint8", x=x(2, 3))
    for op in ("LeftShift", "RightShift"):
        yield from case(op, f"{WHOLE} uint8", x=x(2, 3), y=In(np.array([0, 1 / 3, 1.0])))
    yield from case("Cross", NUMBERS, a=x(2, 3), b=x(2, 3, seed=3))


def elementwise() -> Iterator[Case]:
    for op in [
        "Abs",
        "Atan",
        "Ceil",
        "Cos",
        "Cosh",
        "Erf",
        "Erfc",
        "Exp",
        "Expm1",
        "Floor",
        "Neg",
        "Rint",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Square",
        "Tanh",
        "Tan",
        "Asinh",
        "Round",
    ]:
        yield from case(op, FLOATS if op not in ("Sigmoid", "Tanh", "Exp", "Neg", "Abs") else HALVES, x=x(3, 4))
    for op in ("Abs", "Neg", "Sign", "Square"):
        yield from case(op, WHOLE, x=x(3, 4))
    for op in ("Log", "Log1p", "Rsqrt", "Sqrt", "Reciprocal", "Inv", "Lgamma", "Digamma"):
        yield from case(op, FLOATS, x=x(3, 4, low=0.1, high=5))
    for op in ("Lgamma", "Digamma"):
        yield from case(op, x=In(np.array([-3.7, -0.2, 0.3, 1, 2, 30.5])))
    yield from case("Log1p", x=In(np.array([0.0, 1e-7, -1e-7, 1e-4, 1, 1e30])))
    yield from case("Expm1", x=In(np.array([0.0, 1e-7, -1e-7, 1e-4, -30.0, 5])))
    for op in ("Acos", "Asin", "Atanh", "Erfinv"):
        yield from case(op, FLOATS if op != "Erfinv" else "float32", x=x(3, 4, low=-0.9, high=0.9))
    yield from case("Erfinv", x=In(np.array([0.0, 0.999, -0.9999, 1, -1])))
    yield from case("Acosh", FLOATS, x=x(3, 4, low=1.1, high=4))
    yield from case("Ndtri", x=x(3, 4, low=0.05, high=0.95))
    for op in ("IsNan", "IsInf", "IsFinite"):
        yield from case(op, FLOATS, x=In(np.array([0.0, np.nan, np.inf, -np.inf, 2])))
    yield from case("LogicalNot", "bool", x=x(3))
    yield from case("ClipByValue", NUMBERS, t=x(3, 4), clip_value_min=Const(-1), clip_value_max=Const(1))
    for to in ("float32", "int32", "int64", "bool", "float64", "uint8", "float16", "bfloat16", "int8"):
        yield from case("Cast", "float32 int32 bool", x=x(3, 4, low=0.0), DstT=tf.as_dtype(to))
    yield from case("Bitcast", "float32", input=x(3, 4), type=tf.int32)
    yield from case("PopulationCount", f"{WHOLE} uint8 int8", x=x(3, 4))


def activation() -> Iterator[Case]:
    for op in ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign"):
        yield from case(
            op,
            HALVES if op not in ("Selu", "Elu", "Softsign", "Softplus") else FLOATS,
            features=x(3, 4, low=-8, high=8),
        )
    yield from case("Relu", WHOLE, features=x(3, 4))
    yield from case("Softmax", FLOATS, logits=x(3, 4))
    yield from case("LogSoftmax", FLOATS, logits=x(3, 4))
    labels = np.array([[0.2, 0.3, 0.5, 0], [1, 0, 0, 0]])
    yield from case("SoftmaxCrossEntropyWithLogits", FLOATS, features=x(2, 4), labels=In(labels))
    yield from case("SparseSoftmaxCrossEntropyWithLogits", FLOATS, features=x(3, 4), labels=ints(3, high=4))
    yield from case("L2Loss", FLOATS, t=x(3, 4))
    for op in ("ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad"):
        yield from case(op, gradients=x(3, 4, seed=4), features=x(3, 4))
    for op in ("EluGrad", "SeluGrad"):
        yield from case(op, gradients=x(3, 4, seed=4), outputs=x(3, 4))
    for op in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        yield from case(op, y=x(3, 4, low=0.5), dy=x(3, 4))
    yield from case("BiasAddGrad", out_backprop=x(2, 4, 3))


def comparison() -> Iterator[Case]:
    for op in ("Less", "LessEqual", "Greater", "GreaterEqual"):
        yield from case(op, NUMBERS, x=x(3, 4), y=x(4, seed=3))
    for op in ("Equal", "NotEqual"):
        yield from case(op, f"{NUMBERS} bool string", x=In(np.array([[1.0, -1, 0.3]])), y=In(np.array([[1.0], [-1]])))
    yield from case("ApproximateEqual", x=In(np.array([1.0, 2])), y=In(np.array([1.000001, 2.1])))
    for op in ("LogicalAnd", "LogicalOr"):
        yield from case(op, "bool", x=x(3, 4), y=x(4, seed=3))
    mask = own(np.array([True, False, True]))
    yield from case("SelectV2", f"{NUMBERS} bool string", condition=mask, t=x(2, 3), e=x(3, seed=3))
    yield from case("Select", NUMBERS, condition=mask, x=x(3, 2), y=x(3, 2, seed=3))
    yield from case("Select", condition=own(np.array(True)), x=x(3, 2), y=x(3, 2, seed=3))
    yield from case("Where", f"{NUMBERS} bool", condition=In(np.array([[0.0, 1, 0], [-1, 0, 2]])))
    yield from case("InTopK", predictions=x(3, 5), targets=ints(3), k=2)
    yield from case("InTopKV2", predictions=x(3, 5), targets=ints(3), k=tf.constant(2))


def reduction() -> Iterator[Case]:
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        yield from case(op, f"{HALVES} {WHOLE} uint8 int16", input=x(2, 3, 4, low=-1, high=1), axis=[1])
        yield from case(op, input=x(2, 3, 4), axis=[-1, 0], keep_dims=True)
        yield from case(op, input=x(2, 3), axis=np.zeros(0, np.int32))
        yield from case(op, input=x(2, 3), axis=own([0], "int32"))
    yield from case("EuclideanNorm", FLOATS, input=x(2, 3), axis=[0, 1])
    for op in ("All", "Any"):
        yield from case(op, "bool", input=x(2, 3), axis=[1])
        yield from case(op, "bool", input=x(2, 3), axis=[0, 1], keep_dims=True)
    for op in ("ArgMax", "ArgMin"):
        yield from case(op, f"{HALVES} {WHOLE} uint8", input=x(3, 4), dimension=1)
        yield from case(op, input=x(3, 4), dimension=-2, output_type=tf.int32)
    for reverse in (False, True):
        for exclusive in (False, True):
            how = {"reverse": reverse, "exclusive": exclusive}
            yield from case("Cumsum", f"{NUMBERS} int8", x=x(3, 4), axis=1, **how)
            yield from case("Cumprod", NUMBERS, x=x(3, 4), axis=0, **how)
    yield from case("CumulativeLogsumexp", FLOATS, x=x(3, 4), axis=1)
    distinct = In(np.random.default_rng(0).permutation(24).reshape(2, 12) / 3)
    yield from case("TopKV2", f"{NUMBERS} float16 uint8", input=distinct, k=3)
    yield from case("NthElement", NUMBERS, input=distinct, n=3)
    yield from case("NthElement", input=distinct, n=3, reverse=True)


def view() -> Iterator[Case]:
    kinds = f"{NUMBERS} bool string uint8"
    yield from case("Reshape", kinds, tensor=x(2, 6), shape=[3, -1])
    yield from case("Reshape", tensor=x(2, 6), shape=own([4, 3], "int32"))
    yield from case("Reshape", tensor=In(rng(2, 6), open=(0,)), shape=[-1, 3, 2])
    yield from case("Squeeze", kinds, input=x(2, 1, 3, 1))
    yield from case("Squeeze", input=x(2, 1, 3, 1), axis=[1])
    yield from case("ExpandDims", kinds, input=x(2, 3), axis=-1)
    yield from case("Transpose", kinds, x=x(2, 3, 4), perm=[2, 0, 1])
    yield from case("ConjugateTranspose", x=x(2, 3), perm=[1, 0])
    yield from _strided()
    yield from case("Slice", kinds, input=x(3, 4, 5), begin=[1, 0, 2], size=[2, -1, 2])
    yield from case("Slice", input=x(3, 4), begin=own([1, 0], "int32"), size=own([2, -1], "int32"))
    yield from case("Pack", kinds, values=[x(2, 3), x(2, 3, seed=1)], axis=1)
    yield from case("Unpack", kinds, value=x(2, 3), num=3, axis=1)
    yield from case("ParallelConcat", values=[x(1, 3), x(1, 3, seed=1)], shape=[2, 3])
    yield from case("ConcatV2", kinds, values=[x(2, 3), x(2, 1)], axis=-1)
    yield from case("Concat", concat_dim=0, values=[x(2, 3), x(1, 3)])
    yield from case("Split", kinds, axis=1, value=x(2, 6), num_split=3)
    yield from case("SplitV", kinds, value=x(2, 7), size_splits=[2, 4, 1], axis=1, num_split=3)
    yield from case("SplitV", value=In(rng(2, 7), open=(1,)), size_splits=[2, -1, 1], axis=1, num_split=3)
    yield from case("Tile", kinds, input=x(2, 3), multiples=[2, 1])
    yield from case("BroadcastTo", kinds, input=x(1, 3), shape=[2, 2, 3])
    yield from case("BroadcastArgs", "int32 int64", s0=own([2, 1, 3], "int32"), s1=own([4, 1], "int32"))
    yield from case("ReverseV2", kinds, tensor=x(2, 3), axis=[1])
    yield from case("Reverse", tensor=x(2, 3), dims=[True, False])
    yield from case(
        "ReverseSequence", kinds, input=x(3, 4, 2), seq_lengths=own([1, 4, 2], "int32"), seq_dim=1, batch_dim=0
    )
    yield from case("ReverseSequence", input=x(2, 4, 3), seq_lengths=own([1, 4, 2], "int64"), seq_dim=1, batch_dim=2)
    yield from case("Roll", kinds, input=x(3, 4), shift=[1, -2], axis=[0, 1])
    yield from case("Shape", "float32 string", input=In(rng(3, 4), open=(0,)))
    yield from case("Shape", input=x(3, 4), out_type=tf.int64)
    yield from case("ShapeN", input=[In(rng(3, 4), open=(0,)), x(2)])
    yield from case("Size", input=In(rng(3, 4), open=(0,)))
    yield from case("Rank", input=In(rng(3, 4), open=(0,)))
    yield from case("InvertPermutation", x=own([2, 0, 1, 3], "int32"))
    yield from case("DepthToSpace", input=x(2, 4, 6, 8), block_size=2)
    yield from case("SpaceToDepth", input=x(2, 4, 6, 8), block_size=2)
    yield from case("SpaceToBatchND", input=x(2, 4, 5, 3), block_shape=[2, 3], paddings=[[0, 0], [1, 0]])
    yield from case(
        "SpaceToBatchND", input=In(rng(2, 4, 6, 3), open=(0, 1)), block_shape=[2, 3], paddings=[[0, 0], [0, 0]]
    )
    yield from case("SpaceToBatch", input=x(2, 4, 6, 3), paddings=[[0, 0], [0, 0]], block_size=2)
    yield from case("BatchToSpaceND", input=x(12, 2, 2, 3), block_shape=[2, 3], crops=[[0, 1], [1, 0]])
    yield from case("BatchToSpace", input=x(8, 2, 2, 3), crops=[[0, 0], [0, 0]], block_size=2)
    yield from case("Pad", kinds.replace("string", "").replace("bool", ""), input=x(2, 3), paddings=[[1, 0], [0, 2]])
    yield from case("Pad", input=x(2, 3), paddings=own([[1, 0], [0, 2]], "int32"))
    yield from case("PadV2", NUMBERS, input=x(2, 3), paddings=[[1, 0], [0, 2]], constant_values=Const(5))
    for mode in ("REFLECT", "SYMMETRIC"):
        yield from case("MirrorPad", NUMBERS, input=x(3, 4), paddings=[[1, 2], [0, 3]], mode=mode)
    yield from case("EnsureShape", input=In(rng(2, 3), open=(0,)), shape=[2, 3])
    for op, name in (
        ("Identity", "input"),
        ("StopGradient", "input"),
        ("PreventGradient", "input"),
        ("Snapshot", "input"),
        ("DeepCopy", "x"),
        ("DebugIdentityV2", "input"),
    ):
        yield from case(op, **{name: x(2)})
    yield from case("CheckNumerics", tensor=x(2), message="")
    yield from case("CheckNumericsV2", tensor=x(2), message="")
    yield from case("PlaceholderWithDefault", input=x(2), shape=[2])
    yield from case("IdentityN", input=[x(2), ints(3)])


def _strided() -> Iterator[Case]:
    data = In(np.arange(120.0).reshape(4, 5, 6) / 7)
    partly = In(np.arange(120.0).reshape(4, 5, 6) / 7, open=(0, 1))

    def call(
        source: In, first: Any, last: Any, strides: Any, dtypes: str = "float32", /, **masks: int
    ) -> Iterator[Case]:
        names = {f"{name}_mask": bits for name, bits in masks.items()}
        return case("StridedSlice", dtypes, input=source, begin=first, end=last, strides=strides, **names)

    for source in (data, partly):
        yield from call(
            source, [1, 0, 2], [3, 5, 6], [1, 2, 3], f"{NUMBERS} bool string" if source is data else "float32"
        )
        yield from call(source, [0, 1], [0, 4], [1, 1], begin=1, end=1)
        yield from call(source, [1], [2], [1], shrink_axis=1)
        yield from call(source, [0, -1], [0, 0], [1, 1], ellipsis=1, shrink_axis=2)
        yield from call(source, [0, 0, 1], [0, 0, 3], [1, 1, 1], new_axis=1, ellipsis=2)
        yield from call(source, [0, 0, 0], [0, 0, 0], [1, -1, -2], begin=7, end=7)
        yield from call(source, [-1, 3, 0], [-3, 1, 0], [-1, -2, 1], end=4)
        yield from call(source, [2, 0, 0, 1], [0, 0, 0, 3], [1, 1, 1, 1], shrink_axis=1, new_axis=2, ellipsis=4)
        yield from call(source, [10], [-20], [-1])
    moving = own([1, 0, 2], "int32")
    yield from call(data, moving, own([3, 5, 5], "int32"), [1, 1, 1])
    yield from call(data, own([1, -1], "int32"), own([0, 0], "int32"), [1, 1], shrink_axis=3)


def creation() -> Iterator[Case]:
    yield from case("Fill", f"{NUMBERS} bool string", dims=own([2, 3], "int32"), value=In(np.array(1.0)))
    yield from case("ZerosLike", f"{NUMBERS} bool", x=x(2, 3))
    yield from case("OnesLike", f"{NUMBERS}", x=In(rng(2, 3), open=(0,)))
    yield from case("Range", NUMBERS, start=In(np.array(1.0)), limit=In(np.array(4.0)), delta=In(np.array(1.0)))
    yield from case("LinSpace", FLOATS, start=In(np.array(1.0)), stop=In(np.array(4.0)), num=7)
    indices = own([[0, 2], [-1, 5]], "int32")
    yield from case("OneHot", NUMBERS, indices=indices, depth=4, on_value=Const(1), off_value=Const(0))
    yield from case("OneHot", indices=indices, depth=4, on_value=Const(3), off_value=Const(-1), axis=0)
    yield from case("Empty", shape=own([2, 3], "int32"), dtype=tf.float32, init=True)


def diagonal() -> Iterator[Case]:
    yield from case("Diag", NUMBERS, diagonal=x(3))
    yield from case("DiagPart", NUMBERS, input=x(3, 3))
    yield from case("MatrixDiag", NUMBERS, diagonal=x(2, 3))
    yield from case("MatrixDiagPart", NUMBERS, input=x(2, 3, 4))
    yield from case("MatrixSetDiag", NUMBERS, input=x(2, 3, 4), diagonal=x(2, 3))
    for k, count in ((0, 3), (1, 3), (-2, 1)):
        for version in ("V2", "V3"):
            square = {"num_rows": -1, "num_cols": -1, "padding_value": Const(7)}
            yield from case(f"MatrixDiag{version}", diagonal=x(2, 3), k=k, **square)
            yield from case(f"MatrixDiagPart{version}", input=x(2, 3, 4), k=k, padding_value=Const(0))
            yield from case(f"MatrixSetDiag{version}", input=x(2, 3, 4), diagonal=x(2, count), k=k)
    for lower, upper in ((1, 0), (-1, 0), (0, -1), (-1, 1)):
        yield from case("MatrixBandPart", f"{NUMBERS} bool", input=x(2, 4, 5), num_lower=lower, num_upper=upper)


def indexing() -> Iterator[Case]:
    kinds = f"{NUMBERS} bool string"
    yield from case("GatherV2", kinds, params=x(5, 3), indices=ints(2, 2), axis=0)
    yield from case("GatherV2", params=x(2, 5, 3), indices=ints(2, 4, high=5), axis=1, batch_dims=1)
    yield from case("GatherV2", params=x(2, 3, 5, 4), indices=ints(2, 6, high=5), axis=2, batch_dims=1)
    yield from case("GatherV2", params=x(2, 3, 5, 4), indices=ints(3, high=4, dtype="int64"), axis=-1)
    yield from case("Gather", kinds, params=x(5, 3), indices=ints(2))
    yield from case("GatherNd", kinds, params=x(5, 3, 2), indices=own([[0, 1], [4, 2]], "int32"))
    places = own([[0], [3], [0]], "int32")
    yield from case("ScatterNd", NUMBERS, indices=places, updates=x(3, 2), shape=[5, 2])
    once = own([[0], [3], [1]], "int64")
    yield from case("TensorScatterUpdate", kinds, tensor=x(5, 2), indices=once, updates=x(3, 2, seed=4))
    for op in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
        yield from case(op, NUMBERS, tensor=x(5, 2), indices=places, updates=x(3, 2, seed=4))
    yield from case("ScatterNdNonAliasingAdd", NUMBERS, input=x(5, 2), indices=places, updates=x(3, 2))
    rows = own([0, 3], "int32")
    for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
        yield from case(op, x=x(5, 2), i=rows, v=x(2, 2, seed=4))
    parts = [own([0, 3], "int32"), own([[1], [2]], "int32")]
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        yield from case(op, NUMBERS, indices=parts, data=[x(2, 3), x(2, 1, 3)])
    yield from case("DynamicPartition", kinds, data=x(4, 2), partitions=own([0, 2, 0, 1], "int32"), num_partitions=3)
    yield from case("DynamicPartition", data=x(2, 2, 3), partitions=own([[0, 1], [0, 1]], "int32"), num_partitions=2)
    twice = In(np.array([3.0, 1, 3, 2, 1]))
    for op in ("Unique", "UniqueWithCounts"):
        yield from case(op, f"{NUMBERS} string", x=twice)
    rowwise = In(np.array([[3.0, 1], [3, 1], [2, 0]]))
    for op in ("UniqueV2", "UniqueWithCountsV2"):
        yield from case(op, NUMBERS, x=rowwise, axis=[0])
    yield from case("ListDiff", NUMBERS, x=twice, y=In(np.array([1.0, 7])))
    ordered = In(np.sort(rng(2, 5), axis=1))
    for op in ("LowerBound", "UpperBound"):
        yield from case(op, NUMBERS, sorted_inputs=ordered, values=x(2, 3))
    yield from case("Bucketize", NUMBERS, input=x(3, 4), boundaries=[-1.0, 0.0, 0.5])
    none = np.zeros(0, np.float32)
    yield from case("Bincount", arr=ints(7), size=6, weights=none)
    yield from case("Bincount", arr=ints(7), size=6, weights=x(7))
    yield from case("DenseBincount", input=ints(7), size=6, weights=none)
    yield from case("DenseBincount", input=ints(2, 7), size=6, weights=none, binary_output=True)
    yield from case("HistogramFixedWidth", FLOATS, values=x(20), value_range=Const([-1.5, 1.5]), nbins=5)


def segment() -> Iterator[Case]:
    ids = own([0, 0, 2, 2, 3], "int32")
    for op in ("SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"):
        yield from case(op, NUMBERS if op != "SegmentMean" else FLOATS, data=x(5, 2), segment_ids=ids)
    mixed = own([0, 3, -1, 0, 1], "int32")
    for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
        yield from case(op, NUMBERS, data=x(5, 2), segment_ids=mixed, num_segments=5)
    rows = own([4, 0, 1, 1, 3], "int32")
    for op in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        yield from case(op, FLOATS, data=x(5, 2), indices=rows, segment_ids=ids)
        yield from case(f"{op}WithNumSegments", data=x(5, 2), indices=rows, segment_ids=ids, num_segments=6)


def convolution() -> Iterator[Case]:
    for padding in ("SAME", "VALID"):
        for stride, spread in ((1, 1), (2, 1), (1, 2)):
            how = {"strides": [1, stride, stride, 1], "dilations": [1, spread, spread, 1], "padding": padding}
            yield from case("Conv2D", input=x(2, 7, 8, 3), filter=x(3, 2, 3, 5), **how)
            yield from case("DepthwiseConv2dNative", input=x(2, 7, 8, 3), filter=x(3, 3, 3, 2), **how)
            deep = {"strides": [1, stride, stride, stride, 1], "padding": padding}
            if spread == 1:
                yield from case("Conv3D", input=x(1, 5, 6, 7, 2), filter=x(2, 3, 2, 2, 3), **deep)
    yield from case(
        "Conv2D", "float32 float64", input=x(2, 7, 8, 4), filter=x(3, 2, 2, 6), strides=[1, 1, 1, 1], padding="SAME"
    )
    yield from case(
        "Conv2D",
        input=In(rng(2, 7, 8, 3), open=(0, 1, 2)),
        filter=x(3, 3, 3, 5),
        strides=[1, 2, 2, 1],
        padding="SAME",
    )
    yield from case(
        "Conv2D",
        input=x(2, 7, 8, 3),
        filter=x(3, 3, 3, 5),
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0],
    )
    for padding, size in (("SAME", 8), ("SAME", 7), ("VALID", 9), ("VALID", 10)):
        sizes = [2, size, size, 3]
        yield from case(
            "Conv2DBackpropInput",
            input_sizes=sizes,
            filter=x(3, 3, 3, 5),
            out_backprop=x(2, 4, 4, 5),
            strides=[1, 2, 2, 1],
            padding=padding,
        )
    yield from case(
        "Conv3DBackpropInputV2",
        input_sizes=[1, 6, 6, 6, 2],
        filter=x(3, 3, 3, 2, 4),
        out_backprop=x(1, 3, 3, 3, 4),
        strides=[1, 2, 2, 2, 1],
        padding="SAME",
    )


def pooling() -> Iterator[Case]:
    for padding in ("SAME", "VALID"):
        flat = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
        yield from case("MaxPool", "float32 float64", input=x(2, 7, 8, 3), **flat)
        yield from case("AvgPool", "float32 float64", value=x(2, 7, 8, 3), **flat)
        yield from case("MaxPoolWithArgmax", input=x(2, 7, 8, 3), **flat)
        yield from case("MaxPoolV2", input=x(2, 7, 8, 3), **flat)
        deep = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": padding}
        yield from case("MaxPool3D", input=x(1, 5, 6, 7, 2), **deep)
        yield from case("AvgPool3D", input=x(1, 5, 6, 7, 2), **deep)
    yield from case(
        "MaxPoolWithArgmax",
        input=x(2, 4, 4, 3),
        ksize=[1, 2, 2, 1],
        strides=[1, 2, 2, 1],
        padding="VALID",
        include_batch_in_index=True,
    )


def normalisation() -> Iterator[Case]:
    moments = {"scale": x(3), "offset": x(3, seed=3), "mean": x(3, seed=4), "variance": x(3, low=0.5)}
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        yield from case(op, x=x(2, 4, 5, 3), **moments, is_training=False)
    none = np.zeros(0, np.float32)
    spec = (tf.TensorSpec([2, 4, 5, 3], tf.float32), tf.TensorSpec([3], tf.float32))

    def training(image: Any, scale: Any) -> Any:
        made = tf.raw_ops.FusedBatchNormV3(
            x=image, scale=scale, offset=scale, mean=none, variance=none, is_training=True
        )
        return made.y, made.batch_mean, made.batch_variance

    arrays = (rng(2, 4, 5, 3).astype(np.float32), rng(3).astype(np.float32))
    yield Case("FusedBatchNormV3", "float32", training, arrays, spec)
    yield from case("LRN", input=x(2, 4, 5, 8), depth_radius=2, alpha=0.3, bias=1.5)


def matrix() -> Iterator[Case]:
    yield from case("MatMul", f"{HALVES} {WHOLE}", a=x(2, 3), b=x(3, 4))
    yield from case("MatMul", a=x(3, 2), b=x(4, 3), transpose_a=True, transpose_b=True)
    yield from case("BatchMatMul", FLOATS, x=x(2, 2, 3), y=x(2, 3, 4))
    yield from case("BatchMatMulV2", f"{FLOATS} {WHOLE}", x=x(2, 2, 3), y=x(3, 4))
    yield from case("BatchMatMulV2", x=x(2, 3, 2), y=x(2, 4, 3), adj_x=True, adj_y=True)
    yield from case("BatchMatMulV3", x=x(2, 2, 3), y=x(3, 4), Tout=tf.float32)
    yield from case("SparseMatMul", a=x(2, 3), b=x(3, 4))
    yield from case("Einsum", FLOATS, inputs=[x(2, 3, 4), x(4, 5)], equation="bij,jk->bik")
    yield from case("Einsum", inputs=[x(2, 3, 4), x(2, 5, 4)], equation="...ij,...kj->...ik")
    yield from case("MatrixDeterminant", FLOATS, input=x(2, 3, 3))
    yield from case("LogMatrixDeterminant", FLOATS, input=x(2, 3, 3))


def resize() -> Iterator[Case]:
    for size in ([7, 3], [3, 9], [5, 6]):
        for how in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
                yield from case(op, images=x(2, 5, 6, 3), size=size, **how)
        yield from case("ResizeArea", images=x(2, 5, 6, 3), size=size)
    yield from case("ResizeNearestNeighbor", "int32 uint8", images=x(2, 5, 6, 3), size=[7, 3])
    yield from case("ResizeBilinear", images=x(2, 5, 6, 3), size=own([7, 3], "int32"), half_pixel_centers=True)
    boxes = own([[0.1, 0.2, 0.8, 0.9], [0.5, 0.1, 0.2, 0.7], [-0.2, 0, 1.3, 1]], "float32")
    for method in ("bilinear", "nearest"):
        yield from case(
            "CropAndResize",
            image=x(2, 5, 6, 3),
            boxes=boxes,
            box_ind=own([0, 1, 1], "int32"),
            crop_size=[4, 3],
            method=method,
            extrapolation_value=2.5,
        )


def image() -> Iterator[Case]:
    colours = x(2, 3, 4, 3, low=0.0, high=1.0)
    yield from case("RGBToHSV", FLOATS, images=colours)
    yield from case("HSVToRGB", FLOATS, images=colours)
    yield from case("AdjustContrastv2", images=colours, contrast_factor=1.7)
    yield from case("AdjustSaturation", images=colours, scale=1.7)
    yield from case("AdjustHue", images=colours, delta=0.3)
    for padding in ("SAME", "VALID"):
        yield from case(
            "ExtractImagePatches",
            FLOATS,
            images=x(2, 6, 7, 2),
            ksizes=[1, 2, 3, 1],
            strides=[1, 2, 1, 1],
            rates=[1, 1, 2, 1],
            padding=padding,
        )
    corners = rng(8, 2, low=0.0, high=0.6)
    boxes = own(np.concatenate([corners, corners + 0.3], axis=1), "float32")
    scores = own(np.random.default_rng(3).permutation(8) / 8, "float32")
    limits = {"max_output_size": 5, "iou_threshold": 0.3}
    yield from case("NonMaxSuppression", boxes=boxes, scores=scores, max_output_size=5, iou_threshold=0.3)
    yield from case("NonMaxSuppressionV2", boxes=boxes, scores=scores, **limits)
    yield from case("NonMaxSuppressionV3", boxes=boxes, scores=scores, **limits, score_threshold=0.2)
    for padded in (False, True):
        more = {**limits, "score_threshold": 0.2, "pad_to_max_output_size": padded}
        yield from case("NonMaxSuppressionV4", boxes=boxes, scores=scores, **more)
        yield from case("NonMaxSuppressionV5", boxes=boxes, scores=scores, soft_nms_sigma=0.0, **more)
    several = own(np.stack([boxes.array, boxes.array[::-1]])[:, :, None], "float32")
    rated = own(np.random.default_rng(5).permutation(48).reshape(2, 8, 3) / 48, "float32")
    for each in (False, True):
        yield from case(
            "CombinedNonMaxSuppression",
            boxes=several,
            scores=rated,
            max_output_size_per_class=3,
            max_total_size=6,
            iou_threshold=0.3,
            score_threshold=0.2,
            pad_per_class=each,
        )


def strings() -> Iterator[Case]:
    texts = words("Hello, World", "", "a.b.c", "  two words ", "X")
    yield from case("StringJoin", inputs=[texts, words("1", "2", "3", "4", "5")], separator="-")
    yield from case("StringLower", input=texts)
    yield from case("StringUpper", input=texts)
    yield from case("StaticRegexFullMatch", input=texts, pattern="[a-z.]+")
    yield from case("RegexFullMatch", input=texts, pattern="[a-z.]+")
    yield from case("StaticRegexReplace", input=texts, pattern=r"[!,\.\-]", rewrite="")
    yield from case("StaticRegexReplace", input=texts, pattern=r"\.", rewrite="::")
    punctuation = "[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']"
    yield from case("StaticRegexReplace", input=words("it's (a) [b]-\\c_d?", "e"), pattern=punctuation, rewrite="")
    yield from case("RegexReplace", input=texts, pattern="l", rewrite="LL")
    yield from case("StringSplitV2", input=texts, sep="")
    yield from case("StringSplitV2", input=texts, sep=".")
    for kind in (tf.float32, tf.float64, tf.int32, tf.int64):
        yield from case("StringToNumber", string_tensor=words("1", "-2", "30"), out_type=kind)
    yield from case("AsString", f"{WHOLE} bool", input=x(2, 3))
    yield from case(
        "ReduceJoin",
        inputs=In(np.array([["a", "b"], ["c", ""]], object), own=True),
        reduction_indices=[1],
        separator="+",
    )


def quantisation() -> Iterator[Case]:
    for narrow in (False, True):
        for low, high in ((-1.3, 1.1), (0.2, 1.4), (-2.0, -0.4)):
            yield from case(
                "FakeQuantWithMinMaxArgs", inputs=x(3, 4), min=min(low, 0.0), max=max(high, 0.0), narrow_range=narrow
            )
            yield from case("FakeQuantWithMinMaxVars", inputs=x(3, 4), min=low, max=high, narrow_range=narrow)
    yield from case(
        "FakeQuantWithMinMaxVarsPerChannel",
        inputs=x(3, 2),
        min=own([-1, -0.5], "float32"),
        max=own([1, 0.2], "float32"),
    )
    for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
        yield from case(op, input=x(3, 4), input_min=-1.5, input_max=1.2, range_given=True)
        yield from case(op, input=x(3, 4), input_min=0.0, input_max=0.0)


def fourier() -> Iterator[Case]:
    yield from case("RFFT", FLOATS.split()[0], input=x(2, 8), fft_length=[8])
    yield from case("RFFT", input=x(2, 8), fft_length=[6])
    yield from case("RFFT2D", input=x(2, 6, 8), fft_length=[5, 8])
    spectrum = own(rng(2, 3, 5) + 1j * rng(2, 3, 5, seed=9), "complex64")
    for op in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"):
        yield from case(op, input=spectrum)
    yield from case("IRFFT", input=spectrum, fft_length=[8])
    yield from case("IRFFT", input=spectrum, fft_length=[7])
    yield from case("IRFFT2D", input=spectrum, fft_length=[3, 8])
    yield from case("Complex", real=x(2, 3), imag=x(3, seed=3))
    for op in ("Real", "Imag", "Conj", "Angle"):
        yield from case(op, input=spectrum)
    yield from case("ComplexAbs", x=spectrum)


def ragged() -> Iterator[Case]:
    splits = own([0, 2, 2, 5], "int64")
    yield from case(
        "RaggedTensorToTensor",
        f"{NUMBERS} string",
        shape=[-1, -1],
        values=x(5),
        default_value=In(np.array(1.0)),
        row_partition_tensors=[splits],
        row_partition_types=["ROW_SPLITS"],
    )
    yield from case(
        "RaggedTensorToTensor",
        shape=[-1, 2],
        values=x(5),
        default_value=In(np.array(1.0)),
        row_partition_tensors=[own(4, "int64"), own([0, 0, 2, 2, 2], "int64")],
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    )
    yield from case(
        "RaggedRange",
        "int32",
        starts=own([0, 5, 8], "int32"),
        limits=own([3, 5, 2], "int32"),
        deltas=own([1, 1, -2], "int32"),
    )
    yield from case(
        "RaggedGather",
        params_nested_splits=[splits],
        params_dense_values=x(5),
        indices=own([2, 0], "int32"),
        OUTPUT_RAGGED_RANK=1,
    )
    numbers = {"splits": splits, "values": ints(5), "size": 4}
    yield from case("RaggedBincount", **numbers, weights=np.zeros(0, np.float32))
    yield from case("RaggedBincount", **numbers, weights=x(5))
    yield from case("RaggedBincount", **numbers, weights=np.zeros(0, np.float32), binary_output=True)
    places = own([[0, 1], [2, 0]], "int64")
    yield from case(
        "SparseToDense",
        NUMBERS,
        sparse_indices=places,
        output_shape=np.array([3, 2]),
        sparse_values=x(2),
        default_value=Const(0),
    )
    yield from case(
        "SparseTensorDenseMatMul", a_indices=places, a_values=x(2), a_shape=np.array([3, 2], np.int64), b=x(2, 4)
    )
    yield from case(
        "SparseReshape", input_indices=places, input_shape=own([3, 2], "int64"), new_shape=own([2, -1], "int64")
    )


def lists() -> Iterator[Case]:
    """Lists and control flow, which single operators cannot show: each list operator in a small function."""
    data = rng(4, 3).astype(np.float32)
    spec = (tf.TensorSpec([4, 3], tf.float32),)
    flat = tf.constant([3])
    raw = tf.raw_ops

    def reserved() -> Any:
        return raw.TensorListReserve(element_shape=flat, num_elements=3, element_dtype=tf.float32)

    def of(tensor: Any) -> Any:
        return raw.TensorListFromTensor(tensor=tensor, element_shape=flat)

    def stacked(handle: Any) -> Any:
        return raw.TensorListStack(input_handle=handle, element_shape=flat, element_dtype=tf.float32)

    functions: dict[str, Callable[[Any], Any]] = {
        "TensorListReserve": lambda t: stacked(raw.TensorListSetItem(input_handle=reserved(), index=1, item=t[2])),
        "TensorListSetItem": lambda t: stacked(raw.TensorListSetItem(input_handle=of(t), index=1, item=t[3])),
        "TensorListFromTensor": lambda t: raw.TensorListLength(input_handle=of(t)),
        "TensorListStack": lambda t: stacked(of(t)),
        "TensorListLength": lambda t: raw.TensorListLength(input_handle=reserved()) + tf.size(t),
        "TensorListGetItem": lambda t: raw.TensorListGetItem(
            input_handle=of(t), index=2, element_shape=flat, element_dtype=tf.float32
        ),
        "EmptyTensorList": lambda t: stacked(
            raw.TensorListPushBack(
                input_handle=raw.EmptyTensorList(element_shape=flat, max_num_elements=-1, element_dtype=tf.float32),
                tensor=t[1],
            )
        ),
        "TensorListPushBack": lambda t: stacked(raw.TensorListPushBack(input_handle=of(t), tensor=t[1])),
        "TensorListPopBack": lambda t: (
            raw.TensorListPopBack(input_handle=of(t), element_shape=flat, element_dtype=tf.float32).tensor
        ),
        "TensorListResize": lambda t: stacked(raw.TensorListResize(input_handle=of(t), size=2)),
        "TensorListGather": lambda t: raw.TensorListGather(
            input_handle=of(t), indices=[2, 0], element_shape=flat, element_dtype=tf.float32
        ),
        "TensorListScatter": lambda t: stacked(
            raw.TensorListScatter(tensor=t, indices=[3, 1, 0, 2], element_shape=flat)
        ),
        "TensorListScatterV2": lambda t: stacked(
            raw.TensorListScatterV2(tensor=t, indices=[3, 1, 0, 2], element_shape=flat, num_elements=5)
        ),
        "TensorListScatterIntoExistingList": lambda t: stacked(
            raw.TensorListScatterIntoExistingList(input_handle=of(t), tensor=t[:2], indices=[3, 1])
        ),
        "TensorListConcat": lambda t: (
            raw.TensorListConcat(input_handle=of(t), element_dtype=tf.float32, element_shape=[3]).tensor
        ),
        "TensorListConcatV2": lambda t: (
            raw.TensorListConcatV2(
                input_handle=of(t), element_shape=flat, leading_dims=np.zeros(0, np.int64), element_dtype=tf.float32
            ).tensor
        ),
        "TensorListSplit": lambda t: raw.TensorListStack(
            input_handle=raw.TensorListSplit(
                tensor=t, element_shape=tf.constant([2, 3]), lengths=np.array([2, 2], np.int64)
            ),
            element_shape=tf.constant([2, 3]),
            element_dtype=tf.float32,
        ),
        "TensorListElementShape": lambda t: raw.TensorListElementShape(input_handle=of(t), shape_type=tf.int32),
    }
    for op, function in functions.items():
        yield Case(op, "float32", function, (data,), spec)


def control() -> Iterator[Case]:
    """Control flow as TensorFlow's own functions write it."""
    numbers = rng(3).astype(np.float32)
    spec = (tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32))
    functions: dict[str, Callable[..., Any]] = {
        "StatelessIf": lambda t, n: tf.cond(n > 1, lambda: t * 2.0, lambda: t + 1.0),
        "StatelessWhile": lambda t, n: tf.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s * 0.5 + t), [0, t]),
        "StatelessCase": lambda t, n: tf.switch_case(n, [lambda: t, lambda: t * 3.0, lambda: -t]),
        "PartitionedCall": lambda t, n: tf.function(lambda a: a + 1.0)(t) * tf.cast(n, tf.float32),
        "Assert": lambda t, n: (tf.debugging.assert_greater(n, -1), t)[1],
    }
    for op, function in functions.items():
        for n in (0, 2):
            yield Case(op, "float32", function, (numbers, np.array(n, np.int32)), spec)


def resources() -> Iterator[Case]:
    """Variables and tables, which the functions capture."""
    weights = tf.Variable(rng(5, 3).astype(np.float32))
    places = (whole(2, 2, high=3).astype(np.int32),)
    spec = (tf.TensorSpec([2, 2], tf.int32),)
    raw = tf.raw_ops
    functions: dict[str, Callable[..., Any]] = {
        "ReadVariableOp": lambda i: tf.gather(weights.read_value(), i),
        "ResourceGather": lambda i: raw.ResourceGather(resource=weights.handle, indices=i, dtype=tf.float32),
        "ResourceGatherNd": lambda i: raw.ResourceGatherNd(resource=weights.handle, indices=i, dtype=tf.float32),
        "VarIsInitializedOp": lambda i: (i, raw.VarIsInitializedOp(resource=weights.handle)),
        "VariableShape": lambda i: i[0] + raw.VariableShape(input=weights.handle),
        "If": lambda i: raw.If(
            cond=i[0, 0] > 1,
            input=[i],
            Tout=[tf.int32],
            then_branch=_traced(lambda a: a + 1),
            else_branch=_traced(lambda a: -a),
        ),
        "Case": lambda i: raw.Case(
            branch_index=i[0, 0], input=[i], Tout=[tf.int32], branches=[_traced(lambda a: a + 1), _traced(lambda a: -a)]
        ),
        "While": lambda i: raw.While(
            input=[i], cond=_traced(lambda a: tf.reduce_sum(a) < 100), body=_traced(lambda a: a * 2 + 1)
        ),
        "StatefulPartitionedCall": lambda i: raw.StatefulPartitionedCall(
            args=[i], Tout=[tf.int32], f=_traced(lambda a: a * 2 + 1)
        ),
    }
    for op, function in functions.items():
        yield Case(op, "int32", function, places, spec)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b", "c"]), tf.constant([5, 6, 7], tf.int64)), -1
    )
    texts = (np.array(["a", "x", "c"], object),)
    yield Case("LookupTableFindV2", "string", lambda t: table.lookup(t), texts, (tf.TensorSpec([3], tf.string),))
    back = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant(["one", "two"])), "?"
    )
    numbers = (np.array([2, 9, 1], np.int64),)
    yield Case("LookupTableFindV2", "int64", lambda t: back.lookup(t), numbers, (tf.TensorSpec([3], tf.int64),))
    yield Case("LookupTableSizeV2", "string", lambda t: (t, table.size()), texts, (tf.TensorSpec([3], tf.string),))
    yield Case("LookupTableExportV2", "string", lambda t: (t, *table.export()), texts, (tf.TensorSpec([3], tf.string),))


def _traced(function: Callable[..., Any]) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([2, 2], tf.int32))


FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    arithmetic,
    elementwise,
    activation,
    comparison,
    reduction,
    view,
    creation,
    diagonal,
    indexing,
    segment,
    convolution,
    pooling,
    normalisation,
    matrix,
    resize,
    image,
    strings,
    quantisation,
    fourier,
    ragged,
    lists,
    control,
    resources,
)
