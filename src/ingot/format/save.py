"""Saving a model: whole or with its weights outside, and never anything but the old model or the new one on disk."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.errors import DecodeError, InputError, UnsupportedError
from ingot.format.atomic import Staged, publish
from ingot.format.content import is_still
from ingot.format.decode import decode
from ingot.format.encode import LARGEST, encode_parts
from ingot.format.external import ExternalPolicy, split_location
from ingot.format.load import TEXT_SUFFIXES, is_ort_path, read_file
from ingot.format.onnx import from_onnx, is_model_proto
from ingot.format.residue import NONE
from ingot.format.wire import Malformed
from ingot.format.write import Part, Parts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.tensor import External, SparseTensor, Tensor

Mode: TypeAlias = Literal["auto", "never", "one-file", "per-tensor"]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes written so far and in all."""

_ALIGNMENT = 64  # a cache line, and the widest vector
_PAGE = 4096  # lets other readers map a large tensor by itself
_LARGE = 1 << 16
_SMALLEST = 128  # bytes that it takes to say where a tensor lies: moving anything smaller saves nothing
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
    new. A path that ends in .onnxtxt is written as text; InputError for one that ends in .ort.
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
    if is_ort_path(target):
        raise InputError(
            f"'{target}' would be in onnxruntime's own format, which ingot reads and does not write",
            hint="end the path in .onnx",
        )
    if target.suffix in TEXT_SUFFIXES:
        from ingot.ir.text import to_text  # rarely needed, and not free to import

        text = to_text(decode(_whole(model).join()), elide=None).encode()
        publish(target, [], lambda _: [text], durable=durable)
        return
    if target.exists() and not target.is_file() and not target.is_dir():
        with open(target, "wb") as device:  # a pipe or a terminal is written to, never replaced
            _write_stream(model, device)
        return
    layout = _Layout(model, target, external, threshold, location)
    files = layout.files()
    counter = _Counter(progress, sum(file.size for file in files) + layout.encode({}).size)
    staged = [Staged(file.location, file.write, counter.add) for file in files]

    def message(names: dict[str, str]) -> list[Part]:
        return layout.encode(names).parts

    publish(target, staged, message, durable=durable, written=counter.add)


def _write_stream(model: Model, stream: IO[bytes]) -> None:
    for part in _whole(model).parts:
        stream.write(part)


