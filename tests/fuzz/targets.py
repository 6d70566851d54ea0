"""What is done with a mutated input, and what must hold whatever it is.

Each target takes an input and says how it ended. Only the errors ingot raises on purpose may come out of ingot; these
functions turn them into a word, and let everything else through.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from onnx import TensorProto

import ingot
from ingot.errors import DecodeError, IngotError
from ingot.format.decode import decode
from ingot.format.external import ExternalPolicy
from places import PLACES, all_tensors, model_with

CORPUS = Path(__file__).parent / "corpus"


def corpus() -> list[bytes]:
    """The files that mutation begins with."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("*.onnx"))]


def ort_corpus() -> list[bytes]:
    """The files in onnxruntime's own format that mutation begins with."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("*.ort"))]


def try_decode(data: bytes) -> str:
    """Decode, look at everything, and if it can be encoded, see that it comes back the same."""
    try:
        model = ingot.decode(data)
    except DecodeError as error:
        return "refused" if error.path is not None else "refused without saying where"
    _look_at(model)
    twin = model.copy()
    try:
        once = ingot.encode(model)
    except IngotError:
        return "model that cannot be encoded"
    again = ingot.decode(once)
    assert ingot.encode(again) == once, "encoding what was encoded gives other bytes"
    assert ingot.encode(twin) == once, "a copy gives other bytes"
    return "model"


def _look_at(model: ingot.Model) -> None:
    repr(model)
    list(ingot.ir.problems(model))
    for graph in model.graphs():
        for value in graph.values():
            repr(value)
            str(value.type)
        for node in graph:
            repr(node)
    for tensor in all_tensors(model):
        repr(tensor)
        try:
            array = tensor.numpy()
            assert array.shape == tensor.shape
            raw = tensor.strings() if tensor.dtype is ingot.DType.STRING else tensor.raw()
            assert isinstance(raw, list) or len(raw) == tensor.nbytes
        except IngotError:
            continue


def try_text(text: str) -> str:
    """Parse a text, and if it is a model, print it and parse it again."""
    from ingot.ir.text import parse_model, to_text  # only this target needs it

    try:
        model = parse_model(text)
    except ingot.ParseError as error:
        return "refused" if error.line >= 1 and error.column >= 1 else "refused without saying where"
    _look_at(model)
    try:
        once = to_text(model, elide=None)
    except IngotError:
        return "model that cannot be printed"
    try:
        again = parse_model(once)
    except ingot.ParseError:
        return "model whose text cannot be read"
    assert to_text(again, elide=None) == once, "printing what was printed gives another text"
    return "model"


_SECRET = b"S" * 64
_RIGHT = b"w" * 64
_LOCATIONS = [
    "w.bin",
    "./w.bin",
    "sub/w.bin",
    "link",
    "linked/w.bin",
    "hard",
    "twin",
    "pipe",
    "sub",
    "short",
    "missing",
]
_LOCATIONS += ["../secret", "sub/../../secret", "/etc/passwd", "a\\b", "C:w.bin", "", ".", "..", "w.bin/", "w.bin\0"]
_NUMBERS = ["0", "8", "32", "56", "64", "-1", "+1", " 1", "1_0", "x", "", "9" * 19, "9" * 40, str(1 << 62), "٣"]
_GOOD = ["w.bin", "sub/w.bin", "twin", "hard", "link", "linked/w.bin"] * 4
_FITTING = ["0", "8", "32"] * 10
_KEYS = ["location", "offset", "length", "checksum", "basepath", "__class__", ""]


def try_external(seed: int, number: int, folder: Path) -> str:
    """Decode a model of external tensors in a folder made by `external_folder`: no byte from outside may come in."""
    source = random.Random(f"{seed}/{number}")
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[source.choice([4, 4, 4, 0, 8, 1000])])
    tensor.data_location = TensorProto.DEFAULT if source.random() < 0.05 else TensorProto.EXTERNAL
    entries = [("location", source.choice([*_GOOD, *_LOCATIONS])), ("offset", source.choice([*_FITTING, *_NUMBERS]))]
    entries.append(("length", source.choice([str(8 * tensor.dims[0])] * 20 + _NUMBERS)))
    for _ in range(source.choice([0, 0, 1, 2])):
        change = source.randrange(len(entries) + 1)
        new = source.choice(_KEYS), source.choice([*_NUMBERS, *_LOCATIONS])
        entries[change : change + source.randint(0, 1)] = [new]
    for key, value in source.sample(entries, source.randint(1, len(entries))):
        tensor.external_data.add(key=key, value=value)
    data = model_with(source.choice(list(PLACES)), tensor).SerializeToString()
    trusted = source.choice([(), (), (folder,), (folder / "sub",)])
    policy = ExternalPolicy(
        missing=source.choice(["error", "defer"]), trusted=trusted, mapped=source.choice([True, False])
    )
    try:
        model = decode(data, folder=folder, policy=policy)
    except DecodeError:
        return "refused"
    for found in all_tensors(model):
        if found.name == "w":
            try:
                content = bytes(found.raw())
            except IngotError:
                return "deferred"
            by_hard_link = trusted == (folder,) and found.external is not None and found.external.location == "hard"
            allowed = _SECRET if by_hard_link else _RIGHT  # a trusted folder may have hard links to anything
            assert not set(content) - set(allowed), "something was read that does not belong to the model"
    return "model"


def external_folder() -> Iterator[Path]:
    """A folder of files and traps for `try_external`, and a secret beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        (folder / "sub").mkdir(parents=True)
        outside = Path(name) / "outside"
        outside.mkdir()
        for path in (Path(name) / "secret", outside / "w.bin"):
            path.write_bytes(_SECRET)
        for path in (folder / "w.bin", folder / "sub" / "w.bin"):
            path.write_bytes(_RIGHT)
        (folder / "short").write_bytes(_RIGHT[:7])
        (folder / "link").symlink_to("../secret")
        (folder / "linked").symlink_to(outside)
        os.link(Path(name) / "secret", folder / "hard")
        os.link(folder / "w.bin", folder / "twin")
        os.mkfifo(folder / "pipe")
        yield folder


def texts() -> list[str]:
    """The texts that mutation begins with: the corpus, printed."""
    from ingot.ir.text import to_text

    found = []
    for data in corpus():
        try:
            text = to_text(ingot.decode(data), elide=None)
        except IngotError:
            continue
        if len(text) < 10_000:
            found.append(text)
    return found
