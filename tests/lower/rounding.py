"""How far two computations of a model may be apart: a running bound on rounding, node by node.

Two providers start from the same inputs. After each node the bound says how far apart its results can be: what the
bounds of its inputs become under the node, and what the node itself rounds. With eps the spacing of the result's
element type at one, and F a function that grows with its arguments where these are not negative:

- results that are taken from inputs (views, choices, extremes): the same choice of the inputs' bounds;
- sums of products over d elements, F(x): F(|x| + bound) - F(|x|) + (d + 4) eps F(|x|);
- smooth functions with slope up to L: L bound + 8 eps (1 + |result|);
- division, roots, logarithms, softmax, normalisation: by their derivatives, written out below.

Floats of 16 bits are computed with in float32 and rounded once a node, which adds one spacing of theirs to what float32
gives; passes may take nodes together, so that for what they made, eps is that of the 16 bits all along.

Single operations that IEEE 754 rounds to the nearest are the same for everybody: equal inputs give equal results, with
the bound zero. A value whose bound is infinite says nothing: it is near a pole, or an overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.ir import Model, Node, Value
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation

_TAKEN = {
    "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Concat", "Split", "Expand", "Tile", "Pad",
    "Gather", "GatherElements", "Where", "Identity", "MaxPool", "GlobalMaxPool", "ReduceMax",
    "Floor", "Ceil", "Round", "Sign", "GatherND", "Trilu", "OneHot", "DepthToSpace", "SpaceToDepth", "Resize", "TopK",
    "Compress", "ConstantOfShape", "CastLike",
}  # fmt: skip
_NEAREST = {"Add", "Sub", "Mul", "Div", "Sqrt", "Cast", "LeakyRelu", "Reciprocal", "DequantizeLinear"}
_SCATTERS = {"ScatterND", "ScatterElements"}
_GROWING = {
    "Add", "Sub", "Mul", "MatMul", "Gemm", "Einsum", "Conv", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1",
    "ReduceL2", "ReduceSumSquare", "CumSum", "AveragePool", "GlobalAveragePool", "LeakyRelu", "Sum", "Mean", "Pow",
}  # fmt: skip
_MULTIPLYING = {"Mul", "MatMul", "Gemm", "Einsum", "Conv"}
_TERMS = 1024
"""Terms of the longest sums of products that are drawn."""

_NOT_FAR = {"Max", "Min", "Clip", "Relu", "Abs", "Neg", "ReduceMin", "ThresholdedRelu"}
_SLOPES = {
    "Sigmoid": 0.25, "Tanh": 1, "Erf": 1.13, "Softplus": 1, "Softsign": 1, "Gelu": 1.13, "Elu": 1, "Selu": 1.76,
    "Celu": 1, "HardSigmoid": 0.2, "HardSwish": 1.5, "Mish": 1.1, "Sin": 1, "Cos": 1, "Atan": 1, "Asinh": 1,
    "Swish": 1.1,
}  # fmt: skip

Floats = np.ndarray[Any, np.dtype[np.float64]]


def bounds(model: Model, values: Mapping[Value, Any], *, nearest: bool = True) -> dict[Value, Floats]:
    """The bound of every element of every value, for what `values` hold.

    Without `nearest`, nodes are taken to round differently even where IEEE 754 leaves no choice: they may be computed
    in another order.
    """
    found: dict[Value, Floats] = {}
    for value in (*model.graph.inputs, *model.graph.initializers.values()):
        found[value] = np.zeros(np.shape(values[value]))
    evaluation = Evaluation(model, standard())
    for node in model.graph:
        with np.errstate(all="ignore"):
            for value, bound in zip(
                node.outputs, _Node(node, values, found, evaluation, nearest).bounds(), strict=True
            ):
                found[value] = np.where(np.isnan(bound), np.inf, bound)
    return found


class _Node:
    def __init__(
        self,
        node: Node,
        values: Mapping[Value, Any],
        found: Mapping[Value, Floats],
        evaluation: Evaluation,
        nearest: bool,
    ) -> None:
        self.node = node
        self.evaluation = evaluation
        self.inputs = [value for value in node.inputs if value is not None]
        self.kept = {value: np.asarray(values[value]) for value in self.inputs}
        self.x = {value: self.kept[value].astype(np.float64) for value in self.inputs}
        self.e = {value: found[value] for value in self.inputs}
        self.outputs = [np.asarray(values[value]) for value in node.outputs]
        self.y = self.outputs[0].astype(np.float64)
        self.nearest = nearest
        self.floating = _floating(self.outputs[0].dtype)
        self.unit = _eps(self.outputs[0].dtype) if self.floating else 0.0
        self.eps = min(self.unit, 2.0**-23) if nearest else self.unit
        self.least = _least(self.outputs[0].dtype) if self.floating else 0.0

    def bounds(self) -> list[Floats]:
        op = self.node.op_type
        if not self.floating:
            return [np.zeros(each.shape) for each in self.outputs]
        equal = all(not self.e[value].any() for value in self.inputs)
        combines = str(self.node.attributes["reduction"].value) if op in _SCATTERS else "none"
        taken = op in _TAKEN or op in _NOT_FAR or (op in _SCATTERS and combines != "add")
        if equal and (taken or (op in _NEAREST and self.nearest)):
            return [np.zeros(each.shape) for each in self.outputs]
        if op in _TAKEN or (op in _SCATTERS and combines == "none"):
            return self._of(self.e)
        if op in _SCATTERS and combines != "add":
            most = max(float(np.max(self.e[value], initial=0)) for value in self.inputs)
            return [np.full(self.y.shape, most)]
        bound = self._rule(op)(self)
        if self.unit > self.eps:
            bound = bound + self.unit * (np.abs(self.y) + bound)
        bound = bound + 2 * self.least
        if op in _MULTIPLYING:  # instructions for pairs of bfloat16 give zero for sums that are subnormal, too
            bound = bound + _TERMS * _flushed(self.outputs[0].dtype)
        largest = _largest(self.outputs[0].dtype)
        bound = np.where(np.abs(self.y) + bound > largest / 2, np.inf, bound)
        # Operators that passes recognise have rules of their own: an Attention that sees nothing is 0, a softmax NaN.
        if self.nearest and not np.isfinite(self.y).all():
            bound = np.where(~np.isfinite(self.y) & self._settled(op), 0, bound)
        return [bound]

    def _settled(self, op: str) -> Any:
        """Where a result that is no finite number is none because an input is none, in whatever order it is computed.

        What is finite must not overflow on its own. A product may become zero before it meets an infinity.
        """
        if op == "ReduceProd":
            return False
        if op in _GROWING or op in _SCATTERS:
            finite = {
                value: np.where(np.isfinite(x) | np.isinf(self.e[value]), np.abs(x) + self.e[value], 0)
                for value, x in self.x.items()
            }
            if op == "Sub":
                rest = sum(finite.values())
            else:
                (rest,) = self._of(finite)
            return (rest < np.sqrt(_largest(self.outputs[0].dtype))) & ~self._meets_a_doubtful_zero(op)
        given = [(self.x[value], self.e[value]) for value in self.inputs if _floating(self.kept[value].dtype)]
        if op in _ALONG:
            axes = _along(self)
            odd = np.any(~np.isfinite(given[0][0]), axes, keepdims=True)
            calm = np.max(np.where(np.isfinite(given[0][0]), np.abs(given[0][0]), 0) + given[0][1], axes, keepdims=True)
            return odd & (calm < np.sqrt(_largest(self.outputs[0].dtype)))
        if op.startswith("Reduce") or not (op in _SLOPES or op in _RULES or op in _NOT_FAR):
            return False
        if op in ("BatchNormalization", "InstanceNormalization", "GroupNormalization"):  # numbers for each channel
            ones = (1,) * (self.y.ndim - 2)
            given = [given[0], *((x.reshape(-1, *ones), e.reshape(-1, *ones)) for x, e in given[1:])]
        odd = np.any([np.broadcast_to(~np.isfinite(x), self.y.shape) for x, _ in given], axis=0)
        return odd & np.all([np.broadcast_to(e == 0, self.y.shape) for _, e in given], axis=0)

    def _meets_a_doubtful_zero(self, op: str) -> Any:
        """Where an infinity is multiplied by what may be zero or not: a weight that is too small for 16 bits, say.

        Instructions that multiply bfloat16 take subnormals for zero.
        """
        if op not in _MULTIPLYING:
            return False
        flushed = {value: _flushed(self.kept[value].dtype) for value in self.x}
        may_be_zero = {
            value: (np.abs(x) <= self.e[value]) & (self.e[value] > 0) | (np.abs(x) < flushed[value]) & (x != 0)
            for value, x in self.x.items()
        }
        doubtful = {value: each.astype(np.float64) for value, each in may_be_zero.items()}
        infinite = {value: np.isinf(x).astype(np.float64) for value, x in self.x.items()}
        factors, added = self.inputs[:2], {value: np.zeros(x.shape) for value, x in self.x.items()}
        meets: Any = False
        for value in factors:
            numbers = {other: (doubtful if other is value else infinite)[other] for other in factors}
            (both,) = self._of({**added, **numbers})
            meets = meets | (both > 0)
        return meets

    def _rule(self, op: str) -> Callable[[_Node], Floats]:
        if op in _GROWING or op in _SCATTERS:
            return _grown
        if op in _NOT_FAR:
            return _not_far
        if op in _SLOPES:
            return lambda self: _SLOPES[op] * self.only + 8 * self.eps * (1 + np.abs(self.y))
        return _RULES[op]

    @property
    def only(self) -> Floats:
        return self.e[self.inputs[0]]

    def _of(self, numbers: Mapping[Value, Floats]) -> list[Floats]:
        """What the node makes of other numbers, where it had floats; indices and the like stay."""
        given: dict[Value, Any] = {
            value: numbers[value] if _floating(self.kept[value].dtype) else self.kept[value] for value in self.inputs
        }
        if self.node.applies("Resize"):  # the others say how large the result is
            given.update({value: self.kept[value] for value in self.inputs[1:]})
        found = self.evaluation.step(self.node, given)
        return [np.asarray(each).astype(np.float64) for each in found[: len(self.outputs)]]


def _grown(node: _Node) -> Floats:
    sizes = {value: np.abs(x) for value, x in node.x.items()}
    apart = {value: sizes[value] + node.e[value] for value in node.inputs}
    if node.node.op_type == "Sub":
        a, b = node.inputs
        before, after = sizes[a] + sizes[b], apart[a] + apart[b]
    else:
        (before,), (after,) = node._of(sizes), node._of(apart)
    bound = np.asarray(np.maximum(after - before, 0) + (_depth(node) + 4) * node.eps * after)
    # Kernels and onnxruntime multiply in the type of the elements, the reference in a wider one: a part of a product
    # may overflow or vanish where the whole does not.
    if node.node.op_type == "ReduceProd":
        (large,), (small,) = (node._of({v: far(x, 1) for v, x in sizes.items()}) for far in (np.maximum, np.minimum))
        fine = (large < _largest(node.outputs[0].dtype)) & ((small == 0) | (small > 2.0**23 * node.least))
        bound = np.where(fine, bound, np.inf)
    return bound


def _depth(node: _Node) -> float:
    """An upper bound on how many elements make one result."""
    op = node.node.op_type
    if op in ("Add", "Sub", "Mul", "LeakyRelu"):
        return 0
    if op in ("Sum", "Mean", "Pow"):
        return 4
    first = node.x[node.inputs[0]]
    if op in ("MatMul", "Gemm", "Einsum"):
        return float(max(first.shape, default=1)) ** (2 if op == "Einsum" else 1)
    if op == "Conv":
        return float(node.x[node.inputs[1]][:1].size)
    return float(max(1, first.size // max(1, node.y.size))) if op != "CumSum" else float(max(first.shape, default=1))


def _not_far(node: _Node) -> Floats:
    if node.node.op_type == "ReduceMin":
        return np.broadcast_to(np.max(node.only, initial=0), node.y.shape)
    shape = node.y.shape
    together = [np.broadcast_to(node.e[value], shape) for value in dict.fromkeys(node.inputs)]
    if node.node.op_type == "ThresholdedRelu":
        x, e = node.x[node.inputs[0]], node.only
        return np.where((np.abs(x - 1) <= e) & (e > 0), np.inf, e)
    return np.asarray(np.max(np.stack(together), axis=0))


def _divided(node: _Node) -> Floats:
    op = node.node.op_type
    b, eb = node.x[node.inputs[-1]], node.e[node.inputs[-1]]
    ea = node.e[node.inputs[0]] if op == "Div" else np.zeros(())
    least = np.abs(b) - eb
    bound = (ea + np.abs(node.y) * eb) / least + 2 * node.eps * np.abs(node.y)
    return np.where(least <= 0, np.inf, bound)


_ALONG = {"Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization"}


def _along(node: _Node) -> tuple[int, ...]:
    rank, axis = node.y.ndim, _axis(node)
    return (axis % rank,) if node.node.op_type.endswith("Softmax") else tuple(range(axis % rank, rank))


def _exp(node: _Node) -> Floats:
    return node.y * (np.expm1(node.only) + 8 * node.eps * (1 + np.abs(node.x[node.inputs[0]])))


def _between(function: Callable[[Floats], Floats]) -> Callable[[_Node], Floats]:
    def rule(node: _Node) -> Floats:
        x = node.x[node.inputs[0]]
        low, high = x - node.only, x + node.only
        bound = function(high) - function(low) + 4 * node.eps * (1 + np.abs(node.y))
        return np.where((low <= 0) & (node.only > 0), np.inf, bound)

    return rule


def _softmax(node: _Node) -> Floats:
    axis = _axis(node)
    x = node.x[node.inputs[0]]
    if not x.size:
        return np.zeros(x.shape)
    e = np.max(node.only, axis, keepdims=True)
    most = np.max(x, axis, keepdims=True)
    least = np.min(np.where(np.isneginf(x), most, x), axis, keepdims=True)  # minus infinity adds nothing
    spread = most - least
    rounded = (x.shape[axis] + 16 + 2 * spread) * node.eps
    if node.node.op_type == "Softmax":
        if node.unit > node.eps:  # of 16 bits, every step is rounded
            rounded = rounded + (8 + spread) * node.unit
        # in a kernel of attention, what would be no normal number is the least one
        least = 2 * float(np.finfo(np.float64 if x.dtype == np.float64 and node.eps < 1e-9 else np.float32).tiny)
        return np.asarray(node.y * (np.expm1(2 * e) + rounded) + np.where((node.y > 0) & (node.y < least), least, 0))
    return np.asarray(2 * e + rounded * (1 + np.abs(node.y)))


def _axis(node: _Node) -> int:
    axis = node.node.attributes["axis"].value
    assert isinstance(axis, int)
    return axis


def _log_sum_exp(node: _Node) -> Floats:
    x = node.x[node.inputs[0]]
    e, most = np.max(node.only, initial=0), np.max(np.abs(x), initial=0)
    return np.broadcast_to(2 * e + node.eps * (x.size + 16) * (1 + most), node.y.shape)


def _layer_normalization(node: _Node) -> Floats:
    first = node.node.inputs[0]
    assert first is not None
    x = node.x[first]
    axes = tuple(range(_axis(node) % x.ndim, x.ndim))
    return _normalised(node, axes, _stashed(node), centred=node.node.op_type == "LayerNormalization")


def _stashed(node: _Node) -> float:
    """The spacing of float32, or of the type if that is coarser: the standard's default of `stash_type` is float32."""
    return max(node.eps, 2.0**-23)


