"""External data: every trick a model can try with a path, a link or a range is refused before a byte is read."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import ingot
from ingot.errors import DecodeError, ExternalDataError
from ingot.format import external as external_module
from ingot.format.decode import decode
from ingot.format.external import ExternalPolicy
from places import PLACES, all_tensors, model_with

RIGHT = np.arange(4, dtype=np.int64)
SECRET = np.arange(100, 104, dtype=np.int64)
ON_LINUX = sys.platform == "linux"
Entries = list[tuple[str, str]]


class Reads:
    """What is read while it watches: maps that are made, descriptors that are wrapped, reads of watched files.

    Maps and wrapped descriptors come from the interpreter's audit events, reads from the kernel (inotify).
    """

    _now: Reads | None = None
    _hooked = False

    def __init__(self, *folders: Path) -> None:
        self.seen: list[str] = []
        self._folders = folders

    def __enter__(self) -> Reads:
        if not Reads._hooked:
            sys.addaudithook(Reads._audit)
            Reads._hooked = True
        self._inotify = -1
        if ON_LINUX:
            libc = ctypes.CDLL(None, use_errno=True)
            self._inotify = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            for folder in self._folders:
                for holder in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
                    assert libc.inotify_add_watch(self._inotify, bytes(holder), _ACCESSED) >= 0
        Reads._now = self
        return self

    def __exit__(self, *_: object) -> None:
        Reads._now = None
        if self._inotify >= 0:
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._note(os.read(self._inotify, 1 << 16))
            os.close(self._inotify)

    def _note(self, events: bytes) -> None:
        while events:
            _, mask, _, length = struct.unpack_from("iIII", events)
            if not mask & _OF_FOLDER:
                self.seen.append(f"read of {events[16 : 16 + length].rstrip(bytes(1)).decode()}")
            events = events[16 + length :]

    @staticmethod
    def _audit(event: str, args: tuple[Any, ...]) -> None:
        now = Reads._now
        if now is not None and (event == "mmap.__new__" or (event == "open" and isinstance(args[0], int))):
            now.seen.append(event)


_ACCESSED, _OF_FOLDER = 1, 0x40000000


@contextlib.contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def late(*_: object) -> None:
        raise AssertionError(f"still not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model, with its data in w.bin and sub/w.bin."""
    made = tmp_path / "model"
    (made / "sub").mkdir(parents=True)
    for name in ("w.bin", "sub/w.bin"):
        (made / name).write_bytes(RIGHT.tobytes())
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no model may read, with a file that looks like its data."""
    made = tmp_path / "outside"
    made.mkdir()
    (made / "w.bin").write_bytes(SECRET.tobytes())
    return made


def external_tensor(entries: Entries) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)
    return tensor


def hostile(entries: Entries, place: str = "initializer") -> bytes:
    return bytes(model_with(place, external_tensor(entries)).SerializeToString())


def weights(model: ingot.Model) -> list[int]:
    (found,) = [tensor for tensor in all_tensors(model) if tensor.name == "w"]
    return list(found.numpy().tolist())


def refused(data: bytes, folder: Path, *watched: Path, **policy: Any) -> ExternalDataError:
    """What decoding says; fails if it does not refuse, or if it reads anything first, mapping files or not."""
    errors = []
    for mapped in (True, False):
        with Reads(folder, *watched) as reads, deadline(20), pytest.raises(ExternalDataError) as caught:
            decode(data, folder=folder, policy=ExternalPolicy(mapped=mapped, **policy))
        assert reads.seen == []
        errors.append(caught.value)
    assert errors[0].offset is not None
    assert errors[0].path is not None
    assert str(errors[0]) == str(errors[1])
    return errors[0]


def test_a_map_is_noticed_by_the_watch_these_tests_rely_on(folder: Path) -> None:
    with Reads(folder) as reads:
        model = decode(hostile([("location", "w.bin")]), folder=folder, policy=ExternalPolicy(mapped=True))
    assert reads.seen == ["mmap.__new__"]
    assert weights(model) == RIGHT.tolist()


def test_a_read_is_noticed_by_the_watch_these_tests_rely_on(folder: Path) -> None:
    with Reads(folder) as reads:
        model = decode(hostile([("location", "sub/w.bin")]), folder=folder, policy=ExternalPolicy(mapped=False))
    assert reads.seen == (["read of w.bin"] if ON_LINUX else [])
    assert weights(model) == RIGHT.tolist()


BAD_LOCATIONS = {
    "absolute": "/etc/hostname",
    "absolute, doubled slash": "//etc/hostname",
    "windows drive": "C:\\w.bin",
    "windows drive, forward slash": "C:/w.bin",
    "windows drive, relative": "C:w.bin",
    "unc": "\\\\server\\share\\w.bin",
    "unc, forward slashes": "//server/share/w.bin",
    "device path": "\\\\?\\C:\\w.bin",
    "backslash": "sub\\w.bin",
    "backslashed parent": "..\\outside\\w.bin",
    "parent": "../outside/w.bin",
    "parent in the middle": "sub/../../outside/w.bin",
    "parent that comes back": "sub/../w.bin",
    "parent at the end": "sub/..",
    "parent alone": "..",
    "parent behind a dot": "./../outside/w.bin",
    "parent behind empty names": "sub//..//..//outside/w.bin",
    "nul": "w.bin\0",
    "nul before a suffix": "w.bin\0.txt",
    "empty": "",
    "dot": ".",
    "slash": "/",
    "trailing slash": "w.bin/",
    "folder with trailing slash": "sub/",
}


@pytest.mark.parametrize("location", BAD_LOCATIONS.values(), ids=BAD_LOCATIONS)
def test_a_location_that_could_lead_elsewhere_is_refused(location: str, folder: Path, outside: Path) -> None:
    refused(hostile([("location", location)]), folder, outside)


@pytest.mark.parametrize("location", BAD_LOCATIONS.values(), ids=BAD_LOCATIONS)
def test_a_bad_location_is_refused_even_where_there_is_no_folder_to_look_in(location: str) -> None:
    with pytest.raises(ExternalDataError):
        decode(hostile([("location", location)]))


def test_an_absolute_path_to_the_models_own_data_is_refused(folder: Path) -> None:
    refused(hostile([("location", str(folder / "w.bin"))]), folder)


@pytest.mark.parametrize("location", ["w.bin", "./w.bin", "sub/w.bin", "sub/./w.bin", "sub//w.bin", "./sub/w.bin"])
def test_a_location_below_the_model_is_read(location: str, folder: Path) -> None:
    assert weights(decode(hostile([("location", location)]), folder=folder)) == RIGHT.tolist()


def test_a_name_of_dots_that_is_no_parent_is_read(folder: Path) -> None:
    (folder / "...").write_bytes(RIGHT.tobytes())
    assert weights(decode(hostile([("location", "...")]), folder=folder)) == RIGHT.tolist()


def link_to_file(folder: Path, outside: Path) -> str:
    (folder / "link.bin").symlink_to(outside / "w.bin")
    return "link.bin"


def relative_link_to_file(folder: Path, outside: Path) -> str:
    (folder / "link.bin").symlink_to(f"../{outside.name}/w.bin")
    return "link.bin"


def link_to_the_models_own_file(folder: Path, _: Path) -> str:
    (folder / "link.bin").symlink_to("w.bin")
    return "link.bin"


def link_to_link(folder: Path, outside: Path) -> str:
    (folder / "first").symlink_to(outside / "w.bin")
    (folder / "link.bin").symlink_to("first")
    return "link.bin"


def link_to_folder(folder: Path, outside: Path) -> str:
    (folder / "linked").symlink_to(outside)
    return "linked/w.bin"


def link_to_folder_in_the_middle(folder: Path, outside: Path) -> str:
    (folder / "sub" / "linked").symlink_to(outside.parent)
    return f"sub/linked/{outside.name}/w.bin"


def link_loop(folder: Path, _: Path) -> str:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    return "a"


def link_loop_of_folders(folder: Path, _: Path) -> str:
    (folder / "a").symlink_to(".")
    return "a/a/a/w.bin"


def dangling_link(folder: Path, outside: Path) -> str:
    (folder / "link.bin").symlink_to(outside / "nothing")
    return "link.bin"


def link_to_device(folder: Path, _: Path) -> str:
    (folder / "link.bin").symlink_to("/dev/zero")
    return "link.bin"


def link_to_standard_input(folder: Path, _: Path) -> str:
    (folder / "link.bin").symlink_to("/dev/stdin")
    return "link.bin"


def link_to_process_memory(folder: Path, _: Path) -> str:
    (folder / "link.bin").symlink_to("/proc/self")
    return "link.bin/environ"


def hard_link(folder: Path, outside: Path) -> str:
    os.link(outside / "w.bin", folder / "hard.bin")
    return "hard.bin"


def hard_link_in_a_folder_below(folder: Path, outside: Path) -> str:
    os.link(outside / "w.bin", folder / "sub" / "hard.bin")
    return "sub/hard.bin"


def hard_links_inside_and_one_outside(folder: Path, outside: Path) -> str:
    os.link(outside / "w.bin", folder / "hard.bin")
    os.link(outside / "w.bin", folder / "harder.bin")
    return "hard.bin"


def a_folder(_folder: Path, _: Path) -> str:
    return "sub"


def a_file_used_as_a_folder(_folder: Path, _: Path) -> str:
    return "w.bin/w.bin"


def pipe(folder: Path, _: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def device(folder: Path, _: Path) -> str:
    try:
        os.mknod(folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    return "zero"


def unix_socket(folder: Path, _: Path) -> str:
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)  # a socket's path has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket")
    finally:
        os.fchdir(here)
        os.close(here)
    return "socket"


def a_name_that_is_too_long(_folder: Path, _: Path) -> str:
    return "w" * 5000


def a_path_that_is_too_deep(_folder: Path, _: Path) -> str:
    return "sub/" * 5000 + "w.bin"


def a_name_of_a_megabyte(_folder: Path, _: Path) -> str:
    return "w" * (1 << 20)


def a_missing_file(_folder: Path, _: Path) -> str:
    return "missing.bin"


def a_missing_folder(_folder: Path, _: Path) -> str:
    return "missing/w.bin"


FILES: list[Callable[[Path, Path], str]] = [
    link_to_file,
    relative_link_to_file,
    link_to_the_models_own_file,
    link_to_link,
    link_to_folder,
    link_to_folder_in_the_middle,
    link_loop,
    link_loop_of_folders,
    dangling_link,
    link_to_device,
    link_to_standard_input,
    link_to_process_memory,
    hard_link,
    hard_link_in_a_folder_below,
    hard_links_inside_and_one_outside,
    a_folder,
    a_file_used_as_a_folder,
    pipe,
    device,
    unix_socket,
    a_name_that_is_too_long,
    a_path_that_is_too_deep,
    a_name_of_a_megabyte,
    a_missing_file,
    a_missing_folder,
]


@pytest.mark.parametrize("arrange", FILES, ids=lambda arrange: arrange.__name__)
def test_a_file_a_model_may_not_read_is_refused(
    arrange: Callable[[Path, Path], str], folder: Path, outside: Path
) -> None:
    location = arrange(folder, outside)
    refused(hostile([("location", location)]), folder, outside)


@pytest.mark.parametrize("arrange", FILES, ids=lambda arrange: arrange.__name__)
def test_systems_that_cannot_open_relative_to_a_folder_refuse_the_same_files(
    arrange: Callable[[Path, Path], str], folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_module, "_HAS_DIR_FD", False)
    location = arrange(folder, outside)
    refused(hostile([("location", location)]), folder, outside)
    assert weights(decode(hostile([("location", "sub/w.bin")]), folder=folder)) == RIGHT.tolist()


def test_the_refusal_of_a_link_names_the_file_and_what_to_do(folder: Path, outside: Path) -> None:
    error = refused(hostile([("location", link_to_file(folder, outside))]), folder, outside)
    assert str(error).splitlines() == [
        "external data 'link.bin' is behind a symbolic link",
        f"  in model.graph.initializer[0].external_data at byte {error.offset:,}",
        "  hint: if it comes from a cache you trust, name the cache: load(path, trusted=[cache])",
    ]


def test_a_file_used_as_a_folder_is_not_called_a_link(folder: Path) -> None:
    error = refused(hostile([("location", "w.bin/w.bin")]), folder)
    assert error.message == "external data 'w.bin/w.bin' cannot be opened: Not a directory"


def test_a_device_is_not_even_opened(folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = device(folder, outside)
    opened: list[object] = []
    real = os.open

    def record(path: Any, *args: Any, **named: Any) -> int:
        opened.append(path)
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", record)
    refused(hostile([("location", name)]), folder)
    assert name not in opened


def test_a_hard_link_whose_other_name_is_beside_it_is_read(folder: Path) -> None:
    os.link(folder / "w.bin", folder / "twin.bin")
    assert weights(decode(hostile([("location", "twin.bin")]), folder=folder)) == RIGHT.tolist()


def test_the_models_folder_may_itself_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(folder)
    assert weights(decode(hostile([("location", "w.bin")]), folder=tmp_path / "alias")) == RIGHT.tolist()


BAD_NUMBERS = {
    "negative": "-1",
    "word": "four",
    "empty": "",
    "plus": "+1",
    "space before": " 1",
    "space after": "1 ",
    "newline after": "1\n",
    "underscore": "1_0",
    "hexadecimal": "0x10",
    "float": "1.0",
    "exponent": "1e3",
    "arabic digits": "١",
    "full-width digits": "１",
    "superscript": "²",
    "2**63": str(1 << 63),
    "2**64": str(1 << 64),
    "twenty digits": "9" * 20,
    "ten thousand digits": "9" * 10_000,
    "nul": "1\0",
}


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize("text", BAD_NUMBERS.values(), ids=BAD_NUMBERS)
def test_an_offset_or_length_that_is_no_number_of_bytes_is_refused(key: str, text: str, folder: Path) -> None:
    error = refused(hostile([("location", "w.bin"), (key, text)]), folder)
    assert f"external data has {key} {text[:40]!r}: not a whole number of bytes" in error.message


BAD_RANGES: dict[str, tuple[str | None, str | None]] = {
    "one beyond the end": ("1", None),
    "one beyond the end, with a length": ("1", "32"),
    "at the end": ("32", "32"),
    "far beyond the end": ("33", None),
    "the largest offset": (str((1 << 63) - 1), None),
    "offset plus length past 2**63": (str((1 << 63) - 1), "32"),
    "the largest length": (None, str((1 << 63) - 1)),
    "both largest": (str((1 << 63) - 1), str((1 << 63) - 1)),
    "too short for the tensor": ("0", "31"),
    "too long for the tensor": ("0", "33"),
    "nothing": ("0", "0"),
}


@pytest.mark.parametrize(("offset", "length"), BAD_RANGES.values(), ids=BAD_RANGES)
def test_a_range_outside_the_file_or_unlike_the_tensor_is_refused(
    offset: str | None, length: str | None, folder: Path
) -> None:
    entries = [("location", "w.bin")]
    entries += [] if offset is None else [("offset", offset)]
    entries += [] if length is None else [("length", length)]
    refused(hostile(entries), folder)


@pytest.mark.parametrize("size", [0, 1, 31])
def test_a_file_shorter_than_the_tensor_is_refused(size: int, folder: Path) -> None:
    (folder / "w.bin").write_bytes(RIGHT.tobytes()[:size])
    error = refused(hostile([("location", "w.bin")]), folder)
    assert error.message == f"bytes 0 to 32 lie outside 'w.bin', which has {size}"


def test_a_second_tensor_beyond_the_end_of_a_file_already_open_is_refused(folder: Path) -> None:
    model = model_with("initializer", external_tensor([("location", "w.bin")]))
    model.graph.initializer.append(external_tensor([("location", "./w.bin"), ("offset", "8")]))
    with pytest.raises(ExternalDataError, match="bytes 8 to 40 lie outside"):
        decode(model.SerializeToString(), folder=folder)


def test_a_tensor_that_declares_a_petabyte_is_refused(folder: Path) -> None:
    tensor = external_tensor([("location", "w.bin")])
    tensor.ClearField("dims")
    tensor.dims.append(1 << 50)
    refused(model_with("initializer", tensor).SerializeToString(), folder)


def test_names_of_one_file_are_read_once(folder: Path) -> None:
    model = model_with("initializer", external_tensor([("location", "w.bin")]))
    for count in range(1, 50):
        tensor = external_tensor([("location", "./" * count + "w.bin")])
        tensor.name = f"w{count}"
        model.graph.initializer.append(tensor)
    with Reads(folder) as reads:
        decode(model.SerializeToString(), folder=folder, policy=ExternalPolicy(mapped=True))
    assert reads.seen == ["mmap.__new__"]


@pytest.mark.parametrize("key", ["location", "offset", "length", "checksum", "basepath", "__class__"])
def test_a_key_that_is_given_twice_is_refused(key: str, folder: Path) -> None:
    entries = [("location", "w.bin"), ("offset", "0"), ("length", "32"), ("basepath", "."), ("__class__", "x")]
    entries = [(k, v) for k, v in entries if k != key] + [(key, "0"), (key, "0")]
    error = refused(hostile(entries), folder)
    assert error.message == f"external data gives '{key}' twice"


@pytest.mark.parametrize("entries", [[], [("offset", "0")], [("Location", "w.bin")], [("", "")]])
def test_external_data_without_a_location_is_refused(entries: Entries, folder: Path) -> None:
    assert refused(hostile(entries), folder).message == "external data has no location"


def test_unknown_keys_are_kept_and_do_nothing(folder: Path) -> None:
    others = [("__class__", "os"), ("__dict__", "{}"), ("basepath", "/etc"), ("folder", "/etc"), ("", "empty")]
    data = hostile([("location", "w.bin"), ("offset", "0"), ("length", "32"), *others])
    model = decode(data, folder=folder)
    assert weights(model) == RIGHT.tolist()
    (tensor,) = onnx.ModelProto.FromString(ingot.encode(model)).graph.initializer
    assert [(entry.key, entry.value) for entry in tensor.external_data][3:] == others


def sha1(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@pytest.mark.parametrize("checksum", [sha1(SECRET.tobytes()), sha1(RIGHT.tobytes()[:-1]), "", "0", "x" * 10_000])
def test_a_wrong_checksum_is_refused(checksum: str, folder: Path) -> None:
    with pytest.raises(ExternalDataError, match="is not what the model was saved with"):
        decode(hostile([("location", "w.bin"), ("checksum", checksum)]), folder=folder)


@pytest.mark.parametrize("text", [sha1(RIGHT.tobytes() * 2), sha1(RIGHT.tobytes() * 2).upper()])
def test_the_checksum_of_the_whole_file_is_accepted(text: str, folder: Path) -> None:
    (folder / "w.bin").write_bytes(RIGHT.tobytes() * 2)
    data = hostile([("location", "w.bin"), ("offset", "32"), ("checksum", text)])
    assert weights(decode(data, folder=folder)) == RIGHT.tolist()


def test_a_wrong_checksum_beside_a_right_one_is_refused(folder: Path) -> None:
    model = model_with("initializer", external_tensor([("location", "w.bin"), ("checksum", sha1(RIGHT.tobytes()))]))
    model.graph.initializer.append(external_tensor([("location", "w.bin"), ("checksum", sha1(b""))]))
    with pytest.raises(ExternalDataError, match="is not what the model was saved with"):
        decode(model.SerializeToString(), folder=folder)


def test_strings_outside_the_model_are_refused(folder: Path) -> None:
    tensor = external_tensor([("location", "w.bin")])
    tensor.data_type = TensorProto.STRING
    error = refused(model_with("initializer", tensor).SerializeToString(), folder)
    assert error.message == "strings cannot be stored outside the model"


PAYLOADS: dict[str, Any] = {
    "float_data": [1.0] * 4,
    "int32_data": [1] * 4,
    "string_data": [b"x"] * 4,
    "int64_data": [1] * 4,
    "raw_data": bytes(32),
    "double_data": [1.0] * 4,
    "uint64_data": [1] * 4,
}


def filled(*fields: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[4])
    for field in fields:
        if field == "raw_data":
            tensor.raw_data = PAYLOADS[field]
        else:
            getattr(tensor, field).extend(PAYLOADS[field])
    return tensor


@pytest.mark.parametrize("pair", list(itertools.combinations(PAYLOADS, 2)), ids=" and ".join)
def test_a_tensor_whose_elements_are_given_twice_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(DecodeError, match=f"its elements are given twice, as {pair[0]} and as {pair[1]}"):
        decode(model_with("initializer", filled(*pair)).SerializeToString())


@pytest.mark.parametrize("field", PAYLOADS)
def test_a_tensor_given_inside_and_outside_is_refused(field: str, folder: Path) -> None:
    tensor = filled(field)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    error = refused(model_with("initializer", tensor).SerializeToString(), folder)
    assert error.message == f"its elements are given twice, as {field} and as external_data"


@pytest.mark.parametrize("field", ["raw_data", "int64_data", None])
@pytest.mark.parametrize("stated", [True, False])
def test_external_entries_of_a_tensor_that_is_not_external_are_refused(
    field: str | None, stated: bool, folder: Path
) -> None:
    tensor = filled(*([field] if field else []))
    tensor.external_data.add(key="location", value="w.bin")
    if stated:
        tensor.data_location = TensorProto.DEFAULT
    error = refused(model_with("initializer", tensor).SerializeToString(), folder)
    assert error.message == "it names external data but does not say that it is stored there"


@pytest.mark.parametrize("number", [2, 99, -1, 1 << 40])
def test_an_unknown_data_location_is_refused(number: int, folder: Path) -> None:
    tensor = filled("raw_data").SerializeToString() + b"\x70" + _varint(number)
    model = model_with("initializer", TensorProto.FromString(tensor)).SerializeToString()
    if number == 1 << 40:  # protobuf cannot hold it: put the bytes in by hand
        model = _raw_model(tensor)
    with pytest.raises(DecodeError, match="is not a data location"):
        decode(model, folder=folder)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _raw_model(tensor: bytes) -> bytes:
    graph = b"\x2a" + _varint(len(tensor)) + tensor
    return b"\x08\x09\x3a" + _varint(len(graph)) + graph + b"\x42\x02\x10\x11"


def test_a_missing_file_that_may_come_later_is_an_error_when_it_is_used(folder: Path) -> None:
    data = hostile([("location", "missing.bin"), ("offset", "8")])
    model = decode(data, folder=folder, policy=ExternalPolicy(missing="defer"))
    with pytest.raises(ExternalDataError, match=r"'missing\.bin' does not exist"):
        weights(model)
    assert ingot.encode(model) == data


@pytest.mark.parametrize("arrange", [link_to_file, link_to_folder, hard_link, pipe, a_folder], ids=lambda f: f.__name__)
def test_deferring_does_not_soften_what_is_refused(
    arrange: Callable[[Path, Path], str], folder: Path, outside: Path
) -> None:
    refused(hostile([("location", arrange(folder, outside))]), folder, outside, missing="defer")


def test_a_model_given_as_bytes_does_not_look_for_its_data_in_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with Reads(folder) as reads:
        model = ingot.load(hostile([("location", "w.bin")]))
        with pytest.raises(ExternalDataError, match="was not looked for: the model was given as bytes"):
            weights(model)
    assert reads.seen == []


# Each essential trick in each place that holds a tensor.


@pytest.mark.parametrize("place", PLACES)
def test_external_data_is_read_in_every_place(place: str, folder: Path) -> None:
    assert weights(decode(hostile([("location", "w.bin")], place), folder=folder)) == RIGHT.tolist()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "arrange", [link_to_file, link_to_folder, hard_link, pipe, a_folder, a_missing_file], ids=lambda f: f.__name__
)
def test_files_a_model_may_not_read_are_refused_in_every_place(
    arrange: Callable[[Path, Path], str], place: str, folder: Path, outside: Path
) -> None:
    refused(hostile([("location", arrange(folder, outside))], place), folder, outside)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "entries",
    [
        [("location", "../outside/w.bin")],
        [("location", "sub/../../outside/w.bin")],
        [("location", "C:\\w.bin")],
        [("location", "w.bin\0")],
        [("location", "")],
        [("location", "w.bin"), ("offset", "-1")],
        [("location", "w.bin"), ("offset", "8")],
        [("location", "w.bin"), ("length", "1000000000000000")],
        [("location", "w.bin"), ("offset", str((1 << 63) - 1)), ("length", "32")],
        [("location", "w.bin"), ("location", "../outside/w.bin")],
    ],
    ids=lambda entries: " ".join(f"{key}={value!r}" for key, value in entries),
)
def test_entries_that_lie_are_refused_in_every_place(entries: Entries, place: str, folder: Path, outside: Path) -> None:
    refused(hostile(entries, place), folder, outside)


@pytest.mark.parametrize("place", PLACES)
def test_an_absolute_path_is_refused_in_every_place(place: str, folder: Path, outside: Path) -> None:
    refused(hostile([("location", str(outside / "w.bin"))], place), folder, outside)


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_checksum_is_refused_in_every_place(place: str, folder: Path) -> None:
    with pytest.raises(ExternalDataError, match="is not what the model was saved with"):
        decode(hostile([("location", "w.bin"), ("checksum", sha1(b""))], place), folder=folder)


# Models written as text.


def as_text(folder: Path, location: str) -> Path:
    path = folder / "m.onnxtxt"
    declared = f'int64[4] w = ["location": "{location}"]'
    path.write_text(f'<ir_version: 9, opset_import: ["" : 17]>\ng () => () <{declared}> {{}}')
    return path


def test_a_model_in_text_has_external_data_too(folder: Path) -> None:
    assert weights(ingot.load(as_text(folder, "sub/w.bin"))) == RIGHT.tolist()


@pytest.mark.parametrize("arrange", FILES[:-4], ids=lambda f: f.__name__)
def test_a_model_in_text_may_read_no_more_than_another(
    arrange: Callable[[Path, Path], str], folder: Path, outside: Path
) -> None:
    path = as_text(folder, arrange(folder, outside))
    with Reads(outside) as reads, deadline(20), pytest.raises(ExternalDataError):
        ingot.load(path, mapped=False)
    assert reads.seen == []


@pytest.mark.parametrize("location", ["../outside/w.bin", "sub/../../outside/w.bin", "C:w.bin", "", ".", "w.bin/"])
def test_a_model_in_text_may_name_no_more_than_another(location: str, folder: Path, outside: Path) -> None:
    path = as_text(folder, location)
    with Reads(outside) as reads, pytest.raises(ExternalDataError):
        ingot.load(path, mapped=False)
    assert reads.seen == []


# Somebody changes the files while they are read.


def racing(change: Callable[[], None], load: Callable[[], ingot.Model], *, until_both: bool = True) -> None:
    """Load again and again while another thread keeps changing things; fails on any wrong byte.

    It goes on for half a second, and then, with `until_both`, until loading has both succeeded and been refused.
    """
    stop = threading.Event()
    outcomes = {"right": 0, "refused": 0}

    def keep_changing() -> None:
        while not stop.is_set():
            change()

    thread = threading.Thread(target=keep_changing)
    thread.start()
    begun = time.monotonic()
    try:
        while (passed := time.monotonic() - begun) < 0.5 or (until_both and not all(outcomes.values())):
            assert passed < 60, outcomes
            try:
                assert weights(load()) == RIGHT.tolist()
                outcomes["right"] += 1
            except ExternalDataError:
                outcomes["refused"] += 1
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("mapped", [True, False])
def test_a_file_swapped_for_a_link_while_it_is_opened_gives_the_right_bytes_or_an_error(
    mapped: bool, folder: Path, outside: Path
) -> None:
    data = hostile([("location", "w.bin")])

    def swap() -> None:
        (folder / "link").symlink_to(outside / "w.bin")
        (folder / "link").replace(folder / "w.bin")
        (folder / "good").write_bytes(RIGHT.tobytes())
        (folder / "good").replace(folder / "w.bin")

    racing(swap, lambda: decode(data, folder=folder, policy=ExternalPolicy(mapped=mapped)))


def test_a_folder_swapped_for_a_link_while_it_is_opened_gives_the_right_bytes_or_an_error(
    folder: Path, outside: Path
) -> None:
    data = hostile([("location", "sub/w.bin")])

    def swap() -> None:
        (folder / "sub").rename(folder / "aside")
        (folder / "sub").symlink_to(outside)
        (folder / "sub").unlink()
        (folder / "aside").rename(folder / "sub")

    racing(swap, lambda: decode(data, folder=folder))


def test_a_file_cut_and_written_while_it_is_read_gives_the_right_bytes_or_an_error(folder: Path) -> None:
    data = hostile([("location", "w.bin")])

    def cut() -> None:
        os.truncate(folder / "w.bin", 0)
        descriptor = os.open(folder / "w.bin", os.O_WRONLY)
        os.write(descriptor, RIGHT.tobytes())
        os.close(descriptor)

    racing(cut, lambda: decode(data, folder=folder, policy=ExternalPolicy(mapped=False)), until_both=False)


def test_a_file_that_shrinks_between_looking_and_mapping_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat
    looks = 0

    def before_it_shrank(descriptor: int) -> os.stat_result:
        nonlocal looks
        looks += 1
        status = real(descriptor)
        if looks == 2:
            os.truncate(folder / "w.bin", 1)
        return status

    monkeypatch.setattr(os, "fstat", before_it_shrank)
    with pytest.raises(ExternalDataError, match="cannot be read"):
        decode(hostile([("location", "w.bin")]), folder=folder, policy=ExternalPolicy(mapped=True))
    assert looks == 2


# Download caches, whose files are links.


class Cache:
    """A cache as huggingface_hub lays it out: snapshots of links into a folder of blobs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repository = root / "models--org--name"
        self.snapshot = self.repository / "snapshots" / "0123abcd"
        self.blobs = self.repository / "blobs"
        self.model = self.snapshot / "model.onnx"
        self.snapshot.mkdir(parents=True)
        self.blobs.mkdir()
        self.put("model.onnx", "aaaa", hostile([("location", "model.onnx.data")]))

    def put(self, name: str, blob: str, content: bytes) -> None:
        (self.blobs / blob).write_bytes(content)
        (self.snapshot / name).symlink_to(f"../../blobs/{blob}")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_link_inside_a_trusted_cache_is_followed(cache: Cache) -> None:
    cache.put("model.onnx.data", "bbbb", RIGHT.tobytes())
    assert weights(ingot.load(cache.model, trusted=[cache.root])) == RIGHT.tolist()


