"""Which channels of a model anything depends on, found by following them from the products that compute them.

A product with a constant weight computes channels; elementwise operators, normalisations, pools and concatenations
pass them on; another product reads them. A reader depends on a channel unless its weights for it are all zero, or the
channel is zero in every run. An operator without a rule, and an output of the model, depend on all that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.infer.driver import Facts
from ingot.infer.evaluated import computed
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.sort import reads
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.pruning.channels import UNKNOWN, Channels, Numbering
from ingot.queries.values import dtype, integers, rank, read, shape

ELEMENTWISE = (
    "Abs", "Add", "Celu", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Max",
    "Min", "Mish", "Mul", "Neg", "PRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Sub", "Tanh",
)  # fmt: skip
_POOLS = ("AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool", "MaxPool")
_REDUCTIONS = ("ReduceMax", "ReduceMean", "ReduceSum")


@dataclass(frozen=True, slots=True)
class Cut:
    """An axis of a constant, input `position` of a node, whose entries are those of channels."""

    node: Node
    position: int
    axis: int
    ids: Array


@dataclass(frozen=True, slots=True)
class Trace:
    """The channels of a model, and what has to change with them."""

    numbering: Numbering
    values: Mapping[Value, Channels]
    computed: Mapping[Node, Array]
    """The channels that a product computes, by its node."""
    cuts: tuple[Cut, ...]
    depthwise: Mapping[Node, Array]
    """Convolutions of one channel each: their attribute `group` is the number of channels."""
    sized: tuple[tuple[Node, int, Array], ...]
    """Reshapes whose shape has the number of entries of channels at a place."""


def trace(model: Model, facts: Facts) -> Trace:
    """The channels of the values of a model's own graph, and which of them it depends on."""
    tracing = _Tracing(model, facts)
    for node in model.graph:
        tracing.node(node)
    for value in model.graph.outputs:
        tracing.need(value)
    return tracing.result()


