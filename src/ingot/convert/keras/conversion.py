"""A conversion under way: what the tensors of Keras are so far, their masks, and how rules call one another."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import tree

from ingot.builder import Var
from ingot.builder.emission import emit
from ingot.builder.literals import as_value
from ingot.convert import operands
from ingot.convert.keras.activations import ACTIVATIONS
from ingot.convert.keras.graph import calls_between
from ingot.convert.keras.quiet import quiet
from ingot.convert.keras.rule import find_rule, reason_against
from ingot.convert.keras.tracing import Untraceable, traced_call, traced_mask
from ingot.convert.rules import NO_RULE
from ingot.convert.unsupported import Unsupported
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value

REGISTER = "ingot.convert.keras.register(Layer, rule) adds one"


@dataclass(frozen=True, slots=True)
class State:
    """A tensor that a layer keeps from call to call: it comes in, and goes out changed."""

    name: str
    variable: Any
    before: Var


class Conversion:
    """What rules share.

    `results` are the symbolic results of the operation that is being written, whose element types Keras knows; `notes`
    are values, with the symbolic tensors of the model that hold the same; `states` the tensors that
    stateful layers keep, by variable, with what they are changed to in `changed`.
    """

    def __init__(self, graph: Graph, nodes: list[Node]) -> None:
        self.unsupported = Unsupported()
        self.results: list[Any] = []
        self.notes: list[tuple[Value, Any]] = []
        self.states: dict[int, State] = {}
        self.changed: dict[int, Var] = {}
        self._graph = graph
        self._nodes = nodes
        self._path: list[str] = []
        self._masks: dict[Value, Var] = {}
        self._weights: dict[tuple[object, ...], tuple[object, Var]] = {}

    def run(self, inputs: Sequence[Any], arguments: Sequence[Any], outputs: Any) -> Any:
        """What symbolic tensors `outputs` are where `inputs` are `arguments`: every call between them, in order."""
        values: dict[int, Any] = {id(tensor): value for tensor, value in zip(inputs, arguments, strict=True)}
        for each in calls_between(inputs, outputs):
            args, kwargs = each.filled(values)
            results = self.call(each.operation, *args, results=each.outputs, **kwargs)
            for tensor, value in zip(each.outputs, tree.flatten(results), strict=True):
                values[id(tensor)] = value
                if isinstance(value, Var) and not self._path:
                    self.notes.append((value.value, tensor))
        return tree.map_structure(lambda tensor: values[id(tensor)], outputs)

    def call(self, operation: Any, *args: Any, results: Sequence[Any] = (), **kwargs: Any) -> Any:
        """What a layer or operation gives for these arguments, by its rule or by what its own code calls."""
        outer, self.results = self.results, list(results)
        before = len(self._nodes)
        self._path.append(operation.name)
        try:
            if isinstance(operation, keras.Layer):
                returned = self._layer(operation, args, kwargs)
            else:
                returned = self._operation(operation, args, kwargs)
            self._name(before, returned)
        finally:
            self._path.pop()
            self.results = outer
        return returned

    def _layer(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        reason = reason_against(layer)
        if reason is not None:
            return self._refused(layer, reason)
        kwargs.pop("training", None)  # a model that is called with training=False says so to every layer
        rule = find_rule(layer)
        args, kwargs = tree.map_structure(lambda item: self._as_input(layer, item), (args, kwargs))
        wanted = _parameters(layer.call if rule is None else rule.function)
        bound = _bound(layer, args, kwargs)
        tensors = {name: item for name, item in bound.items() if _has_var(item) and not name.endswith("mask")}
        if len(tensors) == 1 and "mask" in wanted and bound.get("mask") is None:
            kwargs["mask"] = tree.map_structure(self.mask, next(iter(tensors.values())))
        for name, item in tensors.items() if len(tensors) > 1 else ():
            if f"{name}_mask" in wanted and bound.get(f"{name}_mask") is None:
                kwargs[f"{name}_mask"] = tree.map_structure(self.mask, item)
        first = next(iter(bound.values()), None)
        previous = kwargs.get("mask")
        if previous is None:
            previous = tree.map_structure(self.mask, first)
        try:
            results = self._traced(layer, args, kwargs) if rule is None else rule(self, layer, *args, **kwargs)
        except (UnsupportedError, CheckError) as error:
            return self._refused(layer, error.message)
        except Unfinished:
            return self._stand_ins()
        if layer.supports_masking:
            self._mask_results(layer, first, previous, results)
        return results

    def _operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rule = find_rule(operation)
        if rule is None:
            return self._refused(operation, NO_RULE, hint=None)
        try:
            return rule(self, operation, *args, **kwargs)
        except (UnsupportedError, CheckError) as error:
            return self._refused(operation, error.message)

    def _traced(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a layer without a rule gives, by the layers and operations that its own `call` uses."""
        try:
            inputs, arguments, outputs = traced_call(layer, args, kwargs, self.mask)
        except Untraceable as error:
            raise UnsupportedError(
                f"there is no rule for it, and its call takes more than keras.ops: {error}"
            ) from None
        return self.run(inputs, arguments, outputs)

    def _mask_results(self, layer: Any, first: Any, previous: Any, results: Any) -> None:
        values = [value for value in tree.flatten(results) if isinstance(value, Var)]
        if not values or all(value.value in self._masks for value in values):
            return
        try:
            inputs, arguments, masks = traced_mask(layer, first, previous)
        except Untraceable:
            return
        for value, mask in zip(tree.flatten(results), masks, strict=False):
            if mask is not None and isinstance(value, Var) and value.value not in self._masks:
                self.set_mask(value, self.run(inputs, arguments, mask))

    def mask(self, x: Any) -> Var | None:
        """The mask of a tensor: which of its time steps count. None if all do."""
        return self._masks.get(x.value) if isinstance(x, Var) else None

    def set_mask(self, x: Var, mask: Var | None) -> None:
        if mask is not None:
            self._masks[x.value] = mask

    def weight(
        self,
        variable: Any,
        dtype: str | None = None,
        *,
        change: Callable[[Array], Array] | None = None,
        name: str | None = None,
    ) -> Var:
        """A variable of a layer as an initialiser under its own path, `change`d first; stored once for each name."""
        path = getattr(variable, "path", None) or "/".join([*self._path, "weight"])
        called = path if name is None else "/".join([*path.split("/")[:-1], name])
        key = (id(variable), called, dtype)
        if key not in self._weights:
            array = as_array(variable)
            array = array if change is None else change(array)
            array = array if dtype is None else array.astype(dtype_named(dtype).numpy)
            self._weights[key] = variable, self._stored(array, called)
        return self._weights[key][1]

    def constant(self, array: Any, name: str) -> Var:
        """An array as an initialiser under a name of its own, after the layer's."""
        return self._stored(array, "/".join([*self._path, name]))

    def _stored(self, array: Any, name: str) -> Var:
        root = self._graph.root
        called = root.fresh_name(name)
        return Var(root.add_initializer(called, Tensor(np.ascontiguousarray(array), name=called)))

    def number(self, value: Any, like: Var) -> Var:
        """A number as a scalar of the element type of `like`."""
        assert like.dtype is not None
        return Var(as_value(np.array(value).astype(like.dtype.numpy)))

    def operand(self, value: Any, dtype: str | None = None) -> Var:
        """A tensor, variable, array or number as a value, cast to `dtype` where one is given."""
        if isinstance(value, Var):
            return value if dtype is None else cast(value, dtype)
        if isinstance(value, keras.Variable):
            return self.weight(value, dtype if dtype is None or value.dtype != "string" else None)
        array = as_array(value)
        return Var(as_value(array if dtype is None else array.astype(dtype_named(dtype).numpy)))

    def activation(self, function: Any, x: Var) -> Var:
        """What an activation of a layer gives: a function of Keras or of the user, or a layer."""
        if function is None:
            return x
        if isinstance(function, keras.Layer):
            activated: Var = self.call(function, x)
            return activated
        name = getattr(function, "__name__", str(function))
        own = getattr(function, "__module__", "").startswith("keras.src.activations")
        if own and name in ACTIVATIONS:
            return ACTIVATIONS[name](self, x)
        try:
            inputs, arguments, outputs = traced_call(function, (x,), {}, self.mask)
        except Untraceable as error:
            raise UnsupportedError(f"the activation '{name}' takes more than keras.ops: {error}") from None
        result: Var = self.run(inputs, arguments, outputs)
        return result

    def state(self, variable: Any, name: str) -> Var:
        """A tensor that a layer keeps from call to call, as an input of the model."""
        if id(variable) not in self.states:
            called = self._graph.fresh_name("/".join([*self._path, name]))
            value = Value(called, TensorType(dtype_named(variable.dtype), tuple(variable.shape)))
            self._graph.inputs.append(value)
            self.states[id(variable)] = State(called, variable, Var(value))
        return self.changed.get(id(variable), self.states[id(variable)].before)

    def change(self, variable: Any, value: Var) -> None:
        """Note what such a tensor is after the call."""
        self.changed[id(variable)] = cast(value, variable.dtype)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """While it is open, what is made is named after a part of the layer."""
        self._path.append(name)
        try:
            yield
        finally:
            self._path.pop()

    @property
    def place(self) -> str:
        return "/".join(self._path)

    def _refused(self, operation: Any, reason: str, hint: str | None = REGISTER) -> Any:
        kind = type(operation)
        own = kind.__module__.partition(".")[0] == "keras"
        what = kind.__name__ if own else f"{kind.__module__}.{kind.__qualname__}"
        self.unsupported.add(what, place=self.place, reason=reason, hint=None if own else hint)
        return self._stand_ins()

    def _stand_ins(self) -> Any:
        """Values in the place of what cannot be computed, so that what follows is looked at too."""
        types = [TensorType(dtype_named(tensor.dtype), sizes_of(tensor)) for tensor in self.results]
        if not types:
            raise Unfinished
        stand_ins = emit("StandIn", [], {}, outputs=len(types), types=types, domain="unsupported", checked=False)
        values = [Var(value) for value in stand_ins]
        return values[0] if len(values) == 1 else values

    def _as_input(self, layer: Any, item: Any) -> Any:
        """An argument as a layer takes it: floats in the type it computes in."""
        if isinstance(item, keras.Variable):
            item = self.weight(item)
        elif keras.ops.is_tensor(item) and not isinstance(item, keras.KerasTensor):
            item = self.operand(item)
        if not isinstance(item, Var) or not layer._convert_input_args or not layer.autocast:
            return item
        if item.dtype is None or not item.dtype.is_float or item.dtype is dtype_named(layer.input_dtype):
            return item
        converted = cast(item, layer.input_dtype)
        self.set_mask(converted, self.mask(item))
        return converted

    def _name(self, before: int, results: Any) -> None:
        """Call the nodes of an operation, and what it gives, after it."""
        path = self.place
        for node in self._nodes[before:]:
            for value in node.outputs if not node.name else ():
                if value.name:
                    self._rename(value, f"{path}/{node.op_type}")
            node.name = node.name or node.outputs[0].name
        values = [result.value for result in tree.flatten(results) if isinstance(result, Var)]
        for index, value in enumerate(values):
            if value.producer is not None and value.producer in self._nodes[before:]:
                self._rename(value, path if len(values) == 1 else f"{path}:{index}")

    def _rename(self, value: Value, name: str) -> None:
        value.name = self._graph.fresh_name(name)


