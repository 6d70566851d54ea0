"""Converting from TensorFlow: the function's graph is looked at, translated, and given with what compares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from ingot import dims
from ingot.builder import OPSET, Var, inserting, ir_version_of, op
from ingot.convert.layout import channels_first
from ingot.convert.request import Request, checked_names
from ingot.convert.rules import RuleTable
from ingot.convert.source import Feeds, Source, Tolerance
from ingot.convert.tensorflow.axes import named_axes
from ingot.convert.tensorflow.dtypes import dtype_of, real_of, to_array
from ingot.convert.tensorflow.examples import Axes, example_arrays, fed, generated_arrays, variants
from ingot.convert.tensorflow.functions import operations
from ingot.convert.tensorflow.inside import inside_of
from ingot.convert.tensorflow.pair import Pair
from ingot.convert.tensorflow.place import place_of
from ingot.convert.tensorflow.program import Program, program_of
from ingot.convert.tensorflow.refused import ASSIGNS, REASONS
from ingot.convert.tensorflow.resource import Resource
from ingot.convert.tensorflow.rule import Rule, rules, static_shape
from ingot.convert.tensorflow.tables import words_of
from ingot.convert.tensorflow.translate import CUSTOM, Translation
from ingot.convert.unsupported import Unsupported
from ingot.dtypes import Array
from ingot.errors import ConvertError, InputError
from ingot.infer.building import builder_checker
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.interface import remove_dead
from ingot.ir.model import Model
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.passes.optimise import optimise
from ingot.version import __version__

_OPTIONS = ("signature", "custom_translation_table")
_TOLERANCES = {
    tf.float64: Tolerance(1e-6, 1e-8),
    tf.float32: Tolerance(1e-4, 1e-4),
    tf.float16: Tolerance(2e-2, 2e-2),
    tf.bfloat16: Tolerance(1e-1, 1e-1),
}
"""By the coarsest element type of the graph: sums are taken in other orders, and rounded at other places."""

_TABULATED = Tolerance(5e-3, 5e-3)
"""Of graphs with ResizeBicubic: TensorFlow takes its weights from a table of 1,024 steps, ONNX computes them."""


def convert_tensorflow(model: Any, example: Any, request: Request) -> Source:
    """The source of a SavedModel directory, a loaded one, a tf.function, a concrete function, or a tf.Module.

    `example` is a tensor, a tuple of arguments whose last may be a dict of keywords, or a dict; a function that was
    traced, as that of a signature, needs none. Nothing of the graph is run before every operator in it was found to
    have a rule. ConvertError for operators without one.
    """
    options = request.only("TensorFlow", *_OPTIONS)
    program = program_of(model, example, options.get("signature"), request.dynamic_axes)
    table = rules().overridden(_custom(options.get("custom_translation_table")))
    _refuse_unknown(program, table)
    names = checked_names("input", request.input_names, program.input_names)
    output_names = checked_names("output", request.output_names, program.output_names)

    def original(feeds: Feeds) -> list[Any]:
        return [to_array(tensor) for tensor in program.run(fed(program, names, feeds))]

    def runs(feeds: Feeds) -> bool:
        try:
            original(feeds)
        except Exception:  # sizes or numbers that the function's own conditions exclude
            return False
        return True

    def sound(feeds: Feeds) -> bool:
        try:
            outputs = original(feeds)
        except Exception:
            return False
        return all(each.dtype.kind != "f" or np.isfinite(each.astype(np.float64)).all() for each in outputs)

    axes = named_axes(program, names, request.dynamic_axes, runs, lambda sizes: _probe(program, names, sizes))
    arrays = example_arrays(program, names, example)
    if arrays is None:
        words = words_of(program)
        arrays = generated_arrays(program, names, axes, request.seed, words, sound)
        arrays = arrays or generated_arrays(program, names, axes, request.seed, words, runs)
    converted, sources = _translated(program, table, names, output_names, axes)
    if arrays is None:
        raise InputError(
            "no example could be made that the original takes", hint="give one: convert(model, example), or --example"
        )
    return Source(
        converted,
        original,
        [arrays, *variants(arrays, axes, request.seed, runs)],
        inside=inside_of(program, names, sources),
        tolerance=_tolerance(program),
    )


def _tolerance(program: Program) -> Tolerance:
    kinds = {operation.type for _, operation in operations(program.graph)}
    if "ResizeBicubic" in kinds:
        return _TABULATED
    floats = {tensor.dtype.real_dtype for _, each in operations(program.graph) for tensor in each.outputs}
    coarsest = next((kind for kind in (tf.bfloat16, tf.float16, tf.float32) if kind in floats), tf.float64)
    return _TOLERANCES[coarsest]


def _refuse_unknown(program: Program, table: RuleTable[str, Rule[..., Any]]) -> None:
    """ConvertError listing every operation that has no rule, before anything is run."""
    unsupported = Unsupported()
    for _, operation in operations(program.graph):
        kind = operation.type
        if kind not in table and kind not in ("Const", "Placeholder"):
            hint = None if kind in REASONS else CUSTOM.format(kind)
            unsupported.add(kind, place=place_of(operation), reason=table.explain(kind), hint=hint)
    for _, operation in operations(program.graph, all_of_them=True):
        if operation.type in ASSIGNS:
            unsupported.add(operation.type, place=place_of(operation), reason=REASONS[operation.type])
    unsupported.refuse("TensorFlow")


def _translated(
    program: Program,
    table: RuleTable[str, Rule[..., Any]],
    names: Sequence[str],
    output_names: Sequence[str],
    axes: Axes,
) -> tuple[Model, dict[str, str]]:
    """The model, and by the names of its values the tensors they are."""
    graph = Graph(name="main")
    facts: Facts = {}
    model = Model(graph, {"": OPSET}, producer_name="ingot", producer_version=__version__)
    translation = Translation(table, graph, facts)
    for name in (*names, *output_names):
        graph.claim(name)
    arguments: list[Any] = []
    for name, tensor in zip(names, program.inputs, strict=True):
        dtype = dtype_of(tensor.dtype)
        known = static_shape(tensor)
        if known is None:
            raise InputError(f"input '{name}' has no rank", hint="trace the function on tensors of a known rank")
        shape: tuple[Any, ...] = tuple(
            dims.symbol(axes[name][axis]) if size is None else size for axis, size in enumerate(known)
        )
        value = Value(name, TensorType(real_of(dtype), (*shape, 2)) if dtype.is_complex else TensorType(dtype, shape))
        graph.inputs.append(value)
        for axis, size in enumerate(shape):
            if not isinstance(size, int):
                translation.open_size(size, value, axis)
        arguments.append(Pair(Var(value)) if dtype.is_complex else Var(value))
    called = {id(variable.handle): variable.name for variable in getattr(program.graph, "variables", ())}
    with inserting(at_end_of=graph, check=builder_checker(facts=facts)):
        for tensor, held in zip(
            program.function.inputs[len(arguments) :], program.function.captured_inputs, strict=True
        ):
            if held.dtype in (tf.resource, tf.variant):
                name = called.get(id(held), "").partition(":")[0] or tensor.op.name
                arguments.append(Resource(name, held))
            else:
                arguments.append(translation.constant(tensor.op.name, to_array(held)))
        results = translation.run(program.graph, arguments)
        translation.unsupported.refuse("TensorFlow")
        _return(graph, results, output_names)
    model.ir_version = ir_version_of(OPSET)
    model = model.copy()  # bodies of loops that were tried and given up still count as readers
    channels_first(model)
    optimise(model, level=1)
    remove_dead(model.graph)
    return model, translation.sources


def _return(graph: Graph, results: Sequence[Any], output_names: Sequence[str]) -> None:
    returned: set[Value] = set()
    for result, name in zip(results, output_names, strict=True):
        var = result.var if isinstance(result, Pair) else result
        if not isinstance(var, Var):
            raise ConvertError(f"output '{name}' is no tensor", hint="leave it out of what the function returns")
        value = var.value
        if value.producer is None or value in returned or value.graph is not graph:
            value = op.Identity(var).value
        returned.add(value)
        value.name = name
        graph.outputs.append(value)


def _probe(program: Program, names: Sequence[str], sizes: Mapping[tuple[str, int], int]) -> dict[str, Array]:
    """Feeds of small whole numbers in the given sizes of open axes."""
    probe = {}
    for name, tensor in zip(names, program.inputs, strict=True):
        known = static_shape(tensor) or ()
        shape = tuple(sizes.get((name, axis), 2) if size is None else size for axis, size in enumerate(known))
        if tensor.dtype == tf.string:
            probe[name] = np.full(shape, "", object)
        elif tensor.dtype.is_complex:
            probe[name] = np.zeros((*shape, 2))
        else:
            probe[name] = np.zeros(shape, tensor.dtype.as_numpy_dtype)
    return probe


def _custom(table: Any) -> list[Rule[..., Any]]:
    """The caller's functions as rules, by the operators they are given for."""
    rules: list[Rule[..., Any]] = []
    for kind, function in (table or {}).items():
        if not callable(function):
            message = f"the rule of '{kind}' is a {type(function).__name__}"
            raise InputError(message, hint="a function of the site and the inputs")
        rules.append(replace(function, keys=(kind,)) if isinstance(function, Rule) else Rule((kind,), function))
    return rules
