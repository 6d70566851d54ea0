"""`to_source`: a model as a Python program."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from ingot.dataclass import dataclass
from ingot.errors import CheckError, InputError
from ingot.format.load import load
from ingot.ir.model import Model
from ingot.ir.verify import verify, verify_names
from ingot.source.build_style import BuildStyle
from ingot.source.numpy_style import NumpyStyle
from ingot.source.onnx_style import OnnxStyle
from ingot.source.weights import Weights

Style: TypeAlias = Literal["build", "onnx", "numpy"]

_WRITERS: dict[Style, type[BuildStyle | OnnxStyle | NumpyStyle]] = {
    "build": BuildStyle,
    "onnx": OnnxStyle,
    "numpy": NumpyStyle,
}
STYLES: tuple[Style, ...] = ("build", "onnx", "numpy")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A program, and the arrays that it reads from the file beside it."""

    text: str
    weights: Weights
    weights_name: str

    def write(self, path: str | Path) -> list[Path]:
        """Write the program, and its weights beside it if it has any; the files that were written."""
        target = Path(path)
        written = [target]
        if self.weights:
            self.weights.write(target.with_name(self.weights_name))
            written.append(target.with_name(self.weights_name))
        target.write_text(self.text, encoding="utf-8")
        return written


def to_source(model: Model | str | Path, *, style: Style = "build", weights: str = "model.npz") -> Source:
    """A program for a model: `build` and `onnx` build it anew, equal node by node and bit by bit; `numpy` computes it.

    `weights` is the name of the file of weights beside the program. CheckError for a model of broken structure;
    UnsupportedError, naming the operators, for one that `numpy` cannot express.
    """
    if style not in STYLES:
        raise InputError(f"there is no style '{style}'", hint=f"styles are {', '.join(STYLES)}")
    opened = load(model) if isinstance(model, str | Path) else model
    try:
        verify(opened)
    except CheckError as error:
        error.hint = "ingot.repair(model), or ingot check --fix -o OUT, mends what a session repairs"
        raise
    verify_names(opened)
    arrays = Weights()
    text = _WRITERS[style](opened, arrays, weights).text()
    return Source(text, arrays, weights)
