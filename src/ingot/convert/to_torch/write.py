"""Writing the source of a model's `forward`: each node by its rule, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ingot.convert.to_torch.dtypes import WIDE, torch_dtype
from ingot.convert.to_torch.names import Keys, Names, attribute, printable
from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, Rule, rules
from ingot.convert.to_torch.say import listed, nested, number_of
from ingot.convert.to_torch.site import Site
from ingot.convert.to_torch.state import is_shown, is_trained
from ingot.convert.unsupported import Unsupported
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.arguments import keywords
from ingot.ops.catalog import standard
from ingot.ops.limit import dense
from ingot.ops.rewrite import NEWEST

_MOST_SIZES = 64
_LONGEST_SIZE = 36


class Writer:
    """The source of one model so far: its lines, its state, and what has no rule."""

    def __init__(self, model: Model, reserved: frozenset[str], trained: Callable[[str], bool] | None) -> None:
        self.model = model
        self.names = Names(reserved)
        self.lines: list[str] = []
        self.depth = 2
        self.loops = 0
        self.used: set[str] = set()
        self.uses_device = False
        self.state: dict[str, tuple[Tensor, bool]] = {}
        """What the module holds by key, and whether it is a parameter."""
        self.keys: dict[str, str] = {}
        """The key of each initialiser that the module holds."""
        self.unsupported = Unsupported()
        self.operands: dict[Value, Operand] = {}
        self.written: set[Node] = set()
        """Nodes that the line of another contains already."""
        self._trained = trained
        self._keys = Keys()
        self._scope = ""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def variable(self, value: Value) -> str:
        """A variable for a value, by which it is known from now on."""
        name = self.names.variable(value.name)
        self.operands[value] = Operand(name, value.type, name=value.name)
        return name

    def operand(self, value: Value) -> Operand:
        """The text for a value that is defined already."""
        operand = self.operands.get(value)
        if operand is None:
            constant = value.constant
            assert constant is not None, f"'{value.name}' is read before it is defined"
            tensor = dense(constant) if isinstance(constant, SparseTensor) else constant
            operand = self.operands[value] = self.constant(value, tensor)
        return operand

    def constant(self, value: Value, tensor: Tensor) -> Operand:
        """The text for a constant: numbers, or an attribute of the module."""
        trained = is_trained(value, tensor)
        if self._trained is not None and tensor.dtype.is_float:
            trained = self._trained(value.name)
        shown = is_shown(value, tensor, trained)
        sizes = None
        countable = tensor.dtype.is_integer or tensor.dtype is DType.BOOL
        if countable and len(tensor.shape) <= 1 and tensor.size <= _MOST_SIZES:
            sizes = [Size.of(int(number), tensor.dtype) for number in tensor.numpy().reshape(-1)]
        literal = None
        if shown and tensor.size == 1 and tensor.dtype is not DType.STRING:
            literal = number_of(tensor.numpy().reshape(-1)[0], tensor.dtype)
        type_ = TensorType(tensor.dtype, tensor.shape)
        if shown:
            return Operand(lambda: self._shown(tensor), type_, sizes=sizes, constant=tensor, literal=literal)
        matrix = self._matrix(value, tensor, trained)
        if matrix is not None:
            return Operand(f"{matrix}.T", type_, constant=tensor, transposed=matrix, name=value.name)
        return Operand(
            lambda: self.held(value.name, tensor, trained), type_, sizes=sizes, constant=tensor, name=value.name
        )

    def body(self, graph: Graph, inputs: Sequence[Operand | None]) -> list[Operand]:
        """Write the nodes of a graph whose inputs are these; returns what it computes."""
        for value, operand in zip(graph.inputs, inputs, strict=False):
            if operand is not None:
                self.operands[value] = operand
        for node in graph:
            self.node(node)
        return [self.operand(value) for value in graph.outputs]

    def node(self, node: Node) -> None:
        """Write one node; a node without a translation is noted, and something stands in for it."""
        if node in self.written:
            return
        try:
            self._say_scope(node)
            self._bind(node, self._expression(node))
        except UnsupportedError as error:
            what = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            self.unsupported.add(what, place=f"node '{printable(node.label)}'", reason=error.message)
            for value in node.outputs:
                self.operands[value] = Operand("None", value.type)

    def _expression(self, node: Node) -> Expression:
        key = (node.domain, node.op_type)
        inputs = [None if value is None else self.operand(value) for value in node.inputs]
        if key not in rules():
            _refuse_strings(node)
        rule = rules().lookup(key)
        operator = standard().get(node.domain, node.op_type, NEWEST[node.domain])
        _refuse_types(node)
        attributes = {**operator.defaults, **keywords(operator, node)}
        gone = {operator.keywords[one.name] for one in operator.attributes.values() if one.until is not None}
        named = {name: value for name, value in attributes.items() if name not in gone}
        while inputs and inputs[-1] is None:
            inputs.pop()
        site = Site(node, self)
        if rule.widens and any(one is not None and one.dtype in WIDE for one in inputs):
            expression = rule(site, *[_widened(one, rule) for one in inputs], **named)
            if isinstance(expression, str) and len(node.outputs) > 1:
                held = site.held(expression)
                expression = [f"{held}[{place}]" for place in range(len(node.outputs))]
            return _narrowed(expression, node, rule)
        return rule(site, *inputs, **named)

    def _bind(self, node: Node, expression: Expression) -> None:
        outputs = list(node.outputs)
        if expression is None:
            return
        if isinstance(expression, str) and len(outputs) > 1:
            wanted = [bool(value.uses or value.is_output) for value in outputs]
            targets = [self.variable(value) if want else "_" for value, want in zip(outputs, wanted, strict=True)]
            self.line(f"{', '.join(targets)} = {expression}")
            return
        for value, one in zip(outputs, expression if isinstance(expression, list) else [expression], strict=False):
            if one is None or not (value.uses or value.is_output):
                continue
            match one:
                case Sizes():
                    self.operands[value] = self._sized(value, one)
                case Operand():
                    self.operands[value] = one
                case str():
                    self.line(f"{self.variable(value)} = {one}")

    def _sized(self, value: Value, sizes: Sizes) -> Operand:
        elements = []
        for element in sizes.elements:
            if len(element.text) <= _LONGEST_SIZE:
                elements.append(element)
                continue
            name = self.names.numbered("n")
            self.line(f"{name} = {element.text}")
            elements.append(Size(name, element.natural))
        assert isinstance(value.type, TensorType)
        dtype, shape = value.type.dtype, () if sizes.is_scalar else (len(elements),)

        def text() -> str:
            options = "" if dtype in (DType.INT64, DType.BOOL) and elements else f", dtype={torch_dtype(dtype)}"
            if sizes.is_scalar:
                return f"torch.tensor({elements[0]}{options})"
            self.uses_device = True
            return f"torch.tensor({listed(elements)}{options}, device=device)"

        return Operand(text, TensorType(dtype, shape), sizes=elements, whole=sizes.whole, name=value.name)

    def _shown(self, tensor: Tensor) -> str:
        plain = tensor.dtype in (DType.INT64, DType.BOOL, DType.FLOAT32) and tensor.size
        options = "" if plain else f", dtype={torch_dtype(tensor.dtype)}"
        if tensor.shape:
            self.uses_device = True
            options += ", device=device"
        array = tensor.numpy()
        if 0 in tensor.shape[:-1]:
            return f"torch.zeros({tuple(tensor.shape)}{options})"
        return f"torch.tensor({nested(array, tensor.dtype)}{options})"

    def held(self, name: str, tensor: Tensor, trained: bool) -> str:
        """The attribute of the module that holds a tensor."""
        if name not in self.keys:
            torch_dtype(tensor.dtype)
            key = self.keys[name] = self._keys.key(name)
            self.state[key] = (tensor, trained)
        return attribute(self.keys[name])

    def _matrix(self, value: Value, tensor: Tensor, trained: bool) -> str | None:
        """The matrix that a constant called `weight.T` is the transpose of: that called `weight`, where it is here."""
        plain = value.name.removesuffix(".T")
        if plain == value.name or len(tensor.shape) != 2:
            return None
        own = self.model.graph.initializers.get(plain)
        if own is None:
            matrix = self.held(plain, Tensor(tensor.numpy().T), trained)
            self.keys[value.name] = self.keys.pop(plain)
            return matrix
        same = isinstance(own.constant, Tensor) and np.array_equal(own.constant.numpy(), tensor.numpy().T)
        return str(self.operand(own)) if same else None

    def _say_scope(self, node: Node) -> None:
        """A comment where the nodes of another part of the original module begin."""
        scope, _, _ = node.name.rpartition("/")
        scope = scope.strip("/")
        if scope and scope != self._scope and node.graph is self.model.graph and not node.applies("Constant"):
            self._scope = scope
            self.line(f"# {printable(scope.replace('/', '.'))}")


def without_idle_comments(lines: Sequence[str]) -> list[str]:
    """Lines without comments that only another comment follows."""
    remaining = [line for line, after in pairwise([*lines, ""]) if not (_is_comment(line) and _is_comment(after))]
    return remaining[:-1] if remaining and _is_comment(remaining[-1]) else remaining


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _widened(operand: Operand | None, rule: Rule[..., Expression]) -> Operand | None:
    if operand is None or operand.dtype not in WIDE or not isinstance(operand.type, TensorType):
        return operand
    type_ = TensorType(DType.INT64, operand.shape)
    if operand.dtype is DType.UINT64 and rule.orders:
        return Operand(f"({operand}.to(torch.int64) ^ {_TOP_BIT})", type_)
    if operand.dtype is DType.UINT64 and not rule.widens_all:
        raise UnsupportedError("torch has none for uint64")
    return Operand(f"{operand}.to(torch.int64)", type_, sizes=operand.sizes, literal=operand.literal)


_TOP_BIT = "torch.iinfo(torch.int64).min"


def _narrowed(expression: Expression, node: Node, rule: Rule[..., Expression]) -> Expression:
    expressions = expression if isinstance(expression, list) else [expression]
    narrowed: list[str | Operand | Sizes | None] = []
    for one, value in zip(expressions, node.outputs, strict=False):
        dtype = value.type.dtype if isinstance(value.type, TensorType) else None
        if isinstance(one, str) and dtype in WIDE:
            assert dtype is not None
            text = f"({one})"
            if dtype is DType.UINT64 and rule.orders:
                text = f"({text} ^ {_TOP_BIT})"
            narrowed.append(f"{text}.to({torch_dtype(dtype)})")
        else:
            narrowed.append(one)
    return narrowed if isinstance(expression, list) else narrowed[0]


def _refuse_types(node: Node) -> None:
    """UnsupportedError if the node reads or makes elements that torch has no type for."""
    for value in (*node.inputs, *node.outputs):
        if value is not None and isinstance(value.type, TensorType) and value.type.dtype is not DType.UNDEFINED:
            torch_dtype(value.type.dtype)


def _refuse_strings(node: Node) -> None:
    for value in (*node.inputs, *node.outputs):
        if value is not None and isinstance(value.type, TensorType) and value.type.dtype is DType.STRING:
            torch_dtype(DType.STRING)
