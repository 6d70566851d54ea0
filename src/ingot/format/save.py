"""Saving a model: whole or with its weights outside, and never anything but the old model or the new one on disk."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from ingot.dtypes import DType
from ingot.errors import DecodeError, InputError, UnsupportedError
from ingot.format.atomic import Staged, publish
from ingot.format.decode import decode
from ingot.format.encode import LARGEST, encode_parts
from ingot.format.external import ExternalPolicy, split_location
from ingot.format.load import TEXT_SUFFIXES, read_file
from ingot.format.onnx import from_onnx, is_model_proto
from ingot.format.wire import Malformed
from ingot.format.write import Part, Parts
from ingot.ir.model import Model
from ingot.ir.tensor import External, SparseTensor, Tensor

Mode: TypeAlias = Literal["auto", "never", "one-file", "per-tensor"]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes written so far and in all."""

_ALIGNMENT = 64  # a cache line, and the widest vector
_PAGE = 4096  # lets other readers map a large tensor by itself
_LARGE = 1 << 16
_SLACK = 1 << 26  # room left in a whole file for everything that is not weights


def save(
    model: Model | Any,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    external: Mode = "auto",
    threshold: int = 1024,
    location: str | None = None,
    durable: bool = True,
    progress: Progress | None = None,
) -> None:
    """Write `model` to `path`, a file or a binary stream. The same model always gives the same bytes.

    `external`: where the weights go.
      "auto": inside, as long as the file stays below 2 GiB; tensors that already lie in files beside `path` stay there,
      and tensors that came from external files elsewhere are written to a new one.
      "never": inside; UnsupportedError if the file would pass 2 GiB.
      "one-file": tensors of at least `threshold` bytes in one file, `location` or the model's name with `.data`.
      "per-tensor": each of them in a file of its own, in the folder `location` or the model's name with `.weights`.
    `durable`: wait until the bytes are on the disk.

    Until the new model is complete, the old one stays in place with its data; an error or a crash leaves the old or the
    new. A path that ends in .onnxtxt is written as text.
    """
    if is_model_proto(model):
        model = from_onnx(model)
    if not isinstance(model, Model):
        raise InputError(f"cannot save a {type(model).__name__}", hint="give an ingot.Model or an onnx.ModelProto")
    if external not in ("auto", "never", "one-file", "per-tensor"):
        raise InputError(f"external is '{external}'", hint="auto, never, one-file or per-tensor")
    if not isinstance(path, str | os.PathLike):
        _write_stream(model, path)
        return
    target = Path(path)
    if target.suffix in TEXT_SUFFIXES:
        from ingot.ir.text import to_text  # rarely needed, and not free to import

        publish(target, [], lambda _: [to_text(model, elide=None).encode()], durable=durable)
        return
    layout = _Layout(model, target, external, threshold, location)
    files = layout.files()
    counter = _Counter(progress, sum(file.size for file in files))
    staged = [Staged(file.location, file.write, counter.add) for file in files]

    def message(names: dict[str, str]) -> list[Part]:
        return layout.encode(names).parts

    publish(target, staged, message, durable=durable)


def _write_stream(model: Model, stream: IO[bytes]) -> None:
    message = encode_parts(model, _inside)
    if message.size > LARGEST:
        raise UnsupportedError(
            f"a stream cannot hold a protobuf message of {message.size:,} bytes", hint="save to a path"
        )
    for part in message.parts:
        stream.write(part)


def _inside(tensor: Tensor) -> Tensor:
    if tensor.external is None:
        return tensor
    twin = tensor.renamed(tensor.name)
    twin.external = None
    return twin


class _Counter:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)


