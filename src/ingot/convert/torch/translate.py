"""Translating a program: each call by its rule, in order, into one graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ingot.builder import OPSET, Var, inserting, ir_version_of, op
from ingot.builder.emission import emit
from ingot.convert.rules import RuleTable
from ingot.convert.torch.dtypes import dtype_of, real_of, to_array
from ingot.convert.torch.pair import Pair, holds_pair, joined, split
from ingot.convert.torch.place import place_of
from ingot.convert.torch.rule import COMPLEX, Rule, Site
from ingot.convert.torch.sizes import Size, dim_of, shape_of
from ingot.convert.unsupported import Unsupported
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import CheckError, ConvertError, InputError, UnsupportedError
from ingot.infer.building import builder_checker
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.version import __version__

_CUSTOM = "give the rule of '{}' in custom_translation_table"


class Translation:
    """One program becoming a graph: what its values are so far, and what has no rule."""

    def __init__(
        self, program: Any, rules: RuleTable[str, Rule[..., Any]], names: Mapping[str, Dim], graph: Graph
    ) -> None:
        self.program = program
        self.rules = rules
        self.names = names
        self.graph = graph
        self.unsupported = Unsupported()
        self.values: dict[Any, Any] = {}
        self.used_names: set[str] = set()

    def run(self, module: Any, known: Mapping[Any, Any], prefix: str = "") -> list[Any]:
        """The calls of a graph module, its placeholders being `known`; returns what it gives back."""
        values = dict(known)
        for node in module.graph.nodes:
            match node.op:
                case "call_function":
                    values[node] = self._call(node, values, prefix)
                case "get_attr":
                    values[node] = self._attribute(module, node)
                case "output":
                    results = node.args[0]
                    returned = results if isinstance(results, tuple | list) else [results]
                    if not prefix:
                        self.values = values
                    return [self._argument(item, values) for item in returned]
        raise CheckError("the program has no output")

    def constant(self, name: str, tensor: Any) -> Var | Pair:
        """A tensor of the program as an initialiser, a complex one with its parts along a last axis."""
        paired = tensor.dtype.is_complex
        array = to_array(torch.view_as_real(tensor.resolve_conj()) if paired else tensor)
        root = self.graph.root
        called = root.fresh_name(name)
        stored = Var(root.add_initializer(called, Tensor(array, name=called)))
        return split(stored) if paired else stored

    def _attribute(self, module: Any, node: Any) -> Any:
        attribute = module
        for part in node.target.split("."):
            attribute = getattr(attribute, part)
        return self.constant(node.target, attribute) if isinstance(attribute, torch.Tensor) else attribute

    def _call(self, node: Any, values: dict[Any, Any], prefix: str) -> Any:
        target = target_name(node.target)
        args = [self._argument(item, values) for item in node.args]
        if target == "_operator.getitem":
            return args[0][args[1]]
        kwargs = {key: self._argument(item, values) for key, item in node.kwargs.items()}
        key = target
        if _makes_complex(node) or holds_pair([*args, *kwargs.values()]):
            takes_pairs = target in self.rules and self.rules[target].pairs
            key = target if takes_pairs else f"{COMPLEX}{target}"
        if key not in self.rules:
            reason, hint = self.rules.explain(key), _CUSTOM.format(target)
            self.unsupported.add(target, place=place_of(node), reason=reason, hint=hint)
            return self._stand_in(node)
        site = Site(node, self.names, self._body)
        try:
            result = self.rules[key](site, *args, **kwargs)
        except (UnsupportedError, CheckError) as error:  # our limit, or a type that ONNX's operator does not take
            self.unsupported.add(target, place=place_of(node), reason=error.message)
            return self._stand_in(node)
        return self._settled(result, node, prefix)

    def _body(self, module: Any, arguments: tuple[Any, ...]) -> list[Any]:
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        for placeholder, argument in zip(placeholders, arguments, strict=True):
            fake = placeholder.meta.get("val")
            if isinstance(argument, Var) and isinstance(fake, torch.Tensor) and argument.rank is None:
                self._type(argument.value, fake)
        return self.run(module, dict(zip(placeholders, arguments, strict=True)), prefix="body")

    def _argument(self, item: Any, values: Mapping[Any, Any]) -> Any:
        match item:
            case torch.fx.Node():
                return values[item]
            case list() | tuple():
                return [self._argument(each, values) for each in item]
            case dict():
                return {key: self._argument(each, values) for key, each in item.items()}
        return item

    def _settled(self, results: Any, node: Any, prefix: str) -> Any:
        """Results as values with the program's names, and with the types that torch knows."""
        fake = node.meta.get("val")
        if isinstance(results, tuple | list):
            fakes = fake if isinstance(fake, tuple | list) else [None] * len(results)
            return tuple(
                self._result(item, one, f"{node.name}_{at}", prefix)
                for at, (item, one) in enumerate(zip(results, fakes, strict=False))
            )
        return self._result(results, fake, node.name, prefix)

    def _result(self, result: Any, fake: Any, name: str, prefix: str) -> Any:
        if isinstance(result, np.ndarray | np.generic):
            array = np.asarray(result)
            result = op.Identity(array) if prefix else Var(_constant(self.graph.root, name, array))
        if isinstance(result, Pair) and isinstance(fake, torch.Tensor):
            for part in (result.real, result.imaginary):
                self._type(part.value, fake)
            return result
        if not isinstance(result, Var) or not isinstance(fake, torch.Tensor):
            return result
        value = result.value
        if value.producer is not None and value.name not in self.used_names and not prefix:
            value.name = self.graph.fresh_name(name)
            self.used_names.add(value.name)
        self._type(value, fake)
        return result

    def _type(self, value: Value, fake: Any) -> None:
        """Fill in what inference did not find."""
        dtype = real_of(dtype_of(fake.dtype))
        shape = shape_of(fake, self.names)
        own = value.type
        if not isinstance(own, TensorType):
            value.type = TensorType(dtype, shape)
        elif own.shape is None or len(own.shape) != len(shape):
            value.type = TensorType(own.dtype, shape)
        else:
            merged = tuple(
                mine if isinstance(mine, int) or theirs is None else theirs
                for mine, theirs in zip(own.shape, shape, strict=True)
            )
            value.type = TensorType(own.dtype, merged)

    def _stand_in(self, node: Any) -> Any:
        """Values for the results of a call that has no rule, so that those after it are looked at too."""
        fake = node.meta.get("val")
        several = isinstance(fake, tuple | list)
        fakes = list(fake) if several else [fake]
        types = []
        for one in fakes:
            if isinstance(one, torch.Tensor):
                types.append(TensorType(real_of(_dtype_or(one.dtype)), shape_of(one, self.names)))
            else:
                types.append(TensorType(DType.INT64, ()))
        if not types:
            return ()
        stand_ins = emit("StandIn", [], {}, outputs=len(types), types=types, domain="unsupported", checked=False)
        results = [self._stands_for(Var(value), one) for value, one in zip(stand_ins, fakes, strict=True)]
        return tuple(results) if several else results[0]

    def _stands_for(self, var: Var, fake: Any) -> Any:
        if not isinstance(fake, torch.Tensor):
            return Size(var, dim_of(fake, self.names))
        return Pair(var, var) if fake.dtype.is_complex else var