def test_a_cache_reached_by_a_link_is_the_same_cache(cache: Cache, tmp_path: Path) -> None:
    cache.put("model.onnx.data", "bbbb", RIGHT.tobytes())
    (tmp_path / "alias").symlink_to(cache.root)
    model = tmp_path / "alias" / cache.model.relative_to(cache.root)
    assert weights(ingot.load(model, trusted=[tmp_path / "alias"])) == RIGHT.tolist()
    assert weights(ingot.load(model, trusted=[cache.root])) == RIGHT.tolist()


def test_a_link_inside_a_cache_that_nobody_named_is_refused(cache: Cache) -> None:
    cache.put("model.onnx.data", "bbbb", RIGHT.tobytes())
    with pytest.raises(ExternalDataError, match=r"hint: if it comes from a cache you trust"):
        ingot.load(cache.model)


def leave(cache: Cache, target: str | Path) -> bytes:
    (cache.snapshot / "model.onnx.data").symlink_to(target)
    return hostile([("location", "model.onnx.data")])


@pytest.mark.parametrize("trusted", ["root", "repository"])
def test_a_link_that_leads_out_of_a_trusted_cache_is_refused(trusted: str, cache: Cache, outside: Path) -> None:
    data = leave(cache, outside / "w.bin")
    error = refused(data, cache.snapshot, outside, trusted=(getattr(cache, trusted),))
    assert "not inside the trusted folders or leaves them" in error.message


