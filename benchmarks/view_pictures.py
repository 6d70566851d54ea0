"""The pictures of the guide to viewing: the page of models as it opens, and of what it can do.

    python -m benchmarks.view_pictures [--models FOLDER] [NAME...]

writes docs/guide/pictures. Models are those of `python -m benchmarks.zoo`, in build/zoo or the folder given, a pipeline
of scikit-learn and one of 10,000 nodes, which are made here. It needs playwright, Chromium, Pillow and scikit-learn.
"""

# mypy: disable-error-code="import-untyped,import-not-found"

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot import DType, Graph, Model, Node, TensorType, Value
from ingot.view.answering import Answering
from ingot.view.answers import Answers
from ingot.view.comparing.comparison import Comparison
from ingot.view.editable import Editable
from ingot.view.png import browser
from ingot.view.server import Server

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "guide" / "pictures"
SIZE = {"width": 1180, "height": 740}
_COMMON, _MERGED = 208, 48
"""Colours of a picture: those of most pixels, of areas as a rule, and what all others become."""

Shot = Callable[[Path], tuple[Answering, Callable[[Any], None]]]
"""Of the folder of models: what is served, and what is done in the page before the picture is taken."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SHOTS)} [all]")
    parser.add_argument("--models", type=Path, default=ROOT / "build" / "zoo")
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        for name in options.names or SHOTS:
            answering, act = SHOTS[name](options.models)
            with Server(lambda answering=answering: answering) as server:  # type: ignore[misc]
                page = chromium.new_page(viewport=SIZE, reduced_motion="reduce")
                page.goto(server.url)
                page.wait_for_selector("body[data-typed]", timeout=120_000)
                act(page)
                page.wait_for_timeout(2500)
                picture = page.locator(PARTS[name]).screenshot() if name in PARTS else page.screenshot()
                _write(picture, options.output / f"{name}.png")
                page.close()
        chromium.close()


def _write(content: bytes, path: Path) -> None:
    """A picture with few colours, those of areas as they are: a third of the bytes, and the eye sees no difference."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    colours, places, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    common = colours[np.argsort(-counts)[:_COMMON]]
    merged = Image.fromarray(colours[None]).quantize(_MERGED, Image.Quantize.MEDIANCUT).getpalette() or []
    palette = np.concatenate([common, np.array(merged).reshape(-1, 3)]).astype(np.int64)
    apart = ((colours[:, None].astype(np.int64) - palette) ** 2).sum(-1)
    image = Image.fromarray(apart.argmin(-1)[places].astype(np.uint8).reshape(pixels.shape[:2]), "P")
    image.putpalette(palette.astype(np.uint8).tobytes())
    image.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size:,} B", flush=True)


def _file(name: str, act: Callable[[Any], None] = lambda _: None) -> Shot:
    def shot(folder: Path) -> tuple[Answering, Callable[[Any], None]]:
        path = folder / f"{name}.onnx"
        return Editable(Answers(ingot.load(path, external="defer"), path.name), path.name), act

    return shot