@dataclass(slots=True)
class _File:
    """One external file to be: tensors at their offsets."""

    location: str
    tensors: list[tuple[int, Tensor]]
    size: int = 0

    def add(self, tensor: Tensor) -> int:
        nbytes = tensor.nbytes
        alignment = _PAGE if nbytes >= _LARGE else _ALIGNMENT
        offset = -(-self.size // alignment) * alignment
        self.tensors.append((offset, tensor))
        self.size = offset + nbytes
        return offset

    def write(self) -> Iterator[Part]:
        """The content, a tensor at a time: only one is in memory that was not before."""
        position = 0
        for offset, tensor in self.tensors:
            if offset > position:
                yield bytes(offset - position)
            raw = tensor.raw()
            yield raw
            position = offset + len(raw)


class _Layout:
    """Which tensors of a model go where."""

    def __init__(self, model: Model, target: Path, mode: Mode, threshold: int, location: str | None) -> None:
        self._model = model
        self._target = target
        self._mode = mode
        self._threshold = threshold
        self._placed: dict[int, tuple[Tensor, External]] = {}
        self._files: list[_File] = []
        self._folder = os.path.realpath(target.parent)
        self._location = self._checked(location)
        if mode == "auto":
            self._plan_auto(list(model_tensors(model, attributes=False)))
        elif mode != "never":
            self._plan(tensor for tensor in model_tensors(model, attributes=True) if tensor.nbytes >= threshold)
        self._message = self._encode({})
        if self._message.size > LARGEST and mode != "never":
            self._plan(tensor for tensor in model_tensors(model, attributes=True) if tensor.nbytes >= threshold)
            self._message = self._encode({})
        size = self._message.size
        if size > LARGEST:
            raise UnsupportedError(
                f"the model file would take {size:,} bytes, more than protobuf's {LARGEST:,}",
                hint="external='auto' moves the weights outside" if mode == "never" else "lower the threshold",
            )

    def files(self) -> list[_File]:
        return self._files

    def encode(self, names: dict[str, str]) -> Parts:
        """The model file, with the external files under other names where `names` has them."""
        return self._encode(names) if names else self._message

    def _encode(self, names: dict[str, str]) -> Parts:
        return encode_parts(self._model, lambda tensor: self._written(tensor, names))

    def _written(self, tensor: Tensor, names: dict[str, str]) -> Tensor:
        placed = self._placed.get(id(tensor))
        if placed is None:
            return tensor if self._stays(tensor) else _inside(tensor)
        external = placed[1]
        twin = tensor.renamed(tensor.name)
        twin.external = replace(external, location=names.get(external.location, external.location))
        return twin

    def _stays(self, tensor: Tensor) -> bool:
        """Whether a tensor is left in the file beside the target that it already lies in, or was never found."""
        if tensor.external is None:
            return False
        if not tensor.is_loaded:
            return True
        folder = tensor.external.folder
        return self._mode == "auto" and folder is not None and os.path.realpath(folder) == self._folder

    def _plan_auto(self, weights: list[Tensor]) -> None:
        staying = [tensor for tensor in weights if self._stays(tensor)]
        inside = [tensor for tensor in weights if not self._stays(tensor)]
        if any(self._same_file(tensor) for tensor in staying) and self._location is None:
            self._location = self._free_location({t.external.location for t in staying if t.external})
        self._plan(t for t in inside if t.external is not None and t.nbytes >= self._threshold)
        rest = [tensor for tensor in inside if id(tensor) not in self._placed]
        if sum(tensor.nbytes for tensor in rest) > LARGEST - _SLACK:
            self._plan(tensor for tensor in rest if tensor.nbytes >= self._threshold)

    def _same_file(self, tensor: Tensor) -> bool:
        return tensor.external is not None and tensor.external.location == self._default_location()

    def _free_location(self, taken: set[str]) -> str:
        count = 1
        while (name := f"{self._target.name}.{count}.data") in taken:
            count += 1
        return name

    def _default_location(self) -> str:
        return self._target.name + (".weights" if self._mode == "per-tensor" else ".data")

    def _plan(self, tensors: Iterator[Tensor]) -> None:
        where = self._location or self._default_location()
        for tensor in tensors:
            if tensor.dtype is DType.STRING or id(tensor) in self._placed or (tensor.external and not tensor.is_loaded):
                continue
            if self._mode == "per-tensor":
                name = re.sub(r"[^A-Za-z0-9._-]+", "_", tensor.name)[:80].strip("._") or "tensor"
                self._files.append(_File(f"{where}/{len(self._files):05}-{name}", []))
            elif not self._files:
                self._files.append(_File(where, []))
            file = self._files[-1]
            offset = file.add(tensor)
            self._placed[id(tensor)] = tensor, External(file.location, offset, tensor.nbytes)

    def _checked(self, location: str | None) -> str | None:
        if location is None:
            return None
        try:
            split_location(location)
        except Malformed as error:
            raise InputError(error.message) from None
        if (self._target.parent / location).exists() and location not in _locations(self._target):
            raise InputError(
                f"'{location}' exists and is not this model's data; another model may need it",
                hint="choose another location, or delete the file first",
            )
        return location


def model_tensors(model: Model, *, attributes: bool) -> Iterator[Tensor]:
    """The dense tensors among the initialisers of every graph, or among all constants, each object once."""
    seen: set[int] = set()
    for graph in model.graphs():
        constants: list[Tensor | SparseTensor | None] = [value.constant for value in graph.initializers.values()]
        if attributes:
            for node in graph:
                for attribute in node.attributes.values():
                    constants.extend(attribute.tensors)
        for constant in constants:
            dense = [constant.values, constant.indices] if isinstance(constant, SparseTensor) else [constant]
            for tensor in dense:
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    if tensor.dtype is not DType.STRING:
                        yield tensor


def _locations(path: Path) -> set[str]:
    """The external files of the model at `path`: nothing if there is no model."""
    try:
        old = decode(read_file(path), folder=path.parent, policy=ExternalPolicy(missing="defer"))
    except (OSError, DecodeError):
        return set()
    found = {tensor.external.location for tensor in model_tensors(old, attributes=True) if tensor.external}
    return found | {location.split("/")[0] for location in found}
