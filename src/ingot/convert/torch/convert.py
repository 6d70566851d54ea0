"""Converting from PyTorch: the program is exported, taken apart, translated, and given with what compares it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ingot.convert.request import Request, leading_names
from ingot.convert.source import Feeds, Source, Tolerance
from ingot.convert.torch.axes import (
    Axes,
    axes_by_input,
    axes_of_shapes,
    dynamic_shapes,
    symbol_names,
    traced_example,
)
from ingot.convert.torch.decompose import decomposed
from ingot.convert.torch.drawn import drawn_outputs
from ingot.convert.torch.dtypes import to_array, to_tensor
from ingot.convert.torch.named import input_names_of, output_names_of
from ingot.convert.torch.original import evaluating, original_of, real_array
from ingot.convert.torch.program import Example, example_for, example_of, export_module, quiet
from ingot.convert.torch.rule import Rule, rules
from ingot.convert.torch.tidy import tidied
from ingot.convert.torch.translate import target_name, translated
from ingot.convert.torch.variants import bounds_of, stated, variants
from ingot.dtypes import Array
from ingot.errors import ConvertError, InputError
from ingot.ir.interface import initializers_to_inputs

_OPTIONS = ("kwargs", "dynamic_shapes", "custom_translation_table", "export_params", "do_constant_folding")
_TOLERANCES = {
    torch.float64: Tolerance(1e-6, 1e-8),
    torch.float32: Tolerance(1e-4, 1e-5, 1e-5),
    torch.float16: Tolerance(1e-2, 1e-3, 5e-3),
    torch.bfloat16: Tolerance(5e-2, 5e-3, 1.5e-2),
}
"""By the coarsest element type of the program: sums are taken in other orders, and rounded at other places.