class Unfinished(Exception):
    """Something could not be converted, and nothing is known of its results; the reason is noted."""


def as_array(value: Any) -> Array:
    """A variable, tensor, array or number of Keras as an array; strings as objects."""
    if isinstance(value, keras.Variable) or keras.ops.is_tensor(value):
        with quiet():
            array = np.asarray(keras.ops.convert_to_numpy(value))
        if array.dtype != object:
            return array
        words = [word.decode("utf-8") if isinstance(word, bytes) else word for word in array.reshape(-1).tolist()]
        return np.array([*words, None], object)[:-1].reshape(array.shape)
    array = np.asarray(value)
    if array.dtype == np.float64 and not isinstance(value, np.ndarray | np.generic):
        return array.astype(keras.config.floatx())
    if array.dtype == np.int64 and not isinstance(value, np.ndarray | np.generic):
        return array.astype(np.int32)
    return array.astype(object) if array.dtype.kind in "US" else array


def cast(x: Var, dtype: Any) -> Var:
    """`x` with another element type, or that of a name of Keras: itself where it has it."""
    return operands.cast(x, dtype if isinstance(dtype, DType) else dtype_named(dtype))


def dtype_named(name: str) -> DType:
    """The element type that Keras calls so."""
    return DType.STRING if name == "string" else DType.of(np.dtype(bool)) if name == "bool" else DType[name.upper()]


def name_of(dtype: DType | None) -> str:
    """What Keras calls an element type."""
    assert dtype is not None
    return dtype.name.lower()


def sizes_of(tensor: Any) -> tuple[int | None, ...]:
    """The sizes of a symbolic tensor, those that Keras knows."""
    return tuple(tensor.shape)


def _has_var(item: Any) -> bool:
    return any(isinstance(leaf, Var) for leaf in tree.flatten(item))


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _bound(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names that `call` has for them."""
    try:
        return dict(inspect.signature(layer.call).bind_partial(*args, **kwargs).arguments)
    except TypeError:
        return dict(enumerate(args)) | dict(kwargs)  # type: ignore[return-value]
