# mypy: disable-error-code="valid-type,name-defined"
"""What ingot does, shown on a small classifier of digits: load, look, check, run, edit, build, join, save, view."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

import ingot
from ingot import Float32, build, op
from ingot.cli.main import main as command_line
from ingot.session import Session

DIGITS = Path(__file__).with_name("digits.onnx")
IMAGES = Path(__file__).with_name("digits.npz")
"""Digits of scikit-learn's that the classifier was not trained on, grey levels from 0 to 1, and what they show."""

YES = ("", "y", "yes")
INK = " .:-=+*#%@"
Array = npt.NDArray[np.generic]


def title(text: str) -> None:
    print(f"\n── {text} " + "─" * max(0, 74 - len(text)))


def run(*arguments: str) -> None:
    """A command as it would be typed."""
    print(f"$ ingot {' '.join(arguments)}", flush=True)
    command_line(list(arguments), standalone_mode=False)


def shown(images: Array, probabilities: Array, labels: Array) -> None:
    """Images side by side as characters, each above the answer; one that is wrong says what was right."""
    for row in range(8):
        lines = ("".join(INK[int(level * (len(INK) - 1))] * 2 for level in image[0, row]) for image in images)
        print("  ".join(lines).rstrip())
    answers = probabilities.argmax(1)
    said = (
        f"{answer} ({likely:.1%}{'' if answer == label else f', is {label}'})"
        for answer, likely, label in zip(answers, probabilities.max(1), labels, strict=True)
    )
    print("".join(f"{text:<18}" for text in said).rstrip())


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

    title("check it, and run it on digits it has never seen")
    run("check", str(DIGITS))
    session = Session(model)
    test = np.load(IMAGES)
    images, labels = test["image"], test["label"]
    start = perf_counter()
    probabilities = session(images)
    elapsed = perf_counter() - start
    for first in (0, 4):
        print()
        part = slice(first, first + 4)
        shown(images[part], probabilities[part], labels[part])
    right = int((probabilities.argmax(1) == labels).sum())
    print(f"\n{right} of {len(labels)} right, in {elapsed * 1e3:.1f} ms")

    title("edit: take the softmax off, return the features, name the batch")
    graph = model.graph
    softmax = next(node for node in graph if node.applies("Softmax"))
    scores = softmax.inputs[0]
    assert scores is not None
    softmax.output.replace_uses(scores)
    graph.remove(softmax)
    features = next(node for node in graph if node.applies("Flatten")).output
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
    scores, _ = Session(again)(images * 255)
    same = (scores.argmax(1) == probabilities.argmax(1)).all()
    print(f"its answers are {'the same' if same else 'different'}")

    title("look at it in the browser")
    offer(DIGITS)


def offer(path: Path) -> None:
    """Open the page of a model, if somebody is there to want it; else say how."""
    command = f"ingot view {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(f"groups, weights, every value of a run, differences, edits:\n$ {command}")
        return
    if input("groups, weights, every value of a run, differences, edits. Open the page? [Y/n] ").strip().lower() in YES:
        page = ingot.view(path)
        print(f"{page.url}\nserving until Ctrl-C; again with: {command}")
        with suppress(KeyboardInterrupt):
            page.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        demo(Path(temporary))
