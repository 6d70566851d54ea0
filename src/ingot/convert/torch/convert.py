"""Converting from PyTorch: the program is exported, taken apart, translated, and given with what compares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.convert.request import Request, checked_names
from ingot.convert.source import Feeds, Source, Tolerance
from ingot.convert.torch.axes import (
    Axes,
    axes_by_input,
    dynamic_shapes,
    open_axes,
    resized,
    symbol_names,
    traced_example,
)
from ingot.convert.torch.decompose import decomposed
from ingot.convert.torch.dtypes import to_array, to_tensor
from ingot.convert.torch.named import input_names_of, output_names_of
from ingot.convert.torch.program import Example, example_for, example_of, export_module, quiet
from ingot.convert.torch.rule import Rule, rules
from ingot.convert.torch.tidy import tidied
from ingot.convert.torch.translate import target_name, translated
from ingot.dtypes import Array
from ingot.errors import ConvertError, InputError
from ingot.ir.interface import initializers_to_inputs

_OPTIONS = ("kwargs", "dynamic_shapes", "custom_translation_table", "export_params", "do_constant_folding")
_TOLERANCES = {
    torch.float64: Tolerance(1e-6, 1e-8),
    torch.float32: Tolerance(1e-4, 1e-4),
    torch.float16: Tolerance(2e-2, 2e-2),
    torch.bfloat16: Tolerance(1e-1, 1e-1),
}
"""By the coarsest element type of the program: sums are taken in other orders, and rounded at other places."""


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
    given = example_of(example, options.get("kwargs"))  # type: ignore[arg-type]
    training = {part: part.training for part in model.modules()}
    model.eval()
    try:
        return _of_module(model, given, request, options)
    finally:
        for part, was in training.items():
            part.training = was


def _of_module(model: Any, example: Example, request: Request, options: Mapping[str, object]) -> Source:
    tensors = [leaf for leaf in example.leaves() if isinstance(leaf, torch.Tensor)]
    default = input_names_of(model, example)
    names = checked_names("input", request.input_names, default)
    axes = _axes(request, names, default)
    shapes = options.get("dynamic_shapes")
    if shapes is None:
        traced = traced_example(axes, names, example)
        shapes = dynamic_shapes(model, axes, names, traced)
    else:
        traced = example
    program = export_module(model, traced, shapes)

    def original(feeds: Feeds) -> list[Any]:
        leaves, spec = pytree.tree_flatten((example.args, dict(example.kwargs)))
        fed = iter([_fed(feeds[name], tensor) for name, tensor in zip(names, tensors, strict=True)])
        made = [next(fed) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(made, spec)
        training = model.training
        model.eval()
        with torch.no_grad(), quiet():
            result = model(*args, **kwargs)
        model.train(training)
        return _arrays(result)

    return _source(program, tensors, names, axes, request, options, original)


def _of_program(program: Any, example: Any, request: Request, options: Mapping[str, object]) -> Source:
    fakes = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    own = [name for name in program.graph_signature.user_inputs if isinstance(fakes.get(name), torch.Tensor)]
    if example is not None:
        given = example_for(program, example_of(example, options.get("kwargs")), own)  # type: ignore[arg-type]
    elif program.example_inputs is not None:
        given = Example(*program.example_inputs)
    else:
        raise InputError("the program has no example of its inputs", hint="convert(program, (x,))")
    tensors = [leaf for leaf in given.leaves() if isinstance(leaf, torch.Tensor)]
    names = checked_names("input", request.input_names, own)
    axes = _axes(request, names, own)
    module = program.module()

    def original(feeds: Feeds) -> list[Any]:
        leaves, spec = pytree.tree_flatten((given.args, dict(given.kwargs)))
        fed = iter([_fed(feeds[name], tensor) for name, tensor in zip(names, tensors, strict=True)])
        made = [next(fed) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(made, spec)
        with torch.no_grad(), quiet():
            result = module(*args, **kwargs)
        return _arrays(result)

    return _source(program, tensors, names, axes, request, options, original)


def _source(
    program: Any,
    tensors: Sequence[Any],
    names: Sequence[str],
    axes: Axes,
    request: Request,
    options: Mapping[str, object],
    original: Callable[[Feeds], list[Any]],
) -> Source:
    table: dict[str, Rule | Callable[..., Any]] = {**rules(), **_custom(options.get("custom_translation_table"))}
    with quiet():
        program = decomposed(program, table)
    users = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    by_name = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs = [by_name[name] for name in users if isinstance(by_name[name].meta.get("val"), torch.Tensor)]
    fakes = {name: node.meta["val"] for name, node in zip(names, inputs, strict=True)}
    symbols = symbol_names(axes, fakes)
    output_names = checked_names("output", request.output_names, output_names_of(program, names))
    model = translated(program, table, symbols, names, output_names)
    if not options.get("export_params", True):
        parameters = [name for name in program.state_dict if name in model.graph.initializers]
        initializers_to_inputs(model, parameters)
    tidied(model, fold=bool(options.get("do_constant_folding", True)))
    floats = [_precision(node.meta.get("val")) for node in program.graph.nodes]
    coarsest = next((t for t in (torch.bfloat16, torch.float16, torch.float32) if t in floats), torch.float64)
    return Source(
        model,
        original,
        _examples(tensors, names, axes or open_axes(symbols, fakes), fakes, original),
        inside=_inside(program, names, model),
        tolerance=_TOLERANCES[coarsest],
    )


def _examples(
    tensors: Sequence[Any],
    names: Sequence[str],
    axes: Axes,
    fakes: Mapping[str, Any],
    original: Callable[[Feeds], list[Any]],
) -> list[dict[str, Array]]:
    """The example given, then others in the sizes of open axes, those of them that the original takes."""
    examples = [dict(zip(names, map(_real, tensors), strict=True))]
    called = {own for each in axes.values() for own in each.values()}
    alike = _alike(axes, fakes)
    for more in (2, 3) if called else ():
        sizes: dict[str, int] = {}
        for name, tensor in zip(names, tensors, strict=True):
            for axis, own in axes.get(name, {}).items():
                sizes[own] = sizes.get(alike[own], tensor.shape[axis] + more)
                sizes.setdefault(alike[own], sizes[own])
        made = resized(tensors, names, axes, sizes)
        variant = dict(zip(names, map(_real, made), strict=True))
        try:
            original(variant)
        except Exception:  # sizes that the module's own conditions exclude
            continue
        examples.append(variant)
    return examples


def _alike(axes: Axes, fakes: Mapping[str, Any]) -> dict[str, str]:
    """For each name of an axis, the first name of those that torch found to be the same size."""
    by_symbol: dict[str, str] = {}
    found: dict[str, str] = {}
    for name, own in axes.items():
        for axis, called in own.items():
            first = by_symbol.setdefault(str(fakes[name].shape[axis]), called)
            found.setdefault(called, first)
    return found


def _inside(program: Any, names: Sequence[str], model: Any) -> Callable[[Feeds], dict[str, Array]]:
    """Runs the program call by call, and keeps what has a name in the model too."""

    def inside(feeds: Feeds) -> dict[str, Array]:
        wanted = {value.name for node in model.graph.nodes for value in node.outputs}
        kept: dict[str, Array] = {}

        class Watched(torch.fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: Any) -> Any:
                result = super().run_node(n)
                if n.name in wanted and isinstance(result, torch.Tensor):
                    kept[n.name] = to_array(result).copy()
                return result

        with torch.no_grad(), quiet():
            state = [
                program.state_dict[target] if target in program.state_dict else program.constants[target]
                for target in (spec.target for spec in program.graph_signature.input_specs if spec.target is not None)
            ]
            Watched(program.graph_module).run(*state, *(to_tensor(feeds[name]) for name in names))
        return kept

    return inside


def _axes(request: Request, names: Sequence[str], default: Sequence[str]) -> Axes:
    """The open axes by the names inputs have now; the caller may use the module's own too."""
    given = request.dynamic_axes
    if isinstance(given, Mapping) and request.input_names is not None:
        renamed = dict(zip(default, names, strict=True))
        given = {renamed.get(name, name) if name not in names else name: axes for name, axes in given.items()}
    return axes_by_input(given, names, request.output_names or ())


def _custom(table: Any) -> dict[str, Rule | Callable[..., Any]]:
    return {key if isinstance(key, str) else target_name(key): write for key, write in (table or {}).items()}


def _arrays(result: Any) -> list[Array]:
    """What a module returned, in the order of the model's outputs; complex numbers as pairs."""
    leaves = [leaf for leaf in pytree.tree_leaves(result) if leaf is not None]
    tensors = [leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf) for leaf in leaves]
    return [_real(leaf) for leaf in tensors]


def _real(tensor: Any) -> Array:
    return to_array(torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)


def _fed(array: Array, like: Any) -> Any:
    """A tensor of what the model is fed: complex again where the original is."""
    made = to_tensor(array)
    return torch.view_as_complex(made) if like.is_complex() else made


def _precision(value: Any) -> Any:
    return value.dtype if isinstance(value, torch.Tensor) else None