About three times the most that was measured: over torch's operators, and over architectures by element type.
"""
_DRAWN = Tolerance(0, math.inf)
"""Of an output that depends on random numbers."""


def convert_torch(model: Any, example: Any, request: Request) -> Source:
    """The source of a torch.nn.Module (in evaluation mode) or an ExportedProgram.

    `example` is a tensor, a tuple of arguments whose last may be a dict of keywords, or a dict of keywords; a program
    brings its own. ConvertError for a module that cannot be exported and for operators without a rule.
    """
    options = request.only("PyTorch", *_OPTIONS)
    if isinstance(model, torch.export.ExportedProgram):
        return _of_program(model, example, request, options)
    if not isinstance(model, torch.nn.Module):
        raise ConvertError(
            f"a {type(model).__name__} of torch is no module",
            hint="a torch.nn.Module or a torch.export.ExportedProgram",
        )
    call_example = example_of(example, options.get("kwargs"))  # type: ignore[arg-type]
    with evaluating(model):
        return _of_module(model, call_example, request, options)


def _of_module(model: Any, example: Example, request: Request, options: Mapping[str, object]) -> Source:
    default = input_names_of(model, example)
    names = leading_names("input", request.input_names, default)
    axes = _axes(request, names, default)
    shapes = options.get("dynamic_shapes")
    if shapes is None:
        traced = traced_example(axes, names, example)
        shapes = dynamic_shapes(model, axes, names, traced)
    else:
        traced = example
        axes = axes_of_shapes(model, shapes, names, example)
    program = export_module(model, traced, shapes)
    return _source(program, model, example, names, axes, request, options)


def _of_program(program: Any, example: Any, request: Request, options: Mapping[str, object]) -> Source:
    fakes = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    own = [name for name in program.graph_signature.user_inputs if isinstance(fakes.get(name), torch.Tensor)]
    if example is not None:
        call_example = example_for(program, example_of(example, options.get("kwargs")), own)  # type: ignore[arg-type]
    elif program.example_inputs is not None:
        call_example = Example(*program.example_inputs)
    else:
        raise InputError("the program has no example of its inputs", hint="convert(program, (x,))")
    names = leading_names("input", request.input_names, own)
    axes = _axes(request, names, own)
    return _source(program, program.module(), call_example, names, axes, request, options)


def _source(
    program: Any,
    module: Any,
    example: Example,
    names: Sequence[str],
    axes: Axes,
    request: Request,
    options: Mapping[str, object],
) -> Source:
    table = rules().overridden(_custom(options.get("custom_translation_table")))
    program = decomposed(program, table)
    users = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    by_name = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [by_name[name] for name in users if isinstance(by_name[name].meta.get("val"), torch.Tensor)]
    fakes = {name: node.meta["val"] for name, node in zip(names, inputs, strict=True)}
    symbols = symbol_names(axes, fakes)
    changed = sorted(set(program.graph_signature.buffers_to_mutate.values()))
    model = translated(program, table, symbols, names, _output_names(program, names, changed, request), changed)
    bounds = bounds_of(program)
    model.metadata.update(stated(bounds, symbols))
    if not options.get("export_params", True):
        parameters = [name for name in program.state_dict if name in model.graph.initializers]
        initializers_to_inputs(model, parameters)
    tidied(model, fold=bool(options.get("do_constant_folding", True)), weights=program.state_dict)
    original = original_of(module, example, names, changed)

    def feeds(tensors: Sequence[Any]) -> dict[str, Array]:
        return dict(zip(names, map(real_array, tensors), strict=True))

    tensors = example.tensors()
    others = variants(
        tensors, list(fakes.values()), bounds, lambda tensors_of_variant: original(feeds(tensors_of_variant))
    )
    return Source(
        model,
        original,
        [feeds(tensors), *map(feeds, others)],
        inside=_inside(program, names, model),
        tolerances=dict.fromkeys(drawn_outputs(model), _DRAWN),
        tolerance=_tolerance(program),
    )


def _output_names(program: Any, inputs: Sequence[str], changed: Sequence[str], request: Request) -> tuple[str, ...]:
    """One for each result, then one for each buffer that the module changes; the caller may name the first of them."""
    results = output_names_of(program, inputs)
    state = [f"{name}.updated" for name in changed]
    return leading_names("output", request.output_names, [*results, *state], reserved=inputs)


def _tolerance(program: Any) -> Tolerance:
    types = {value.dtype for node in program.graph.nodes if isinstance(value := node.meta.get("val"), torch.Tensor)}
    coarsest = next((t for t in (torch.bfloat16, torch.float16, torch.float32) if t in types), None)
    if coarsest is None and torch.complex64 in types:
        coarsest = torch.float32
    return _TOLERANCES[coarsest or torch.float64]


def _inside(program: Any, names: Sequence[str], model: Any) -> Callable[[Feeds], dict[str, Array]]:
    """Runs the program call by call, and keeps what has a name in the model too."""

    def inside(feeds: Feeds) -> dict[str, Array]:
        wanted = {value.name for node in model.graph.nodes for value in node.outputs}
        arrays: dict[str, Array] = {}

        class Watched(torch.fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: Any) -> Any:
                result = super().run_node(n)
                if n.name in wanted and isinstance(result, torch.Tensor):
                    arrays[n.name] = to_array(result).copy()
                return result

        with torch.no_grad(), quiet():
            state = [
                program.state_dict[target] if target in program.state_dict else program.constants[target]
                for target in (spec.target for spec in program.graph_signature.input_specs if spec.target is not None)
            ]
            Watched(program.graph_module).run(*state, *(to_tensor(feeds[name]) for name in names))
        return arrays

    return inside


def _axes(request: Request, names: Sequence[str], default: Sequence[str]) -> Axes:
    """The open axes by the names inputs have now; the caller may use the module's own too."""
    stated = request.dynamic_axes
    if isinstance(stated, Mapping) and request.input_names is not None:
        renamed = dict(zip(default, names, strict=True))
        stated = {renamed.get(name, name) if name not in names else name: axes for name, axes in stated.items()}
    return axes_by_input(stated, names, request.output_names or ())


def _custom(table: Any) -> list[Rule[..., Any]]:
    """The caller's functions as rules; one that is no rule yet takes complex tensors too."""
    rules: list[Rule[..., Any]] = []
    for target, function in (table or {}).items():
        key = target if isinstance(target, str) else target_name(target)
        own = function if isinstance(function, Rule) else Rule((), function, pairs=True)
        rules.append(replace(own, keys=(key,)))
    return rules
