"""A module on disk: its source, and beside it the weights, which numpy reads without running anything."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ingot.convert.to_torch.source import TorchSource, to_torch_source
from ingot.format.atomic import Staged, publish
from ingot.format.load import ModelSource
from ingot.ir.model import Model


def save_torch(
    model: Model | ModelSource, path: str | Path, *, trained: Callable[[str], bool] | None = None
) -> TorchSource:
    """Write `model.py` and, where the module has weights, `model.npz` beside it: both whole, or neither.

    The file imports torch and numpy alone; its function `load` gives the module with its weights. As `to_torch`:
    ConvertError for what torch has nothing for, and then nothing is written.
    """
    target = Path(path)
    weights = target.with_suffix(".npz").name
    source = to_torch_source(model, trained=trained, weights=weights)
    write_source(source, target)
    return source


def write_source(source: TorchSource, target: Path) -> None:
    """Write a source that was made for `target`, and its weights."""
    weights = target.with_suffix(".npz").name
    staged = [Staged(weights, lambda: [stored(source)], lambda _: None)] if source.state else []

    def text(names: dict[str, str]) -> list[bytes]:
        return [source.text.replace(repr(weights), repr(names.get(weights, weights))).encode()]

    publish(target, staged, text, durable=True)


def stored(source: TorchSource) -> bytes:
    """The weights as a file of numpy's, by the keys of the module's state dict: the same bytes for the same weights."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for key, array in source.arrays().items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return content.getvalue()
