"""How a mode quantises any choice of the products of a model: once measured, written as often as is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.bias_correction import corrected_biases
from ingot.quantise.calibrate import Progress, calibrate
from ingot.quantise.code_weights import coded_weights
from ingot.quantise.dynamic import write_dynamic
from ingot.quantise.options import Options
from ingot.quantise.placement import place
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product
from ingot.quantise.ranges import observer_for
from ingot.quantise.samples import Samples
from ingot.quantise.static import activation_parameters, pair, write_static
from ingot.quantise.statistics import channel_means
from ingot.quantise.weight_only import write_weights
from ingot.quantise.weights import Coded
from ingot.quantise.writer import Writer


@dataclass(frozen=True, slots=True)
class Recipe:
    """Two ways to quantise: for good, and beside the float operands of a product, to switch between both."""

    write: Callable[[Sequence[Product]], Model]
    """A quantised copy in which these products are."""
    operands: Callable[[Writer, Product], dict[int, Value]]
    """The operands of a product after rounding, by position, written into a copy of the float model."""


def recipe_for(
    prepared: Prepared, products: Sequence[Product], samples: Samples | None, options: Options, progress: Progress
) -> Recipe:
    """What the mode of the options does, after measuring what it needs."""
    match options.mode:
        case "dynamic":
            return _dynamic(prepared, products, samples, options, progress)
        case "weights":
            return _weights(prepared, products, samples, options, progress)
    assert samples is not None
    return _static(prepared, products, samples, options, progress)


def _static(
    prepared: Prepared, products: Sequence[Product], samples: Samples, options: Options, progress: Progress
) -> Recipe:
    placement = place(prepared, products, options)
    measured = calibrate(prepared.model, placement, samples, observer_for(options), progress)
    ranges = {value: measured[shared] for value, shared in placement.values.items()}
    scales = activation_parameters(placement, ranges, options)
    inputs = {product.key: scales[_input(product).name].scale for product in products}
    weights = coded_weights(prepared.model, products, samples, options, progress, inputs)
    biases = _biases(prepared, products, weights, samples, options, progress)
    if options.integer_biases:
        biases = {each.key: bias for each in products if (bias := each.bias_array()) is not None} | biases

    def write(chosen: Sequence[Product]) -> Model:
        activations = activation_parameters(place(prepared, chosen, options), ranges, options)
        return write_static(prepared.model, chosen, activations, weights, biases, options)

    def operands(writer: Writer, product: Product) -> dict[int, Value]:
        rounded = {}
        for position in product.activations:
            value = _read(product, position)
            parameters = scales[value.name]
            constants = (
                writer.constant(f"{value.name}_scale", parameters.scale),
                writer.constant(f"{value.name}_zero_point", parameters.zero_point),
            )
            rounded[position] = pair(writer, writer.values[value.name], *constants)
        if product.weight is not None:
            weight = weights[product.key]
            rounded[product.weight_position] = writer.weight(product.weight.name, weight)
        return rounded

    return Recipe(write, operands)


def _dynamic(
    prepared: Prepared, products: Sequence[Product], samples: Samples | None, options: Options, progress: Progress
) -> Recipe:
    weights = coded_weights(prepared.model, products, samples, options, progress)
    biases = _biases(prepared, products, weights, samples, options, progress)

    def operands(writer: Writer, product: Product) -> dict[int, Value]:
        rounded = {}
        for position in product.activations:
            value = writer.values[_read(product, position).name]
            codes = Node("DynamicQuantizeLinear", [value], 3)
            back = Node("DequantizeLinear", codes.outputs)
            writer.after(value, codes, back)
            rounded[position] = back.output
        if product.weight is not None:
            weight = weights[product.key]
            rounded[product.weight_position] = writer.weight(product.weight.name, weight)
        return rounded

    return Recipe(lambda chosen: write_dynamic(prepared.model, chosen, weights, biases, options), operands)


def _weights(
    prepared: Prepared, products: Sequence[Product], samples: Samples | None, options: Options, progress: Progress
) -> Recipe:
    weights = coded_weights(prepared.model, products, samples, options, progress)
    biases = _biases(prepared, products, weights, samples, options, progress)

    def operands(writer: Writer, product: Product) -> dict[int, Value]:
        assert product.weight is not None
        weight = weights[product.key]
        return {product.weight_position: writer.weight(product.weight.name, weight)}

    return Recipe(lambda chosen: write_weights(prepared.model, chosen, weights, biases, options), operands)


def _biases(
    prepared: Prepared,
    products: Sequence[Product],
    weights: Mapping[str, Coded],
    samples: Samples | None,
    options: Options,
    progress: Progress,
) -> dict[str, Array]:
    """The biases that bias correction changes."""
    if "bias" not in options.methods:
        return {}
    assert samples is not None
    products = [product for product in products if not product.is_recurrent]
    return corrected_biases(products, weights, channel_means(prepared.model, products, samples, progress))


def _input(product: Product) -> Value:
    return _read(product, product.activations[0])


def _read(product: Product, position: int) -> Value:
    value = product.node.inputs[position]
    assert value is not None
    return value
