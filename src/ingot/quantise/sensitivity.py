"""What quantising each product alone costs at the end of the model, measured by one compiled model with switches.

Each product reads `Where(switch, rounded, float)` for every operand, and the switches are inputs: nothing is compiled
again for the next product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.dtypes import Array, DType
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.quantise.calibrate import Progress
from ingot.quantise.error import Noise
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product
from ingot.quantise.recipes import Recipe
from ingot.quantise.writer import Writer
from ingot.session import Session


def sensitivities(
    prepared: Prepared,
    products: Sequence[Product],
    recipe: Recipe,
    samples: Sequence[Mapping[str, Array]],
    progress: Progress,
) -> list[float]:
    """For each product, the least signal over noise of all outputs with it alone quantised, in decibels."""
    model, switches = _switched(prepared, products, recipe)
    session = Session(model)
    names = prepared.model.graph.outputs.names
    off = dict.fromkeys(switches, np.asarray(False))
    exact = [session.run(names, {**feeds, **off}) for feeds in samples]
    results = []
    for done, switch in enumerate(switches):
        noises = [Noise() for _ in names]
        for feeds, wanted in zip(samples, exact, strict=True):
            actual = session.run(names, {**feeds, **off, switch: np.asarray(True)})
            for noise, one, other in zip(noises, wanted, actual, strict=True):
                noise.update(one, other)
        results.append(min(noise.decibels for noise in noises))
        progress(done + 1, len(switches))
    return results


def _switched(prepared: Prepared, products: Sequence[Product], recipe: Recipe) -> tuple[Model, list[str]]:
    writer = Writer(prepared.model)
    switches = []
    for product in products:
        node = writer.node(product)
        rounded = recipe.operands(writer, product)
        switch = Value(writer.fresh("switch"), TensorType(DType.BOOL, ()))
        writer.graph.inputs.append(switch)
        switches.append(switch.name)
        for position, value in rounded.items():
            chosen = Node("Where", [switch, value, node.inputs[position]])
            writer.graph.insert_before(node, chosen)
            node.replace_input(position, chosen.output)
    model = writer.finish()
    infer(model)
    return model, switches