def _whole(model: Model) -> Parts:
    """The model with all its tensors inside."""
    message = encode_parts(model, _inside)
    if message.size > LARGEST:
        raise UnsupportedError(
            f"the whole model takes {message.size:,} bytes, more than protobuf's {LARGEST:,}",
            hint="save it to a path that ends in .onnx",
        )
    return message


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
        self._folder = os.path.realpath(target.parent)
        self._stem = re.sub(r"[\\:]", "_", target.name)  # readers take neither in a location
        self._location = self._checked(location)
        self._placed: dict[int, tuple[Tensor, External]] = {}
        self._files: list[_File] = []
        self._message: Parts | None = None
        everything = list(model_tensors(model, attributes=True))
        staying = [tensor for tensor in everything if self._may_stay(tensor)]
        self._staying = {id(tensor) for tensor in staying}
        self._used = {_normal(tensor.external.location) for tensor in staying if tensor.external is not None}
        if mode == "auto":
            self._plan_auto(list(model_tensors(model, attributes=False)), threshold)
        elif mode != "never":
            self._plan(everything, threshold)
        size = self.encode({}).size
        for bound in (threshold, _SMALLEST) if mode == "auto" else ():
            if size > LARGEST:
                self._plan(everything, min(bound, threshold))
                size = self.encode({}).size
        if size > LARGEST:
            raise UnsupportedError(
                f"the model file would take {size:,} bytes, more than protobuf's {LARGEST:,}",
                hint="lower the threshold" if mode in ("one-file", "per-tensor") else "use external='auto'",
            )
        for file in self._files:
            self._refuse_unreadable(file.location)

    def files(self) -> list[_File]:
        return self._files

    def encode(self, names: dict[str, str]) -> Parts:
        """The model file, with the external files under other names where `names` has them."""
        if names:
            return encode_parts(self._model, lambda tensor: self._written(tensor, names))
        if self._message is None:
            self._message = encode_parts(self._model, lambda tensor: self._written(tensor, {}))
        return self._message

    def _written(self, tensor: Tensor, names: dict[str, str]) -> Tensor:
        placed = self._placed.get(id(tensor))
        if placed is None:
            return tensor if id(tensor) in self._staying else _inside(tensor)
        external = placed[1]
        twin = tensor.renamed(tensor.name)
        twin.external = replace(external, location=names.get(external.location, external.location))
        return twin

    def _may_stay(self, tensor: Tensor) -> bool:
        """Whether a tensor is left in the file beside the target that it still lies in, or was never found."""
        external = tensor.external
        if external is None:
            return False
        if not tensor.is_loaded:
            return True
        if self._mode != "auto" or external.folder is None or os.path.realpath(external.folder) != self._folder:
            return False
        return is_still(tensor.raw(), Path(external.folder, external.location))

    def _plan_auto(self, weights: list[Tensor], threshold: int) -> None:
        self._plan([tensor for tensor in weights if tensor.external is not None], threshold)
        rest = [t for t in weights if id(t) not in self._placed and id(t) not in self._staying]
        if sum(tensor.nbytes for tensor in rest) > LARGEST - _SLACK:
            self._plan(rest, threshold)

    def _plan(self, tensors: list[Tensor], threshold: int) -> None:
        self._message = None
        for tensor in tensors:
            known = id(tensor) in self._placed or id(tensor) in self._staying
            if known or tensor.nbytes < threshold or "verbatim" in (tensor.residue or NONE).extra:
                continue
            file = self._file_for(tensor)
            offset = file.add(tensor)
            self._placed[id(tensor)] = tensor, External(file.location, offset, tensor.nbytes)

    def _file_for(self, tensor: Tensor) -> _File:
        if self._mode != "per-tensor":
            if not self._files:
                self._files.append(_File(self._free_location(), []))
            return self._files[0]
        where = self._location or f"{self._stem}.weights"
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", tensor.name)[:80].strip("._") or "tensor"
        numbers = itertools.count(len(self._files))
        while _normal(location := f"{where}/{next(numbers):05}-{name}") in self._used:
            pass
        self._used.add(_normal(location))
        self._files.append(_File(location, []))
        return self._files[-1]

    def _free_location(self) -> str:
        """The one data file: as asked for, or named like the model, if tensors that stay need no file of that name."""
        location = self._location or f"{self._stem}.data"
        if _normal(location) not in self._used:
            return location
        if self._location is not None:
            raise InputError(
                f"'{location}' cannot be replaced: tensors of this model stay in it",
                hint="choose another location; external='one-file' moves every tensor that was loaded",
            )
        ours = _locations(self._target)
        for count in itertools.count(1):
            location = f"{self._stem}.{count}.data"
            if location not in self._used and (location in ours or not (self._target.parent / location).exists()):
                break
        return location

    def _checked(self, location: str | None) -> str | None:
        if location is None:
            return None
        try:
            split_location(location)
        except Malformed as error:
            raise InputError(error.message) from None
        if os.path.lexists(self._target.parent / location) and _normal(location) not in _locations(self._target):
            raise InputError(
                f"'{location}' exists and is not this model's data; another model may need it",
                hint="choose another location, or delete the file first",
            )
        return location

    def _refuse_unreadable(self, location: str) -> None:
        """InputError if the data could not be put there, or could not be read from there again."""
        path = self._target.parent
        *folders, name = split_location(location)
        for part in folders:
            path /= part
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise InputError(f"'{location}' cannot be used: '{part}' is a link or no folder")
        if (path / name).is_dir():
            raise InputError(f"'{location}' cannot be used: it is a folder")


def model_tensors(model: Model, *, attributes: bool) -> Iterator[Tensor]:
    """The dense tensors among the initialisers of every graph, or among all constants, each object once.

    Strings are left out: they have no place outside a model.
    """
    seen: set[int] = set()
    for constant in _constants(model, attributes):
        dense = [constant.values, constant.indices] if isinstance(constant, SparseTensor) else [constant]
        for tensor in dense:
            if id(tensor) not in seen:
                seen.add(id(tensor))
                if tensor.dtype is not DType.STRING:
                    yield tensor


def _constants(model: Model, attributes: bool) -> Iterator[Tensor | SparseTensor]:
    defaults = [d for function in model.functions.values() for d in function.attributes.values() if d is not None]
    inner = [graph for default in defaults for root in default.graphs for graph in nested_graphs(root)]
    for graph in itertools.chain(model.graphs(), inner):
        yield from (value.constant for value in graph.initializers.values() if value.constant is not None)
        if attributes:
            for node in graph:
                for attribute in node.attributes.values():
                    yield from attribute.tensors
    if attributes:
        for default in defaults:
            yield from default.tensors


def _locations(path: Path) -> set[str]:
    """The external files of the model at `path`, and the folders they are in: nothing if there is no model."""
    try:
        old = decode(read_file(path), folder=path.parent, policy=ExternalPolicy(missing="defer"))
    except (OSError, DecodeError):
        return set()
    locations = {_normal(t.external.location) for t in model_tensors(old, attributes=True) if t.external is not None}
    return locations | {location.split("/")[0] for location in locations}


def _normal(location: str) -> str:
    """One spelling for all the ways to write a location."""
    try:
        return "/".join(split_location(location))
    except Malformed:  # no reader takes it, so it is no file's
        return location