def translated(
    program: Any,
    rules: RuleTable[str, Rule[..., Any]],
    names: Mapping[str, Dim],
    input_names: Sequence[str],
    output_names: Sequence[str],
    changed: Sequence[str] = (),
) -> Model:
    """The model of a decomposed program; ConvertError listing every call that has no rule.

    The buffers `changed`, which the program writes to, become inputs that have a default, and what they become outputs.
    """
    graph = Graph(name=type(program.graph_module).__name__ if not program.module_call_graph else "main")
    translation = Translation(program, rules, names, graph)
    model = Model(graph, {"": OPSET}, producer_name="ingot", producer_version=__version__)
    with inserting(at_end_of=graph, check=builder_checker()):
        known = _placeholders(program, translation, input_names, changed)
        results = translation.run(program.graph_module, known)
        translation.unsupported.refuse("PyTorch")
        _return(program, translation, results, output_names, changed)
    model.ir_version = ir_version_of(OPSET)
    return model


def target_name(target: Any) -> str:
    """What rules call the function of a call."""
    if isinstance(target, torch._ops.OpOverload | torch._ops.HigherOrderOperator):
        return str(target)
    module = getattr(target, "__module__", None) or "builtins"
    return f"{module}.{getattr(target, '__name__', target)}"


def _placeholders(
    program: Any, translation: Translation, input_names: Sequence[str], changed: Sequence[str]
) -> dict[Any, Any]:
    """What each placeholder is: an input of the model, a parameter by its own name, a constant."""
    from torch.export.graph_signature import ConstantArgument, InputKind

    graph = translation.graph
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")}
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    known: dict[Any, Any] = {}
    names = iter(input_names)
    stored: dict[Any, Var | Pair] = {}
    for name in input_names:
        graph.claim(name)
    weights: list[tuple[Any, str]] = []
    for node in nodes:
        spec = specs[node.name]
        if spec.kind is InputKind.USER_INPUT:
            if isinstance(spec.arg, ConstantArgument):
                known[node] = spec.arg.value
                continue
            fake = node.meta["val"]
            if not isinstance(fake, torch.Tensor):
                raise InputError(f"argument '{node.name}' is a number that stays open", hint="give it as a tensor")
            dtype, shape = dtype_of(fake.dtype), shape_of(fake, translation.names)
            if dtype.is_complex:
                dtype, shape = real_of(dtype), (*shape, 2)
            value = Value(next(names), TensorType(dtype, shape))
            graph.inputs.append(value)
            known[node] = split(Var(value)) if fake.dtype.is_complex else Var(value)
        elif spec.kind is InputKind.CUSTOM_OBJ or spec.kind is InputKind.TOKEN:
            known[node] = None
        else:
            weights.append((node, spec.target))
    for node, target in weights:
        tensor = (
            program.constants[target]
            if target in program.constants and target not in program.state_dict
            else program.state_dict[target]
        )
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype) if tensor.numel() else target
        if target in changed:
            known[node] = translation.constant(target, tensor)
            state = known[node].whole if isinstance(known[node], Pair) else known[node]
            graph.inputs.append(state.value)
            continue
        if key not in stored:
            stored[key] = translation.constant(target, tensor)
        known[node] = stored[key]
    return known


