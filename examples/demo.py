# mypy: disable-error-code="valid-type,name-defined"
"""What ingot does today, shown on a small classifier of digits: load, look inside, edit, build, join, save."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import ingot
from ingot import Float32, build, op
from ingot.cli.main import main as command_line

DIGITS = Path(__file__).with_name("digits.onnx")


def title(text: str) -> None:
    print(f"\n── {text} " + "─" * max(0, 74 - len(text)))


def run(*arguments: str) -> None:
    """A command as it would be typed."""
    print(f"$ ingot {' '.join(arguments)}", flush=True)
    command_line(list(arguments), standalone_mode=False)


@build(opset=20, outputs=["image"])
def from_bytes(pixels: Float32["batch", 1, 8, 8]) -> Float32["batch", 1, 8, 8]:
    """Grey levels from 0 to 255 as the classifier wants them."""
    return op.Clip(pixels / 255.0, 0.0, 1.0)


def demo(folder: Path) -> None:
    title("a model, mapped into memory")
    start = perf_counter()
    model = ingot.load(DIGITS)
    print(f"loaded in {(perf_counter() - start) * 1e3:.2f} ms: {model}")

    title("look inside")
    run("info", str(DIGITS), "--largest", "3")

    title("edit: take the softmax off, return the features, name the batch")
    graph = model.graph
    softmax = next(node for node in graph if node.op_type == "Softmax")
    scores = softmax.inputs[0]
    assert scores is not None
    softmax.output.replace_uses(scores)
    graph.remove(softmax)
    features = next(node for node in graph if node.op_type == "Flatten").output
    ingot.add_outputs(model, [features.name])
    ingot.set_batch(model, "n")
    model.metadata["edited"] = "softmax removed"
    ingot.verify(model)
    print(model)

    title("build another in Python, and run one after the other")
    joined = ingot.join(from_bytes, model, {"image": "image"})
    print(ingot.to_text(joined, elide=4))

    title("save: weights in a file of their own")
    target = folder / "digits.onnx"
    ingot.save(joined, target, external="one-file", threshold=256)
    run("external", str(target))
    again = ingot.load(target)
    assert ingot.encode(again.copy()) == ingot.encode(again)
    print(f"\nloaded again: {again}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        demo(Path(temporary))