class _Tracing:
    def __init__(self, model: Model, facts: Facts) -> None:
        self._model = model
        self._graph: Graph = model.graph
        self._facts = facts
        self._catalog = standard()
        self._numbering = Numbering()
        self._values: dict[Value, Channels] = {}
        self._computed: dict[Node, Array] = {}
        self._cuts: list[Cut] = []
        self._depthwise: dict[Node, Array] = {}
        self._sized: list[tuple[Node, int, Array]] = []

    def result(self) -> Trace:
        return Trace(
            self._numbering, self._values, self._computed, tuple(self._cuts), self._depthwise, tuple(self._sized)
        )

    def node(self, node: Node) -> None:
        """Follow channels through a node; where that is not possible, it depends on all of them."""
        cuts, sized = len(self._cuts), len(self._sized)
        rule = node.rule_in(_RULES)
        out = rule(self, node) if rule is not None and len(node.outputs) == 1 else None
        if out is not None:
            self._values[node.output] = out
            return
        del self._cuts[cuts:], self._sized[sized:]
        for value in reads(node):
            self.need(value)

    def need(self, value: Value) -> None:
        """Depend on all channels of a value."""
        if value in self._values:
            self._numbering.need(self._values[value].ids.tolist())

    def convolution(self, node: Node) -> Channels | None:
        weight, bias = self._constant(node, 1), self._bias(node, 2)
        if weight is None or bias is None:
            return None
        groups = int(node.get("group", 1))
        entering = self._entering(node, 1)
        if groups != 1:
            return self._depthwise_convolution(node, weight, bias, groups, entering)
        outer, inner = (0, 1) if node.applies("Conv") else (1, 0)
        return self._product(node, weight, outer, inner, bias, entering, 1, {2: 0})

    def gemm(self, node: Node) -> Channels | None:
        weight, entering = self._constant(node, 1), self._entering(node, 1)
        outer = 0 if node.get("transB", 0) else 1
        if weight is None or node.get("transA", 0):
            return None
        if read(node, 2) is None:
            return self._product(node, weight, outer, 1 - outer, np.zeros(()), entering, 1, {})
        addend = self._constant(node, 2)
        if addend is None:
            return None
        wide = addend.ndim > 0 and addend.shape[-1] == weight.shape[outer]
        alike = addend.size == 1 or (wide and addend.size == weight.shape[outer])
        bias = addend.reshape(-1) * node.get("beta", 1.0) if alike else np.asarray(UNKNOWN)
        cuts = {2: addend.ndim - 1} if wide and addend.size > 1 else {}
        return self._product(node, weight, outer, 1 - outer, bias, entering, 1, cuts)

    def matmul(self, node: Node) -> Channels | None:
        weight, axes = self._constant(node, 1), rank(node.inputs[0], self._facts)
        if weight is None or weight.ndim != 2 or axes is None or axes < 2:
            return None
        return self._product(node, weight, 1, 0, np.zeros(()), self._entering(node, axes - 1), axes - 1, {})

    def normalisation(self, node: Node) -> Channels | None:
        entering = self._entering(node, 1)
        parts = [self._constant(node, position) for position in (1, 2, 3, 4)]
        if entering is None or node.get("training_mode", 0) or any(part is None for part in parts):
            return None
        scale, shift, mean, variance = (np.asarray(part, np.float64) for part in parts)
        if scale.shape != (entering.width,):
            return None
        factor = scale / np.sqrt(variance + node.get("epsilon", 1e-5))
        constants = np.where(scale == 0, shift, (entering.constants - mean) * factor + shift)
        self._cuts += [Cut(node, position, 0, entering.ids) for position in (1, 2, 3, 4)]
        return Channels(1, entering.ids, constants)

    def elementwise(self, node: Node) -> Channels | None:
        ranks = [0 if value is None else rank(value, self._facts) for value in node.inputs]
        if any(each is None for each in ranks):
            return None
        known = [each for each in ranks if each is not None]
        most = max(known)
        tracked = {
            place: self._values[value].moved(self._values[value].axis + most - known[place])
            for place, value in enumerate(node.inputs)
            if value is not None and value in self._values
        }
        if not tracked:
            return None
        first = next(iter(tracked.values()))
        if any((other.axis, other.width) != (first.axis, first.width) for other in tracked.values()):
            return None
        operands: list[Array | None] = []
        for place, value in enumerate(node.inputs):
            if place in tracked:
                operands.append(tracked[place].constants)
            elif value is None:
                operands.append(None)
            else:
                axis = first.axis - (most - known[place])
                operand = self._operand(node, place, axis, first)
                if operand is None:
                    return None
                operands.append(operand)
        for other in tracked.values():
            self._numbering.join(first.ids, other.ids)
        return Channels(first.axis, first.ids, self._evaluated(node, operands, first.width))

    def pool(self, node: Node) -> Channels | None:
        entering = self._entering(node, 1)
        return None if entering is None else entering.computed()

    def reduction(self, node: Node) -> Channels | None:
        entering = None if node.inputs[0] is None else self._values.get(node.inputs[0])
        axes, count = integers(read(node, 1), self._facts), rank(node.inputs[0], self._facts)
        if entering is None or not axes or count is None:
            return None
        reduced = {axis % count for axis in axes}
        if entering.axis in reduced:
            return None
        gone = 0 if node.get("keepdims", 1) else sum(axis < entering.axis for axis in reduced)
        return entering.computed().moved(entering.axis - gone)

    def flattening(self, node: Node) -> Channels | None:
        """Flatten, and a Reshape that does the same: each channel becomes as many entries as it has places."""
        entering, sizes = self._entering(node, 1), shape(node.inputs[0], self._facts)
        after = rank(node.output, self._facts)
        if entering is None or sizes is None or after != 2:
            return None
        inner = sizes[2:]
        if not all(isinstance(size, int) for size in inner):
            return None
        places = int(np.prod([size for size in inner if isinstance(size, int)], dtype=np.int64))
        ids, constants = np.repeat(entering.ids, places), np.repeat(entering.constants, places)
        if node.applies("Flatten"):
            return Channels(1, ids, constants) if node.get("axis", 1) == 1 else None
        target = self._constant(node, 1)
        rows = shape(node.output, self._facts)
        if target is None or rows is None or rows[0] != sizes[0] or rows[1] != len(ids):
            return None
        if int(target[1]) > 0:
            self._sized.append((node, 1, ids))
        return Channels(1, ids, constants)

    def transposition(self, node: Node) -> Channels | None:
        entering = None if node.inputs[0] is None else self._values.get(node.inputs[0])
        order = node.get("perm")
        return None if entering is None or order is None else entering.moved(list(order).index(entering.axis))

    def resizing(self, node: Node) -> Channels | None:
        """Resize by scales, of which that of the channels is one."""
        entering, scales = self._entering(node, 1), self._constant(node, 2)
        alone = entering is not None and read(node, 3) is None and "axes" not in node
        alone &= node.get("coordinate_transformation_mode") != "tf_crop_and_resize"  # which fills in another number
        return entering.computed() if alone and entering and scales is not None and scales[1:2] == 1 else None

    def padding(self, node: Node) -> Channels | None:
        """Pad beside the channels, not among them."""
        entering, ends = self._entering(node, 1), integers(read(node, 1), self._facts)
        if entering is None or ends is None or read(node, 3) is not None:
            return None
        value = self._bias(node, 2)
        plain = node.get("mode", "constant") != "constant" or (value is not None and not value.any())
        return entering.computed() if plain and not (ends[1] or ends[1 + len(ends) // 2]) else None

    def identity(self, node: Node) -> Channels | None:
        return None if node.inputs[0] is None else self._values.get(node.inputs[0])

    def concatenation(self, node: Node) -> Channels | None:
        count = rank(node.output, self._facts)
        parts = [self._values.get(value) for value in node.inputs if value is not None]
        known = [part for part in parts if part is not None]
        if count is None or not known:
            return None
        axis = int(node.get("axis", 0)) % count
        if any(part.axis != known[0].axis for part in known):
            return None
        if axis != known[0].axis:
            if len(known) != len(parts) or any(part.width != known[0].width for part in known):
                return None
            for part in known[1:]:
                self._numbering.join(known[0].ids, part.ids)
            alike = np.all([part.constants == known[0].constants for part in known], axis=0)
            return Channels(known[0].axis, known[0].ids, np.where(alike, known[0].constants, UNKNOWN))
        pieces: list[Channels] = []
        for value, channels in zip(node.inputs, parts, strict=True):
            piece = self._unremovable(value, axis) if channels is None else channels
            if piece is None:
                return None
            pieces.append(piece)
        ids = np.concatenate([piece.ids for piece in pieces])
        return Channels(axis, ids, np.concatenate([piece.constants for piece in pieces]))

    def _product(
        self,
        node: Node,
        weight: Array,
        outer: int,
        inner: int,
        bias: Array,
        entering: Channels | None,
        axis: int,
        cuts: Mapping[int, int],
    ) -> Channels | None:
        """What a product computes along `axis`: its weight has channels along `outer`, and reads those along `inner`.

        `cuts` are the axes of other constants that have a number for each channel, by position.
        """
        nonzero = weight != 0
        if entering is not None:
            if entering.width != weight.shape[inner]:
                return None
            reading = nonzero.any(tuple(place for place in range(weight.ndim) if place != inner))
            self._numbering.need(entering.ids[reading & (entering.constants != 0)])
            self._cuts.append(Cut(node, 1, inner, entering.ids))
        width = weight.shape[outer]
        ids = self._numbering.fresh(width)
        computing = nonzero.any(tuple(place for place in range(weight.ndim) if place != outer))
        self._cuts.append(Cut(node, 1, outer, ids))
        self._cuts += [Cut(node, position, where, ids) for position, where in cuts.items() if read(node, position)]
        self._computed[node] = ids
        return Channels(axis, ids, np.where(computing, UNKNOWN, np.broadcast_to(bias, (width,))))

    def _depthwise_convolution(
        self, node: Node, weight: Array, bias: Array, groups: int, entering: Channels | None
    ) -> Channels | None:
        if not node.applies("Conv") or entering is None or groups != entering.width or weight.shape[1] != 1:
            return None
        times = weight.shape[0] // groups
        ids = np.repeat(entering.ids, times)
        zero = ~(weight != 0).any(tuple(range(1, weight.ndim))) | (np.repeat(entering.constants, times) == 0)
        self._cuts += [Cut(node, 1, 0, ids)] + ([Cut(node, 2, 0, ids)] if read(node, 2) is not None else [])
        self._depthwise[node] = entering.ids
        return Channels(1, ids, np.where(zero, np.broadcast_to(bias, ids.shape), UNKNOWN))

    def _entering(self, node: Node, axis: int) -> Channels | None:
        """The channels of the first input, if they lie along `axis`; others are depended on."""
        value = node.inputs[0]
        channels = None if value is None else self._values.get(value)
        if channels is not None and channels.axis != axis and value is not None:
            self.need(value)
            return None
        return channels

    def _operand(self, node: Node, place: int, axis: int, beside: Channels) -> Array | None:
        """What an operand that has no channels of its own holds beside each one; None where it cannot follow them."""
        sizes = shape(node.inputs[place], self._facts)
        if sizes is None:
            return None
        array = self._constant(node, place)
        spans = axis >= 0 and sizes[axis] != 1
        if array is None:
            return None if spans else np.full(beside.width, UNKNOWN)
        if not spans:
            held = array.reshape(-1)[0] if array.size == 1 else UNKNOWN
            return np.full(beside.width, held, np.float64)
        if sizes[axis] != beside.width:
            return None
        self._cuts.append(Cut(node, place, axis, beside.ids))
        alike = array.size == beside.width
        return array.reshape(-1).astype(np.float64) if alike else np.full(beside.width, UNKNOWN)

    def _evaluated(self, node: Node, operands: list[Array | None], width: int) -> Array:
        """What a node computes of channels that are constant; NaN for the others."""
        present = [operand for operand in operands if operand is not None]
        unknown = np.any([np.isnan(operand) for operand in present], axis=0)
        operator = self._catalog.operator_of(node, self._model.opset_imports)
        kind = dtype(node.output, self._facts)
        result = np.full(width, UNKNOWN)
        if operator is not None and kind is not None and not unknown.all():
            tensors = [None if operand is None else Tensor(operand.astype(kind.numpy)) for operand in operands]
            if node.applies("Clip"):  # its ends are scalars
                tensors[1:] = [None if each is None else Tensor(each.numpy()[:1].reshape(())) for each in tensors[1:]]
            held = computed(node, operator, tensors)
            if isinstance(held, np.ndarray) and held.shape == (width,):
                result = np.where(unknown, UNKNOWN, held.astype(np.float64))
        if node.applies("Mul"):
            result = np.where(np.any([operand == 0 for operand in present], axis=0), 0.0, result)
        return result

    def _constant(self, node: Node, position: int) -> Array | None:
        """The elements of an input that is an initialiser of this graph, of floats or integers."""
        value = read(node, position)
        if value is None or value.is_input or value.graph is not self._graph or not isinstance(value.constant, Tensor):
            return None
        return value.constant.numpy()

    def _bias(self, node: Node, position: int) -> Array | None:
        return np.zeros(()) if read(node, position) is None else self._constant(node, position)

    def _unremovable(self, value: Value | None, axis: int) -> Channels | None:
        """Channels that stay, for a value that nothing is known of."""
        sizes = shape(value, self._facts)
        width = None if sizes is None else sizes[axis]
        if not isinstance(width, int):
            return None
        ids = self._numbering.fresh(width)
        self._numbering.need(ids.tolist())
        return Channels(axis, ids, np.full(len(ids), UNKNOWN))


_RULES: dict[str, Callable[[_Tracing, Node], Channels | None]] = {
    "Conv": _Tracing.convolution,
    "ConvTranspose": _Tracing.convolution,
    "Gemm": _Tracing.gemm,
    "MatMul": _Tracing.matmul,
    "BatchNormalization": _Tracing.normalisation,
    "Flatten": _Tracing.flattening,
    "Reshape": _Tracing.flattening,
    "Transpose": _Tracing.transposition,
    "Resize": _Tracing.resizing,
    "Pad": _Tracing.padding,
    "Identity": _Tracing.identity,
    "Concat": _Tracing.concatenation,
    **dict.fromkeys(ELEMENTWISE, _Tracing.elementwise),
    **dict.fromkeys(_POOLS, _Tracing.pool),
    **dict.fromkeys(_REDUCTIONS, _Tracing.reduction),
}