def _pipeline(_: Path) -> tuple[Answering, Callable[[Any], None]]:
    """Columns scaled and encoded, then a forest: a pipeline as people train them."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    generator = np.random.default_rng(0)
    rows = np.concatenate([generator.normal(size=(200, 4)), generator.integers(0, 3, (200, 2))], axis=1)
    numbers = Pipeline([("impute", SimpleImputer()), ("scale", StandardScaler())])
    columns = ColumnTransformer(
        [("numbers", numbers, [0, 1, 2, 3]), ("classes", OneHotEncoder(handle_unknown="ignore"), [4, 5])]
    )
    forest = RandomForestClassifier(20, max_depth=5, random_state=0)
    fitted = Pipeline([("columns", columns), ("forest", forest)]).fit(rows, rows[:, 0] > 0)
    return Editable(Answers(ingot.convert(fitted), "pipeline.onnx"), "pipeline.onnx"), lambda _: None


def ten_thousand(*, differing: bool = False) -> Model:
    """A deep transformer as an exporter writes it: 10,000 nodes, of which the names tell the modules.

    Its 400 layers are equal, and drawn as one, unless they are `differing`.
    """
    x = Value("tokens", TensorType(DType.FLOAT32, (1, 128, 64)))
    graph = Graph([x], name="deep")
    weight = graph.add_initializer("weight", np.zeros((64, 64), np.float32))
    scale = graph.add_initializer("scale", np.ones(64, np.float32))
    value = x
    for number in range(400):
        value = layer(graph, value, lambda _: weight, f"/decoder/layers.{number}")
        if differing and value.producer is not None:
            value.producer["number"] = number  # it means nothing, and makes each layer another
    graph.outputs.append(graph.append(Node("LayerNormalization", [value, scale], ["hidden"], name="/norm")).output)
    return Model(graph, 20)


def _ten_thousand(_: Path) -> tuple[Answering, Callable[[Any], None]]:
    return Editable(Answers(ten_thousand(), "deep.onnx"), "deep.onnx"), lambda _: None


def layer(graph: Graph, x: Value, weight: Callable[[str], Value], name: str) -> Value:
    """Append a layer of a transformer, 25 nodes; `weight` returns a square matrix for a name."""

    def add(operator: str, module: str, *inputs: Value, **attributes: object) -> Value:
        count = len(graph)
        node = Node(operator, inputs, [f"v{count}"], attributes, name=f"{name}{module}/{operator}_{count}")
        return graph.append(node).output

    def multiplied(module: str, value: Value) -> Value:
        return add("MatMul", module, value, weight(f"{name}{module}"))

    normed = _normalised(add, "/norm1", x)
    query, key, read = (multiplied(f"/attention/{part}", normed) for part in ("query", "key", "value"))
    transposed = add("Transpose", "/attention", key, perm=[0, 2, 1])
    scores = add("Softmax", "/attention", add("MatMul", "/attention", query, transposed))
    x = add("Add", "", x, multiplied("/attention/out", add("MatMul", "/attention", scores, read)))
    hidden = multiplied("/mlp/up", _normalised(add, "/norm2", x))
    gated = add("Mul", "/mlp", hidden, add("Sigmoid", "/mlp", hidden))
    return add("Add", "", x, multiplied("/mlp/down", gated))


def _normalised(add: Callable[..., Value], module: str, x: Value) -> Value:
    centred = add("Sub", module, x, add("ReduceMean", module, x))
    deviation = add("Sqrt", module, add("ReduceMean", module, add("Mul", module, centred, centred)))
    return add("Div", module, centred, deviation)


def _edited(folder: Path) -> tuple[Answering, Callable[[Any], None]]:
    def act(page: Any) -> None:
        page.click("#edit")
        page.fill("#search", "relu")
        page.wait_for_selector("#hits li")
        page.press("#search", "Enter")
        page.wait_for_selector("#panel [data-field='operator']")
        page.fill("#panel [data-field='operator']", "Selu")
        page.press("#panel [data-field='operator']", "Enter")
        page.wait_for_selector("#panel button:text-is('↶ Undo 1')")
        page.fill("#panel [data-field='new attribute']", "gama")
        page.fill("#panel [data-field='new value']", "0.5")
        page.click("#panel button:text-is('Add')")
        page.wait_for_selector("#panel button:text-is('↶ Undo 2')")
        page.wait_for_timeout(4000)
        page.keyboard.press("Escape")

    answering, _ = _file("resnet50")(folder)
    return answering, act


def _compared(folder: Path) -> tuple[Answering, Callable[[Any], None]]:
    before, after = (ingot.load(folder / "resnet50.onnx", external="defer") for _ in range(2))
    activations = [node for node in after.graph if node.applies("Relu")]
    ingot.bypass(activations[1])
    convolutions = [node for node in after.graph if node.applies("Conv")]
    ingot.insert_after(convolutions[4].output, Node("HardSwish", [convolutions[4].output], ["swish"]))
    convolutions[2]["dilations"] = [2, 2]
    weight = convolutions[3].inputs[1]
    assert weight is not None
    ingot.set_constant(weight, np.asarray(weight.constant.numpy()) * np.float32(1.01))  # type: ignore[union-attr]
    comparison = Comparison(Answers(before, "resnet50.onnx"), Answers(after, "tuned.onnx"))
    return comparison, lambda page: page.evaluate(
        "ingot.reveal([...ingot.drawing.marks.leaves.keys()][2]).then(() => ingot.select({kind: 'model'}))"
    )


def _run(page: Any) -> None:
    page.click("#run")
    page.wait_for_selector("#run:text-is('▶ Run')", timeout=120_000)


def _found(page: Any) -> None:
    """Select the first softmax."""
    page.fill("#search", "softmax")
    page.wait_for_selector("#hits li")
    page.press("#search", "Enter")
    page.wait_for_selector("#panel h1:text-is('Softmax')")


def _attention(page: Any) -> None:
    page.fill("#panel .run label:has-text('tokens') input", "24")
    _run(page)
    _found(page)
    page.wait_for_selector("#panel .flowed .chooser")
    page.evaluate("document.querySelector('#panel .flowed').scrollIntoView()")


def _differences(page: Any) -> None:
    _run(page)
    page.click("#panel button:text-is('Compare it …')")
    page.select_option("#desk select", "bf16")
    page.click("#desk button:text-is('Compare')")
    page.wait_for_selector("#desk .ranked .step", timeout=300_000)
    _found(page)


def _measured(page: Any) -> None:
    page.click("#profile")
    page.fill("#desk input[type=number]", "1")
    page.click("#desk button:text-is('Measure')")
    page.wait_for_selector("#desk .ranked .step", timeout=300_000)


def _roofline(page: Any) -> None:
    _measured(page)
    page.click("#desk button:text-is('Roofline')")


PARTS = {"roofline": "#desk"}
"""What of the page is in a picture that has not all of it."""

SHOTS: dict[str, Shot] = {
    "resnet": _file("resnet50"),
    "bert": _file("bert_base"),
    "whisper": _file("whisper_decoder_step"),
    "silero": _file("silero_vad"),
    "pipeline": _pipeline,
    "ten_thousand": _ten_thousand,
    "edit": _edited,
    "diff": _compared,
    "attention": _file("distilbert", _attention),
    "differences": _file("distilbert", _differences),
    "profile": _file("distilbert", _measured),
    "roofline": _file("distilbert", _roofline),
}


if __name__ == "__main__":
    main()
