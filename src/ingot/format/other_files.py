"""What people have in place of a model, recognised by the first bytes of the file."""

from __future__ import annotations

from ingot.dataclass import dataclass

_PAGE = "this is a web page: the download was refused, or needs another address"
_TORCH = "a network of PyTorch is exported by torch.onnx, or by ingot.convert"


@dataclass(frozen=True, slots=True)
class Beginning:
    """Bytes at a place near the beginning, in any case of letters, and what to do about a file that has them."""

    content: bytes
    hint: str
    place: int = 0


_BEGINNINGS = (
    Beginning(b"version https://git-lfs", "this is a pointer of Git LFS, not the file: run 'git lfs pull'"),
    Beginning(b"<!doctype html", _PAGE),
    Beginning(b"<html", _PAGE),
    Beginning(b"<?xml", "this is XML, as OpenVINO writes it: export the original to ONNX"),
    Beginning(b"PK\x03\x04", f"this is a zip archive: unpack it; {_TORCH}"),
    Beginning(b"\x1f\x8b", "this is compressed by gzip: unpack it"),
    Beginning(b"\x28\xb5\x2f\xfd", "this is compressed by zstd: unpack it"),
    Beginning(b"\x89HDF", "this is HDF5, as Keras writes it: use 'ingot convert', and name the file .h5"),
    Beginning(b"GGUF", "this is a model of llama.cpp, GGUF: export the original to ONNX"),
    Beginning(b"TFL3", "this is a model of TensorFlow Lite: export the original to ONNX", 4),
    Beginning(b"\x93NUMPY", "this is an array of numpy"),
    Beginning(b'\0\0\0\0{"', "this is of safetensors, weights without a graph: export the network to ONNX", 4),
    *(
        Beginning(bytes([0x80, version]), f"this is a pickle, which may hold anything; {_TORCH}")
        for version in range(2, 6)
    ),
)


def hint_for(view: memoryview) -> str | None:
    """What to do about bytes that are no model; None if they begin like nothing that is known."""
    first = bytes(view[:64]).lower()
    for beginning in _BEGINNINGS:
        if first.startswith(beginning.content.lower(), beginning.place):
            return beginning.hint
    return None