def _instance_normalization(node: _Node) -> Floats:
    return _normalised(node, tuple(range(2, node.y.ndim)), node.eps, by_channel=True)


def _group_normalization(node: _Node) -> Floats:
    groups = node.node.attributes["num_groups"].value
    assert isinstance(groups, int)
    return _normalised(node, tuple(range(2, node.y.ndim + 1)), _stashed(node), by_channel=True, groups=groups)


def _normalised(
    node: _Node,
    axes: tuple[int, ...],
    eps: float,
    *,
    by_channel: bool = False,
    centred: bool = True,
    groups: int | None = None,
) -> Floats:
    """Of elements less their mean over their deviation, times a scale, plus a bias; eps is of what that is found in."""
    shape = node.y.shape
    if not node.y.size:
        return np.zeros(shape)
    x, e = node.x[node.node.inputs[0]], node.e[node.node.inputs[0]]  # type: ignore[index]
    if groups is not None:
        grouped = (shape[0], groups, shape[1] // groups, *shape[2:])
        x, e = x.reshape(grouped), e.reshape(grouped)
    count = float(np.prod([x.shape[each] for each in axes]))
    middle = np.mean(x, axes, keepdims=True) if centred else np.zeros(())
    deviation = np.sqrt(np.mean((x - middle) ** 2, axes, keepdims=True) + 1e-5)
    most = np.max(np.abs(x), axes, keepdims=True)
    shift = (2 * np.max(e, axes, keepdims=True) + (count + 16) * eps * most) / deviation
    normal = (np.abs(x - middle) / deviation).reshape(shape)
    shift = np.broadcast_to(shift, x.shape).reshape(shape)
    parts = []
    for value in node.node.inputs[1:]:
        assert value is not None
        parts += [np.abs(node.x[value]), node.e[value]]
    if by_channel:
        parts = [each.reshape(-1, *[1] * (len(shape) - 2)) for each in parts]
    s, es, *bias = parts
    bound = (s + es) * 4 * shift * (1 + normal) + es * normal + 4 * eps * (np.abs(node.y) + s * normal)
    if bias:
        bound = bound + bias[1] + 4 * node.eps * bias[0]
    if node.unit > eps:  # what is normalised is rounded to its type before it is scaled, as the standard has it
        bound = bound + node.unit * (s + es) * (normal + shift)
    return np.where(shift > 0.1, np.inf, bound)


def _batch_normalization(node: _Node) -> Floats:
    """Of constants for scale, bias, mean and variance."""
    first, *others = node.inputs
    s, b, mean, variance = (node.x[each].reshape(-1, *[1] * (node.y.ndim - 2)) for each in others)
    factor = np.abs(s) / np.sqrt(variance + 1e-5)
    return np.asarray(factor * (node.only + 16 * node.eps * (np.abs(node.x[first]) + np.abs(mean)))) + (
        16 * node.eps * np.abs(b)
    )


def _slope(node: _Node) -> Floats:
    x, s = (node.x[each] for each in node.inputs)
    ex, es = (node.e[each] for each in node.inputs)
    return np.asarray((ex + 4 * node.eps * np.abs(x)) * np.maximum(1, np.abs(s) + es) + np.abs(x) * es)


def _dequantised(node: _Node) -> Floats:
    return 4 * node.eps * np.abs(node.y)


def _cast(node: _Node) -> Floats:
    return node.only + node.unit * (np.abs(node.y) + node.only)


_RULES: dict[str, Callable[[_Node], Floats]] = {
    "Div": _divided, "Reciprocal": _divided, "Exp": _exp, "Sqrt": _between(np.sqrt), "Log": _between(np.log),
    "Softmax": _softmax, "LogSoftmax": _softmax, "ReduceLogSumExp": _log_sum_exp,
    "LayerNormalization": _layer_normalization, "RMSNormalization": _layer_normalization, "Cast": _cast,
    "InstanceNormalization": _instance_normalization, "GroupNormalization": _group_normalization,
    "BatchNormalization": _batch_normalization, "PRelu": _slope, "DequantizeLinear": _dequantised,
}  # fmt: skip


def _floating(dtype: np.dtype[Any]) -> bool:
    return DType.of(dtype) in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)


_PRECISION = {DType.FLOAT16: (10, -24, 65504.0), DType.BFLOAT16: (7, -133, 3.38e38), DType.FLOAT32: (23, -149, 3.4e38)}


def _eps(dtype: np.dtype[Any]) -> float:
    return float(2.0 ** -_PRECISION.get(DType.of(dtype), (52, -1074, 1.79e308))[0])


def _flushed(dtype: np.dtype[Any]) -> float:
    """The size below which a number may be taken for zero in a product."""
    return 2.0**-126 if dtype.name == "bfloat16" else 0.0


def _least(dtype: np.dtype[Any]) -> float:
    return float(2.0 ** _PRECISION.get(DType.of(dtype), (52, -1074, 1.79e308))[1])


def _largest(dtype: np.dtype[Any]) -> float:
    return float(_PRECISION.get(DType.of(dtype), (52, -1074, 1.79e308))[2])
