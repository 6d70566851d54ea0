"""Models of any kind of file that ingot reads: ONNX in all its forms, and what it converts."""

from __future__ import annotations

from pathlib import Path

from ingot.errors import UnsupportedError
from ingot.format.load import load
from ingot.ir.model import Model

OWN = (".onnx", ".ort", ".onnxtxt", ".onnxtext", ".pb", ".textproto")
"""Suffixes of files that are read as they are."""


def load_any(path: Path) -> Model:
    """The model in a file, converted if it is another framework's; external weights may be missing.

    DecodeError if it holds none, UnsupportedError for a pickle, which would run the code that is in it.
    """
    return converted(path) or load(path, external="defer")


def converted(path: Path) -> Model | None:
    """The model in a file of another framework, not compared with the original; None for what ingot reads itself.

    UnsupportedError for a pickle, which would run the code that is in it; ConvertError as of `convert`.
    """
    suffix = path.suffix.lower()
    if suffix in OWN:
        return None
    from ingot.convert.api import FRAMEWORKS, PICKLES, convert  # not free to import

    if suffix in PICKLES:
        raise UnsupportedError(
            f"'{path.name}' is a pickle, which runs code as it is loaded",
            hint="if you trust it: ingot convert --trust-pickle",
        )
    foreign = {each for framework in FRAMEWORKS for each in framework.suffixes}
    return convert(path, verify=False) if suffix in foreign else None


def main_file(names: list[str]) -> str:
    """Which of some files is the model, and not the weights of it: by its suffix, else the first."""
    for suffix in OWN:
        for name in names:
            if name.lower().endswith(suffix):
                return name
    return names[0]