def _return(
    program: Any, translation: Translation, results: Sequence[Any], output_names: Sequence[str], changed: Sequence[str]
) -> None:
    from torch.export.graph_signature import ConstantArgument, OutputKind

    nodes = list(program.graph.nodes)[-1].args[0]
    pairs: list[tuple[Any, Any]] = []
    state: dict[str, tuple[Any, Any]] = {}
    for spec, result, node in zip(program.graph_signature.output_specs, results, nodes, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION:
            state[spec.target] = result, node
        elif spec.kind is OutputKind.USER_OUTPUT and not (isinstance(spec.arg, ConstantArgument) and result is None):
            pairs.append((result, node))
    outputs: set[Value] = set()
    for name, (result, node) in zip(output_names, [*pairs, *(state[name] for name in changed)], strict=True):
        _give(translation.graph, name, result, node, outputs)


def _give(graph: Graph, name: str, result: Any, node: Any, outputs: set[Value]) -> None:
    """Make a result an output called `name`; `outputs` are those already given."""
    var = result.var if isinstance(result, Size) else joined(result) if isinstance(result, Pair) else result
    if isinstance(var, str):
        raise ConvertError(f"output '{name}' is a str", hint="return tensors and numbers")
    if var is None:
        var = _nothing(node, name)
    if not isinstance(var, Var):
        var = op.Identity(np.asarray(var))
    value = var.value
    if value.producer is None or value in outputs or value.is_output:
        value = op.Identity(var).value
    outputs.add(value)
    value.name = _freed(graph, name)
    graph.outputs.append(value)


def _nothing(node: Any, name: str) -> Any:
    """An output that its rule leaves out: without elements, or ConvertError."""
    fake = node.meta.get("val")
    if 0 not in fake.shape:
        raise ConvertError(
            f"output '{name}' is a result of {target_name(node.args[0].target)} that its rule does not compute",
            hint="leave it out of what the module returns",
        )
    return np.zeros(tuple(fake.shape), dtype_of(fake.dtype).numpy)


def _freed(graph: Graph, name: str) -> str:
    """`name`, which whatever else had it gives up."""
    holder = graph.find(name)
    if holder is not None and holder.producer is not None:
        holder.name = graph.fresh_name(f"{name}_inner")
    return name


def _constant(graph: Graph, name: str, array: Any) -> Value:
    called = graph.fresh_name(name)
    return graph.add_initializer(called, Tensor(array, name=called))


def _makes_complex(node: Any) -> bool:
    fakes = node.meta.get("val")
    every = fakes if isinstance(fakes, tuple | list) else [fakes]
    return any(isinstance(fake, torch.Tensor) and fake.dtype.is_complex for fake in every)


def _dtype_or(dtype: Any) -> DType:
    try:
        return dtype_of(dtype)
    except UnsupportedError:
        return DType.FLOAT32
