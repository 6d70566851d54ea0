"""`quantize`: a float model to a quantised one, with a report that proves what it costs."""

from __future__ import annotations

from typing import Any

from ingot.errors import InputError
from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.quantise.calibrate import Progress, calibrate
from ingot.quantise.error import measure
from ingot.quantise.options import Options, options_from
from ingot.quantise.placement import place
from ingot.quantise.prepare import Prepared, finished, prepare
from ingot.quantise.products import Selection, select
from ingot.quantise.ranges import observer_for
from ingot.quantise.report import Layer, Quantised, Report, tensor_bytes
from ingot.quantise.samples import Samples
from ingot.quantise.static import activation_parameters, opset_for, write_static

MEASURED = 8
"""Samples that the error is measured on."""


def quantize(
    model: Model | ModelSource, data: Any = None, *, progress: Progress | None = None, **settings: Any
) -> Quantised:
    """A quantised copy of a model, a path, bytes or a ModelProto, and a report of what it cost on `data`.

    `data` is what ranges are measured on: an iterable of feeds, a folder or file of arrays, or a reader with
    `get_next`; `progress(done, total)` is called after each sample. `settings` are the fields of `Options`.

    InputError if an option or the data does not fit, with the number of the sample; if the model is quantised
    already, or has no products.
    """
    options = options_from(settings)
    original = model if isinstance(model, Model) else load(model)
    prepared = prepare(original)
    selection = select(prepared, options)
    if options.mode == "static" and data is None:
        raise InputError("a static quantisation needs data to measure ranges on", hint="or mode='dynamic'")
    if data is None:
        return _quantised(original, prepared, selection, None, options, progress or _silent)
    with Samples(data, list(prepared.model.graph.inputs)) as samples:
        return _quantised(original, prepared, selection, samples, options, progress or _silent)


def _quantised(
    original: Model,
    prepared: Prepared,
    selection: Selection,
    samples: Samples | None,
    options: Options,
    progress: Progress,
) -> Quantised:
    quantised = _static(prepared, selection, samples, options, progress)
    written = finished(quantised, original, opset_for(options.weight_dtype))
    return Quantised(written, _report(original, written, selection, samples))


def _static(
    prepared: Prepared, selection: Selection, samples: Samples | None, options: Options, progress: Progress
) -> Model:
    assert samples is not None
    placement = place(prepared, selection.products, options)
    ranges = calibrate(prepared.model, placement, samples, observer_for(options), progress)
    activations = activation_parameters(placement, ranges, options)
    return write_static(prepared.model, selection.products, activations, options)


def _report(original: Model, written: Model, selection: Selection, samples: Samples | None) -> Report:
    layers = [Layer(product.name, product.node.op_type, None) for product in selection.products]
    layers += [Layer(left.node.label, left.node.op_type, left.reason) for left in selection.in_float]
    measured = [] if samples is None else samples.first(MEASURED)
    errors = measure(original, written, measured) if measured else ()
    return Report(tuple(layers), tensor_bytes(original), tensor_bytes(written), errors, len(measured))


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