def test_a_chain_of_links_that_ends_outside_a_trusted_cache_is_refused(cache: Cache, outside: Path) -> None:
    (cache.blobs / "cccc").symlink_to(outside / "w.bin")
    refused(leave(cache, "../../blobs/cccc"), cache.snapshot, outside, trusted=(cache.root,))


def test_a_linked_folder_of_a_cache_that_leads_outside_is_refused(cache: Cache, outside: Path) -> None:
    (cache.snapshot / "folder").symlink_to(outside)
    refused(hostile([("location", "folder/w.bin")]), cache.snapshot, outside, trusted=(cache.root,))


def test_a_link_to_a_folder_whose_name_begins_like_the_cache_is_refused(cache: Cache, tmp_path: Path) -> None:
    beside = tmp_path / "cache-of-somebody-else"
    beside.mkdir()
    (beside / "w.bin").write_bytes(SECRET.tobytes())
    refused(leave(cache, beside / "w.bin"), cache.snapshot, beside, trusted=(cache.root,))


def test_a_link_from_outside_into_a_trusted_cache_is_refused(cache: Cache, folder: Path) -> None:
    (cache.blobs / "bbbb").write_bytes(SECRET.tobytes())
    (folder / "link.bin").symlink_to(cache.blobs / "bbbb")
    refused(hostile([("location", "link.bin")]), folder, cache.blobs, trusted=(cache.root,))


