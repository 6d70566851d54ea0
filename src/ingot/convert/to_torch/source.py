"""The source of a PyTorch module that computes what a model computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ingot.convert.to_torch.constants import settle_integers
from ingot.convert.to_torch.dtypes import SMALL, torch_dtype
from ingot.convert.to_torch.names import printable
from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.prelude import needed, pieces
from ingot.convert.to_torch.rule import rules
from ingot.convert.to_torch.write import Writer, without_idle_comments
from ingot.convert.unsupported import Unsupported
from ingot.dtypes import Array, DType
from ingot.format.load import ModelSource, load
from ingot.infer import infer
from ingot.ir.inline import inline
from ingot.ir.interface import inputs_to_initializers, remove_dead
from ingot.ir.model import Model, nested_graphs
from ingot.ir.names import separate_scopes
from ingot.ir.tensor import Tensor
from ingot.ir.types import OptionalType, SequenceType, TensorType
from ingot.ir.value import Value
from ingot.ir.verify import verify
from ingot.ops.catalog import standard
from ingot.ops.rewrite import NEWEST
from ingot.repair.apply_rules import with_repairs
from ingot.versions.upgrade import upgrade

_DEFAULTS_SINCE = 4
"""The version of the format since which an initialiser that is an input is a default; before, each had to be one."""


@dataclass(frozen=True, slots=True)
class TorchSource:
    """A module as text, and what it holds.

    `state` are the weights by the keys of the module's state dict, `keys` says which initialiser of the model each was.
    """

    text: str
    state: dict[str, Tensor]
    keys: dict[str, str]

    def arrays(self) -> dict[str, Array]:
        """The weights as arrays that numpy knows by itself: floats that it has not as the integers of their bits."""
        return {key: _plain(tensor) for key, tensor in self.state.items()}


def to_torch_source(
    model: Model | ModelSource, *, trained: Callable[[str], bool] | None = None, weights: str | None = None
) -> TorchSource:
    """The source of a module for a model: an object, a path, bytes or a ModelProto, which stays as it is.

    `trained` says of the name of an initialiser of floats whether it is a parameter; by default weights are, and
    constants and running means are buffers. With `weights`, the source has a function `load`, which reads them from the
    file of that name beside it. ConvertError listing every node that torch has nothing for.
    """
    loaded = model if isinstance(model, Model) else load(model)
    ready = with_repairs(loaded, _ready)[0]
    writer = Writer(ready, frozenset(pieces()), trained)
    parameters = _parameters(ready, writer)
    results = writer.body(ready.graph, [])
    returned = [str(result) for result in results] if not writer.unsupported else []
    writer.unsupported.refuse("ONNX")
    text = _text(ready, writer, parameters, returned, weights)
    state = {key: tensor for key, (tensor, _) in writer.state.items()}
    return TorchSource(text, state, dict(writer.keys))


def _ready(model: Model) -> Model:
    """The model in one graph of the newest operators, typed."""
    ready = model.copy()
    verify(ready)
    separate_scopes(ready)
    upgrade(ready)
    if ready.functions:
        inline(ready)
    _refuse_unknown(ready)
    if ready.ir_version < _DEFAULTS_SINCE:
        inputs_to_initializers(ready)
    ready.graph.sort()
    remove_dead(ready.graph)
    settle_integers(ready, infer(ready, name_sizes=False))
    remove_dead(ready.graph)
    return ready


def _refuse_unknown(model: Model) -> None:
    """ConvertError listing all nodes without a rule, if one is an operator that nothing is known of."""
    unsupported = Unsupported()
    custom = False
    for node in (node for graph in nested_graphs(model.graph) for node in graph):
        domain = node.domain
        unknown = domain not in NEWEST or not standard().versions(domain, node.op_type)
        custom |= unknown
        key = (domain, node.op_type)
        if key not in rules():
            what = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            reason = "it is no operator of the standard" if unknown else rules().explain(key)
            unsupported.add(what, place=f"node '{printable(node.label)}'", reason=reason)
    if custom:
        unsupported.refuse("ONNX")


def _parameters(model: Model, writer: Writer) -> list[str]:
    """The parameters of `forward`, those that a caller may leave out last, and the lines that fill these in."""
    required: list[str] = []
    optional: list[str] = []
    for value in model.graph.inputs:
        name = writer.names.own(value.name)
        writer.operands[value] = Operand(name, value.type, name=value.name)
        if value.constant is not None:
            assert isinstance(value.constant, Tensor)
            held = writer.constant(value, value.constant)
            writer.line(f"{name} = {held} if {name} is None else {name}")
            optional.append(f"{name}: Tensor | None = None")
        elif isinstance(value.type, OptionalType):
            optional.append(f"{name}: {_annotation(value)} = None")
        else:
            required.append(f"{name}: {_annotation(value)}")
    return [*required, *optional]


def _annotation(value: Value) -> str:
    match value.type:
        case SequenceType():
            return "list[Tensor]"
        case OptionalType(element=SequenceType()):
            return "list[Tensor] | None"
        case OptionalType():
            return "Tensor | None"
    return "Tensor"


def _text(model: Model, writer: Writer, parameters: list[str], returned: list[str], weights: str | None) -> str:
    body = without_idle_comments(writer.lines)
    if writer.uses_device:
        body.insert(0, f"        device = {_device(model, writer)}")
    body.append(f"        return {', '.join(returned) if returned else 'None'}")
    declared = [_declaration(key, tensor, trained) for key, (tensor, trained) in writer.state.items()]
    shown = {key: name for name, key in writer.keys.items() if key != name}
    declared = [
        f"{line}  # {printable(shown[key])}" if key in shown else line
        for key, line in zip(writer.state, declared, strict=True)
    ]
    used = writer.used | {"Part"}
    used |= {"parameter" for _, trained in writer.state.values() if trained}
    used |= {"buffer" for _, trained in writer.state.values() if not trained}
    helpers = [piece.text for piece in needed(used)]
    several = ", ".join(["Tensor"] * len(returned)) if len(returned) <= 4 else "Tensor, ..."
    answer = "Tensor" if len(returned) == 1 else f"tuple[{several}]"
    if len(returned) == 1 and not isinstance(model.graph.outputs[0].type, TensorType):
        answer = "list[Tensor] | Tensor | None"
    elif not all(isinstance(value.type, TensorType) for value in model.graph.outputs):
        answer = "tuple"
    init = ["    def __init__(self) -> None:", "        super().__init__()", *(f"        {line}" for line in declared)]
    signature = f"    def forward(self, {', '.join(parameters)}) -> {answer}:"
    if len(signature) > 120:
        listing = [f"        {parameter}," for parameter in parameters]
        signature = "\n".join(["    def forward(", "        self,", *listing, f"    ) -> {answer}:"])
    if not parameters:
        signature = f"    def forward(self) -> {answer}:"
    called = printable(model.graph.name).replace("\\", "/").replace('"', "'")
    about = f'"""{called or "A model"}, written by ingot from ONNX."""'
    chunks = [
        *helpers,
        "\n".join(["class Model(Part):", *init, "", signature, *body]),
    ]
    if weights is not None:
        chunks.append(_LOAD.format(repr(weights)))
    code = "\n\n\n".join(chunks)
    imports = [
        *(["import math"] if re.search(r"\bmath\.", code) else []),
        *(["from pathlib import Path"] if weights is not None else []),
        *([""] if weights is not None or re.search(r"\bmath\.", code) else []),
        *(["import numpy as np"] if re.search(r"\bnp\.", code) else []),
        "import torch",
        *(["import torch.nn.functional as F"] if re.search(r"\bF\.", code) else []),
        "from torch import Tensor, nn",
    ]
    return "\n".join([about, "", "from __future__ import annotations", "", *imports, "", "", code, ""])


_LOAD = '''def load(path: str | Path = Path(__file__).with_name({})) -> Model:
    """The module with its weights, in evaluation mode."""
    model = Model()
    with np.load(path, allow_pickle=False) as stored:
        for name, tensor in model.state_dict().items():
            found = torch.from_numpy(stored[name])
            tensor.copy_(found if found.dtype == tensor.dtype else found.view(tensor.dtype))
    return model.eval()'''


def _declaration(key: str, tensor: Tensor, trained: bool) -> str:
    shape = "".join(f", {size}" for size in tensor.shape)
    dtype = "" if tensor.dtype is DType.FLOAT32 else f", dtype={torch_dtype(tensor.dtype)}"
    return f"{'parameter' if trained else 'buffer'}(self, {key!r}{shape}{dtype})".replace("'", '"')


def _device(model: Model, writer: Writer) -> str:
    for value in model.inputs:
        if isinstance(value.type, TensorType):
            return f"{writer.operands[value]}.device"
    return "next(self.buffers()).device" if any(not t for _, t in writer.state.values()) else 'torch.device("cpu")'


def _plain(tensor: Tensor) -> Array:
    array = tensor.numpy()
    if tensor.dtype in SMALL:
        return array.astype(np.int8 if tensor.dtype in (DType.INT4, DType.INT2) else np.uint8)
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float8")):
        return np.ascontiguousarray(array).view({1: np.uint8, 2: np.int16}[array.dtype.itemsize])
    return array
