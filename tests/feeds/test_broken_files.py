"""Files that are broken or hostile are refused in words: inputs come from wherever their user found them."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from ingot import Value
from ingot.dtypes import DType
from ingot.errors import InputError, UnsupportedError
from ingot.feeds import files
from ingot.feeds.files import read_feed
from ingot.ir import TensorType

pillow = pytest.importorskip("PIL.Image")

SOUND = Value("sound", TensorType(DType.FLOAT32, (1, None)))
IMAGE = Value("image", TensorType(DType.FLOAT32, (1, 3, 8, 8)))
ARRAY = Value("array", TensorType(DType.FLOAT32, (None, None)))


def shaped(*shape: int | None, dtype: DType = DType.FLOAT32) -> Value:
    return Value("x", TensorType(dtype, shape))


def wav(kind: int = 1, channels: int = 1, rate: int = 16000, bits: int = 16, content: bytes = b"\0\1" * 100) -> bytes:
    header = struct.pack("<HHIIHH", kind, channels, rate, 0, 0, bits)
    chunks = b"fmt " + struct.pack("<I", len(header)) + header + b"data" + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


def npy(header: str) -> bytes:
    line = f"{header}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(line)) + line + b"\0" * 64


def arrays(*, compressed: bool = False) -> bytes:
    content = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(content, a=np.zeros((2, 3), np.float32))
    return content.getvalue()


def array() -> bytes:
    content = io.BytesIO()
    np.save(content, np.ones((2, 3), np.float32))
    return content.getvalue()


def picture(kind: str = "PNG") -> bytes:
    content = io.BytesIO()
    pillow.fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3)).save(content, kind)
    return content.getvalue()


@pytest.mark.parametrize(
    ("value", "name", "content"),
    [
        (SOUND, "s.wav", wav(rate=1, content=b"\0\1" * 100_000)),
        (SOUND, "s.wav", wav(rate=4_000_000_000)),
        (SOUND, "s.wav", wav(rate=0)),
        (SOUND, "s.wav", wav(channels=65535)),
        (shaped(1, 1 << 40), "s.wav", wav()),
        (shaped(1, None, dtype=DType.STRING), "s.wav", wav()),
        (shaped(1, None, dtype=DType.UNDEFINED), "s.wav", wav()),
        (ARRAY, "a.npy", npy("(" * 8000)),
        (ARRAY, "a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000, 100)}")),
        (ARRAY, "a.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}")),
        (ARRAY, "a.npz", b"PK\x05\x06" + b"\0" * 18),
        (ARRAY, "a.npz", arrays()[:-30]),
        (IMAGE, "i.png", picture()[:60]),
        (IMAGE, "i.png", picture()[:20]),
        (IMAGE, "i.bmp", picture("BMP")[:18] + b"\xff\xff\xff\x7f" + picture("BMP")[22:]),
        (shaped(1, 3, 1 << 20, 1 << 20), "i.png", picture()),
        (shaped(1, 3, 0, 8), "i.png", picture()),
        (shaped(1, 3, 8, 8, dtype=DType.STRING), "i.png", picture()),
    ],
)
def test_a_file_that_makes_no_input_is_refused(value: Value, name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_feed(value, path, 16000 if name.endswith("wav") else None)


@pytest.mark.filterwarnings("ignore")  # of Pillow, about what it repairs
@pytest.mark.parametrize(
    ("value", "name", "content"),
    [
        (SOUND, "s.wav", wav()),
        (ARRAY, "a.npy", array()),
        (ARRAY, "a.npz", arrays()),
        (ARRAY, "a.npz", arrays(compressed=True)),
        (IMAGE, "i.png", picture()),
        (IMAGE, "i.jpg", picture("JPEG")),
        (IMAGE, "i.tif", picture("TIFF")),
        (IMAGE, "i.gif", picture("GIF")),
        (IMAGE, "i.webp", picture("WEBP")),
    ],
)
def test_what_mutations_make_of_a_file_is_read_or_refused(
    value: Value, name: str, content: bytes, tmp_path: Path
) -> None:
    generator = random.Random(0)
    path = tmp_path / name
    for _ in range(150):
        mutated = bytearray(content)
        for _ in range(generator.randint(1, 4)):
            mutated[generator.randrange(len(mutated))] = generator.choice([0, 1, 127, 128, 255])
        path.write_bytes(mutated[: generator.choice([len(mutated), generator.randrange(len(mutated))])])
        try:
            read_feed(value, path)
        except (InputError, UnsupportedError):
            continue


def test_a_file_of_numpy_is_read_whatever_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(array())
    (tmp_path / "a.npy").write_bytes(arrays())
    assert read_feed(ARRAY, tmp_path / "a.npz").tolist() == [[1, 1, 1], [1, 1, 1]]
    assert read_feed(ARRAY, tmp_path / "a.npy").shape == (2, 3)


def test_a_small_file_of_a_great_many_zeros_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 100)
    path = tmp_path / "a.npz"
    path.write_bytes(arrays(compressed=True))
    with pytest.raises(InputError, match="too many to unpack"):
        read_feed(ARRAY, path)
    path.write_bytes(arrays())
    assert read_feed(ARRAY, path).shape == (2, 3)


@pytest.mark.parametrize("dtype", [DType.INT4, DType.INT8, DType.INT64, DType.UINT64, DType.UINT16])
def test_the_loudest_sound_is_the_greatest_integer(dtype: DType, tmp_path: Path) -> None:
    path = tmp_path / "s.wav"
    path.write_bytes(wav(kind=3, bits=32, content=struct.pack("<3f", 1.0, 5.0, float("nan"))))
    loud, louder, silent = read_feed(shaped(None, dtype=dtype), path).tolist()
    assert loud == louder
    assert loud >= 0.999 * dtype.limits[1]
    assert silent == 0