def test_a_link_between_two_trusted_folders_is_followed(cache: Cache, folder: Path) -> None:
    (cache.blobs / "bbbb").write_bytes(RIGHT.tobytes())
    (folder / "link.bin").symlink_to(cache.blobs / "bbbb")
    policy = ExternalPolicy(trusted=(cache.root, folder))
    assert weights(decode(hostile([("location", "link.bin")]), folder=folder, policy=policy)) == RIGHT.tolist()


def test_a_loop_of_links_in_a_trusted_cache_is_refused(cache: Cache) -> None:
    (cache.blobs / "cccc").symlink_to("../snapshots/0123abcd/model.onnx.data")
    refused(leave(cache, "../../blobs/cccc"), cache.snapshot, cache.blobs, trusted=(cache.root,))


def test_a_dangling_link_in_a_trusted_cache_is_a_missing_file(cache: Cache) -> None:
    data = leave(cache, "../../blobs/cccc")
    error = refused(data, cache.snapshot, trusted=(cache.root,))
    assert error.message == "external data 'model.onnx.data' does not exist"
    decode(data, folder=cache.snapshot, policy=ExternalPolicy(missing="defer", trusted=(cache.root,)))


@pytest.mark.parametrize("target", [".", "..", "../..", "../../blobs", "../../.."])
def test_a_link_to_a_folder_of_a_trusted_cache_is_refused(target: str, cache: Cache) -> None:
    refused(leave(cache, target), cache.snapshot, trusted=(cache.root,))


