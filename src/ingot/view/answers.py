"""What the page asks for, by path: the same for a server and for a page that is saved."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING

import numpy as np

from ingot.dataclass import dataclass
from ingot.feeds.sizes import size_names
from ingot.format.content import FileMap, require_unchanged
from ingot.ir.domains import spelled_out
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.runtime.garbage import uncollected
from ingot.view.answering import Json, NotThere
from ingot.view.boxes import number_text, type_text
from ingot.view.families import FAMILIES, mixture
from ingot.view.flow import constant_of, is_constant_node
from ingot.view.opening import opened_at_first
from ingot.view.plain import plain
from ingot.view.reflow import Placed, place
from ingot.view.scene import Item, Level, Scene
from ingot.view.themes import DARK, LIGHT

if TYPE_CHECKING:
    from ingot.dtypes import Array
    from ingot.view.running import Running
    from ingot.view.runs import Runs

_NODE = re.compile(r"in node '(.*)' \(", re.DOTALL)
_MOST_PROBLEMS = 200


@dataclass(slots=True, eq=False)
class Answers:
    """Answers about one model, computed when they are first asked for; safe for several threads.

    `typed` gives the types of its values where they are not to be inferred. `runs_by_tab` are the runs that each tab
    has made last, of this model or of another version of it, whose inputs are those of the next.
    """

    model: Model
    title: str
    typed: Callable[[], Mapping[Value, Type]] | None = None
    runs_by_tab: dict[str, Runs] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _scene: Scene | None = None
    _types: Mapping[Value, Type] | None = None
    _leaves: dict[Node | Value, int] | None = None
    _problems: list[Json] | None = None
    _first: Json = None
    _running: Running | None = None

    def get(self, path: str) -> Json:
        """The answer to a path, of what JSON has; NotThere if there is none."""
        name, *rest = path.split("/")
        if name in _OF_RUNS:
            return self.running.get(path)
        answer = _PATHS.get(name)
        with self._lock:
            try:
                if answer is not None:
                    return answer(self, *map(int, rest))
            except (TypeError, ValueError, IndexError):
                pass
        raise NotThere(f"nothing is found under '{path}'")

    def prepare(self) -> None:
        """Compute the first picture, whose errors are those of who asks for it."""
        with contextlib.suppress(Exception):
            self.get("model")

    def file(self, path: str) -> bytes:
        """A weight, or a value of a run, as an .npy file; types that numpy lacks become float32 or int8."""
        from ingot.view.details import weight_of

        if path.startswith("flow/"):
            return self.running.file(path)
        match = re.fullmatch(r"npy/(\d{1,9})/(\d{1,9})", path)
        try:
            with self._lock:
                array = _array_of(weight_of(self.scene.leaf(int(match[1])), int(match[2]))) if match else None
        except IndexError:
            array = None
        if array is None:
            raise NotThere(f"nothing is found under '{path}'")
        content = io.BytesIO()
        np.save(content, plain(array))
        return content.getvalue()

    def everything(self, *, weights: bool = True) -> Iterator[tuple[str, Json]]:
        """All that a saved page shows: paths and their answers; those of weights may be left out."""
        self.types()
        levels = list(self.scene.everything())
        yield "model", self.get("model")
        for number in levels:
            yield f"level/{number}", self.get(f"level/{number}")
        for leaf in range(len(self.scene.leaves)):
            node = self.scene.leaf(leaf).node
            yield f"node/{leaf}", self.get(f"node/{leaf}")
            for index, value in enumerate(node.inputs if node is not None and weights else ()):
                if value is not None and _is_weight(value):
                    yield f"weight/{leaf}/{index}", self.get(f"weight/{leaf}/{index}")
        for number in range(len(self.scene.values)):
            yield f"value/{number}", self.get(f"value/{number}")
        for path in ("types", "outputs", "index", "check", "amounts"):
            yield path, self.get(path)

    @property
    def scene(self) -> Scene:
        """The model as it is drawn."""
        with self._lock:
            if self._scene is None:
                with uncollected():
                    self._scene = Scene(self.model)
            return self._scene

    def types(self) -> Mapping[Value, Type]:
        """The types of values, inferred."""
        with self._lock:
            if self._types is None and self.typed is not None:
                self._types = self.typed()
            if self._types is None:
                from ingot.view.inferred import inferred_types  # slow to import, and not needed for the first picture

                self._types = inferred_types(self.model)
            return self._types

    def post(self, path: str, body: bytes) -> Json:
        """The answer to a request that computes something; NotThere for any other."""
        return self.running.post(path, body)

    @property
    def running(self) -> Running:
        """The runs of the model."""
        with self._lock:
            if self._running is None:
                from ingot.view.running import Running  # imports sessions

                self._running = Running(self)
            return self._running

    def numbered(self, shown: Callable[[Mapping[Node | Value, int]], Json]) -> Json:
        """What a function makes of the numbers of leaves, while nobody else gives numbers."""
        with self._lock:
            return shown(self._numbers())

    def named_values(self) -> Mapping[str, Value]:
        """The values of all graphs, by name."""
        return {value.name: value for graph in self.model.graphs() for value in graph.values() if value.name}

    def nodes(self) -> list[Node]:
        """The nodes of all graphs, but for those that only state a constant."""
        return [node for graph in self.model.graphs() for node in graph.nodes if not is_constant_node(node)]

    def _model(self) -> Json:
        if self._first is None:
            with uncollected():
                self._first = self._first_picture()
        return self._first

    def _first_picture(self) -> Json:
        scene = self.scene
        opened = opened_at_first(scene)
        levels = _levels_in(place(scene, scene.root, opened))
        nodes = self.nodes()
        weights = _weights(self.model)
        return {
            "title": self.title,
            "facts": f"{len(nodes):,} nodes · {number_text(weights)} weights",
            "root": scene.root,
            "opened": sorted(opened),
            "levels": [self._level(number) for number in levels],
            "families": {name: asdict(family) for name, family in FAMILIES.items()},
            "used": [family for family, _ in mixture(nodes)],
            "themes": {"light": asdict(LIGHT), "dark": asdict(DARK)},
            "summary": self._summary(nodes, weights),
        }

    def _summary(self, nodes: list[Node], weights: int) -> Json:
        model = self.model
        producer = f"{model.producer_name} {model.producer_version}".strip()
        facts = [
            ("nodes", f"{len(nodes):,}"),
            ("weights", f"{weights:,}"),
            ("weights take", number_text(_weight_bytes(model), "B")),
            ("operator sets", ", ".join(f"{spelled_out(domain)} {v}" for domain, v in model.opset_imports.items())),
            ("format", f"IR version {model.ir_version}"),
            ("written by", producer),
            ("graph", model.graph.name),
            ("functions", f"{len(model.functions):,}" if model.functions else ""),
        ]
        return {
            "facts": [row for row in facts if row[1]],
            "doc": (model.doc_string or model.graph.doc_string)[:1000],
            "inputs": [(value.name, str(value.type or "")) for value in model.inputs],
            "sizes": size_names(model.inputs),
            "outputs": self._outputs(self._types or {}),
            "operators": Counter(node.op_type for node in nodes).most_common(16),
            "metadata": {name: text[:1000] for name, text in model.metadata.items()},
        }

    def _level(self, number: int) -> Json:
        level = self.scene.level(number)
        values = sorted({value for line in level.lines for value in line.values})
        return {
            **_level_json(level),
            "names": {value: self.scene.values[value].name for value in values},
            "types": {value: text for value in values if (text := self._type_text(value))},
        }

    def _type_text(self, number: int) -> str:
        value = self.scene.values[number]
        return type_text(value.type if self._types is None else self._types.get(value, value.type))

    def _all_types(self) -> Json:
        self.types()
        return {number: text for number in range(len(self.scene.values)) if (text := self._type_text(number))}

    def _typed_outputs(self) -> Json:
        return self._outputs(self.types())

    def _outputs(self, types: Mapping[Value, Type]) -> Json:
        """The names of what the model returns, with types: those given where they are known, else those of the file."""
        return [(value.name, str(types.get(value, value.type) or "")) for value in self.model.graph.outputs]

    def _index(self) -> Json:
        scene = self.scene
        levels = list(scene.everything())
        leaves = [scene.leaf(number) for number in range(len(scene.leaves))]
        types = self.types()

        def spelled(node: Node | None, value: Value | None) -> str:
            values = [value] if node is None else node.outputs
            return " ".join(str(types.get(each, each.type) or "") for each in values if each is not None)

        def outputs(node: Node | None, value: Value | None) -> str:
            values = [value] if node is None else node.outputs
            return " ".join(
                f"{each.name} {type_text(types.get(each, each.type))}".strip() for each in values if each is not None
            )

        return {
            "names": [leaf.name for leaf in leaves],
            "operators": [leaf.kind if leaf.node is None else leaf.node.op_type for leaf in leaves],
            "outputs": [outputs(leaf.node, leaf.value) for leaf in leaves],
            "types": [spelled(leaf.node, leaf.value) for leaf in leaves],
            "levels": [level for level, _ in scene.leaves],
            "around": [scene.around(number) for number in levels],
            "headings": [scene.heading(number) for number in levels],
        }

    def numbers(self) -> Mapping[Node | Value, int]:
        """The numbers of the leaves that are nodes or inputs."""
        with self._lock:
            return self._numbers()

    def _numbers(self) -> Mapping[Node | Value, int]:
        """The numbers of the leaves that are nodes or inputs."""
        if self._leaves is None or len(self._leaves) < len(self.scene.leaves):
            list(self.scene.everything())
            numbers: dict[Node | Value, int] = {}
            for number in range(len(self.scene.leaves)):
                leaf = self.scene.leaf(number)
                end = leaf.node or (leaf.value if leaf.kind == "input" else None)
                if end is not None:
                    numbers.setdefault(end, number)
            self._leaves = numbers
        return self._leaves

    def _node(self, leaf: int) -> Json:
        from ingot.view.details import leaf_details  # imports operators

        scene = self.scene
        return leaf_details(scene.leaf(leaf), self.model, self._numbers(), self.types(), scene.number_of)

    def _value(self, number: int) -> Json:
        from ingot.view.details import ends_of

        value = self.scene.values[number]
        type_ = self.types().get(value, value.type)
        producers, readers = ends_of(value, self._numbers())
        return {
            "name": value.name,
            "type": "" if type_ is None else str(type_),
            "producers": producers,
            "readers": [*readers, *(self._outputs_of(value))],
        }

    def _outputs_of(self, value: Value) -> list[tuple[int, str]]:
        leaves = (
            ((number, self.scene.leaf(number)) for number in range(len(self.scene.leaves))) if value.is_output else ()
        )
        return [
            (number, f"output {value.name}") for number, leaf in leaves if leaf.kind == "output" and leaf.value is value
        ]

    def _weight(self, leaf: int, index: int) -> Json:
        from ingot.view.arrays import described
        from ingot.view.colours import in_colour
        from ingot.view.details import weight_of

        tensor = weight_of(self.scene.leaf(leaf), index)
        name = re.sub(r"[^\w.-]+", "_", tensor.name, flags=re.ASCII) or "weight"
        array = _array_of(tensor)
        return {**described(array), "colours": in_colour(array), "file": f"{name[-80:]}.npy"}

    def _amounts(self) -> Json:
        from ingot.view.amounts import amounts  # imports operators

        return amounts(self.model, self.types())

    def _check(self) -> Json:
        if self._problems is None:
            from ingot.infer.check import check  # slow to import

            numbers = {leaf.label: number for leaf, number in self._numbers().items() if isinstance(leaf, Node)}
            self._problems = []
            for problem in check(self.model)[:_MOST_PROBLEMS]:
                names = [match[1] for line in problem.where if (match := _NODE.match(line))]
                self._problems.append({**asdict(problem), "leaf": numbers.get(names[0]) if names else None})
        return self._problems


_PATHS: dict[str, Callable[..., Json]] = {
    "model": Answers._model,
    "level": Answers._level,
    "types": Answers._all_types,
    "outputs": Answers._typed_outputs,
    "index": Answers._index,
    "node": Answers._node,
    "value": Answers._value,
    "weight": Answers._weight,
    "check": Answers._check,
    "amounts": Answers._amounts,
}

_OF_RUNS = ("state", "result", "profile", "explain")
"""Paths whose answers need sessions; some take long, while others are answered."""


def _level_json(level: Level) -> Json:
    layout = level.layout
    return {
        "number": level.number,
        "title": level.title,
        "class": level.of_class,
        "items": [_item_json(item) for item in level.items],
        "ranks": layout.ranks,
        "centres": [round(x, 2) for x in layout.centres],
        "rows": layout.rows,
        "bends": layout.bends,
        "tracks": [
            {
                "values": track.line.values,
                "source": track.line.source,
                "targets": track.line.targets,
                "bends": [(rank, round(x, 2)) for rank, x in track.bends],
                "leaves": track.leaves,
                "enters": track.enters,
                "stub": track.is_stub,
            }
            for track in layout.tracks
        ],
    }


def _item_json(item: Item) -> Json:
    return {
        "kind": item.kind,
        "number": item.number,
        "title": item.label.title,
        "rows": [(row.kind, row.text) for row in item.label.rows],
        "width": item.box.width,
        "height": item.box.height,
        "values": item.values,
        "family": item.family,
        "mixture": item.mixture,
        "opens": item.opens,
        "members": item.members,
        "size": item.size,
    }


def _levels_in(picture: Placed) -> list[int]:
    return [picture.level.number, *(number for inner in picture.inner.values() for number in _levels_in(inner))]


def _constants(model: Model) -> list[Tensor | SparseTensor]:
    constants: dict[int, Tensor | SparseTensor] = {}
    for graph in model.graphs():
        for value in graph.initializers.values():
            if value.constant is not None:
                constants[id(value.constant)] = value.constant
        for node in graph.nodes:
            if node.attributes:
                for attribute in node.attributes.values():
                    constants.update({id(tensor): tensor for tensor in attribute.tensors})
    return list(constants.values())


def _weights(model: Model) -> int:
    return sum(tensor.size for tensor in _constants(model))


def _weight_bytes(model: Model) -> int:
    return sum(tensor.nbytes for tensor in _constants(model))


def _is_weight(value: Value) -> bool:
    return constant_of(value) is not None


def _array_of(tensor: Tensor | SparseTensor) -> Array:
    """The elements of a constant; InputError if they are in a file that was written to since it was opened."""
    dense = tensor if isinstance(tensor, Tensor) else tensor.dense()
    if isinstance(dense.owner, FileMap):
        require_unchanged(dense.owner)
    return dense.numpy()
