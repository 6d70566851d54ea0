"""The products of a model: which nodes multiply activations by a constant weight, and where its channels are."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import InputError, nearest
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.quantise.options import PRODUCTS, RECURRENT, Options
from ingot.quantise.prepare import Prepared
from ingot.quantise.selection import excluded, matching
from ingot.queries.values import constant, dtype, elements, read


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """A product that can be quantised: its activations, by position, and its constant weight, if it has one.

    A recurrent network is two, one for each of its weights, without activations: what it multiplies is its own.
    """

    node: Node
    activations: tuple[int, ...]
    weight: Value | None
    weight_position: int
    channel_axis: int | None
    """The axis of the weight whose entries go to different channels of the result; None where there is none."""
    sum_axis: int | None
    """The axis of the weight that the product sums over, if that is one axis alone."""
    bias: Value | None
    """A constant bias of one number for each channel."""

    @property
    def name(self) -> str:
        return f"{self.node.label} {'WR'[self.weight_position - 1]}" if self.is_recurrent else self.node.label

    @property
    def key(self) -> str:
        """Unlike that of any other product of the model."""
        return f"{self.node.label} {self.weight_position}" if self.is_recurrent else self.node.output.name

    @property
    def is_recurrent(self) -> bool:
        return self.node.applies(*RECURRENT)

    def weight_array(self) -> Array:
        """The elements of the weight."""
        assert self.weight is not None
        assert isinstance(self.weight.constant, Tensor)
        return self.weight.constant.numpy()

    def bias_array(self) -> Array | None:
        """The elements of the bias, if there is one."""
        held = None if self.bias is None else self.bias.constant
        return held.numpy() if isinstance(held, Tensor) else None


@dataclass(frozen=True, slots=True)
class InFloat:
    """A node that stays in float, and why."""

    node: Node
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The products to quantise, and those that stay as they are."""

    products: tuple[Product, ...]
    in_float: tuple[InFloat, ...]


def select(prepared: Prepared, options: Options, purpose: str = "quantise") -> Selection:
    """The products that options leave; InputError if a name excludes nothing, or nothing is left to `purpose`."""
    products: list[Product] = []
    in_float: list[InFloat] = []
    used: set[str] = set()
    for node in _candidates(prepared):
        reason = _excluded(node, options, used, purpose)
        parts: list[Product] = []
        if reason is None:
            parts = _recurrent(node) if node.applies(*RECURRENT) else _product(node, prepared)
            reason = _refusal(node, parts, prepared, options)
        if reason is None:
            products += parts
        else:
            in_float.append(InFloat(node, reason))
    for pattern in (*options.include, *options.exclude) if options.strict_names else ():
        if pattern not in used:
            names = [node.label for node in _candidates(prepared)]
            raise InputError(f"'{pattern}' is no product", hint=nearest(pattern, names) or _listed(names))
    if not products:
        reasons = tuple(dict.fromkeys(f"'{left.node.label}': {left.reason}" for left in in_float[:5]))
        hint = f"products are {', '.join(options.operators)} in float32"
        raise InputError(f"the model has no products to {purpose}", where=reasons, hint=hint)
    return Selection(tuple(products), tuple(in_float))


def _candidates(prepared: Prepared) -> Iterator[Node]:
    graph: Graph = prepared.model.graph
    for node in graph:
        if node.applies(*PRODUCTS, *RECURRENT):
            yield node


def _excluded(node: Node, options: Options, used: set[str], purpose: str) -> str | None:
    if not node.applies(*options.operators):
        return f"{node.op_type} is not among the operators to {purpose}"
    used.update(matching(node, options.exclude + options.include))
    return excluded(node, options)


def _recurrent(node: Node) -> list[Product]:
    """The products with the constant weights of a recurrent network, `[directions, channels, what is summed]`."""
    parts = [(place, value) for place in (1, 2) if (value := read(node, place)) is not None and _constant(value)]
    return [Product(node, (), value, place, 1, 2, None) for place, value in parts]


def _product(node: Node, prepared: Prepared) -> list[Product]:
    """The product that a node is; none where a constant is its first operand, and cannot be its weight."""
    facts = prepared.facts
    position = next((place for place in (1, 0) if _constant(read(node, place))), None)
    if position is None:
        return [Product(node, (0, 1), None, 1, None, None, None)]
    weight = node.inputs[position]
    assert weight is not None
    tensor = constant(weight, facts)
    assert tensor is not None
    count = len(tensor.shape)
    if node.applies("MatMul"):
        if position == 1:
            channel, summed = (count - 1 if count > 1 else None), max(count - 2, 0)
        else:
            channel, summed = (count - 2 if count > 1 else None), count - 1
        return [Product(node, (1 - position,), weight, position, channel, summed, None)]
    if position == 0:
        return []
    if node.applies("Gemm"):
        channel = 0 if node.get("transB", 0) else 1
        return [Product(node, (0,), weight, 1, channel, 1 - channel, _bias(node, tensor.shape[channel], prepared))]
    channel = 0 if node.applies("Conv") else 1
    channels = tensor.shape[channel] * (1 if channel == 0 else int(node.get("group", 1)))
    return [Product(node, (0,), weight, 1, channel, None, _bias(node, channels, prepared))]


def _refusal(node: Node, parts: list[Product], prepared: Prepared, options: Options) -> str | None:
    if not parts:
        recurrent = node.applies(*RECURRENT)
        return "its weights are not constant" if recurrent else "its first operand is constant, and not its weight"
    product = parts[0]
    if product.is_recurrent and options.mode == "static":
        return "its states have no ranges that data would show; mode='dynamic' or 'weights' quantises its weights"
    if options.mode == "dynamic" and (reason := _no_integers(node, product)) is not None:
        return reason
    if product.weight is None:
        if options.mode == "weights":
            return "it has no constant weight"
        if not options.activation_products:
            return "both operands are computed; activation_products quantises such too"
    for value in node.inputs[:2]:
        kind = dtype(value, prepared.facts)
        if kind is not DType.FLOAT32:
            return f"it computes in {kind or 'an unknown type'}, not in float32"
    empty = any(part.weight is not None and not part.weight_array().size for part in parts)
    return "its weight is empty" if empty else None


def _no_integers(node: Node, product: Product) -> str | None:
    """Why the standard has no product of integers for a node."""
    if node.applies("ConvTranspose"):
        return "there is no transposed convolution of integers"
    if product.weight is not None and product.weight_position == 0:
        return "its weight is the first operand"
    if node.applies("Conv") and product.weight is None and read(node, 2) is not None:
        return "its weight is computed, and it has a bias"
    if node.applies("Gemm"):
        if node.get("transA", 0):
            return "its first operand is transposed"
        bias = read(node, 2)
        if node.get("beta", 1.0) != 1.0 and bias is not None:
            return "its bias is scaled"
        if product.weight is None and (node.get("transB", 0) or node.get("alpha", 1.0) != 1.0):
            return "both operands are computed, and it transposes or scales"
    return None


def _bias(node: Node, channels: int, prepared: Prepared) -> Value | None:
    value = read(node, 2)
    array = elements(value, prepared.facts)
    if value is None or array is None or not _constant(value) or array.shape != (channels,):
        return None
    return None if node.get("beta", 1.0) != 1.0 or node.get("alpha", 1.0) != 1.0 else value


def _constant(value: Value | None) -> bool:
    return value is not None and value.is_initializer and not value.is_input


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"the products are {', '.join(names[:8])}{more}" if names else "there are none"