def test_a_link_to_a_pipe_in_a_trusted_cache_is_refused(cache: Cache) -> None:
    os.mkfifo(cache.blobs / "pipe")
    refused(leave(cache, "../../blobs/pipe"), cache.snapshot, trusted=(cache.root,))


def test_a_parent_in_the_location_is_refused_in_a_trusted_cache_too(cache: Cache) -> None:
    (cache.blobs / "bbbb").write_bytes(RIGHT.tobytes())
    refused(hostile([("location", "../../blobs/bbbb")]), cache.snapshot, cache.blobs, trusted=(cache.root,))


def test_hard_links_in_a_trusted_cache_are_read(cache: Cache, tmp_path: Path) -> None:
    (cache.blobs / "bbbb").write_bytes(RIGHT.tobytes())
    os.link(cache.blobs / "bbbb", cache.snapshot / "model.onnx.data")
    data = hostile([("location", "model.onnx.data")])
    policy = ExternalPolicy(trusted=(cache.root,))
    assert weights(decode(data, folder=cache.snapshot, policy=policy)) == RIGHT.tolist()
    refused(data, cache.snapshot, cache.blobs)
    refused(data, cache.snapshot, cache.blobs, trusted=(tmp_path / "model",))


def test_a_model_of_more_files_than_there_are_descriptors_is_read(tmp_path: Path) -> None:
    model = model_with("initializer", external_tensor([("location", "f0")]))
    for index in range(1, 1500):
        tensor = external_tensor([("location", f"f{index}")])
        tensor.name = f"w{index}"
        model.graph.initializer.append(tensor)
    for index in range(1500):
        (tmp_path / f"f{index}").write_bytes((RIGHT + index).tobytes())
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    script = f"""
import resource, ingot
resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
model = ingot.load({str(tmp_path / "model.onnx")!r})
for index, value in enumerate(model.graph.initializers.values()):
    assert value.constant.numpy().tolist() == [index, index + 1, index + 2, index + 3]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
