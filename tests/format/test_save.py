"""Saving: where weights go, the same bytes every time, and never anything but the old model or the new on disk."""

from __future__ import annotations

import errno
import io
import os
import resource
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ingot
from ingot.errors import ExternalDataError, InputError, UnsupportedError
from ingot.format import atomic
from ingot.format import save as save_package  # the function, which hides the module of its name
from ingot.format.onnx import fill_proto, serialize
from places import all_tensors, model_with, plain_model

MODES = ["never", "one-file", "per-tensor", "auto"]
save_module = __import__("sys").modules["ingot.format.save"]
assert save_package is ingot.save


def sample(seed: int = 0, count: int = 3) -> ingot.Model:
    """A model with weights in every kind of place, of sizes on both sides of each threshold."""
    random = np.random.default_rng(seed)
    proto = plain_model()
    graph = proto.graph

    def tensor(name: str, *shape: int) -> TensorProto:
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)

    for index in range(count):
        graph.initializer.append(tensor(f"w{index}", 8 + index, 40))
    graph.initializer.append(tensor("small", 4))
    graph.initializer.append(numpy_helper.from_array(random.integers(0, 9, 70_000).astype(np.int8), "page"))
    graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [2], [b"a" * 2000, b"b"]))
    graph.node.append(helper.make_node("Constant", [], ["c"], value=tensor("constant", 30, 30)))
    inner = helper.make_graph([], "inner", [], [], [tensor("inside", 20, 20)])
    graph.node.append(helper.make_node("Custom", [], ["d"], domain="my", body=inner))
    sparse = graph.sparse_initializer.add(dims=[100_000])
    sparse.values.CopyFrom(tensor("sparse", 600))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.arange(600, dtype=np.int64), "sparse_indices"))
    function = proto.functions.add(name="f", domain="my", input=["a"], output=["a"])
    function.opset_import.add(domain="", version=17)
    function.attribute_proto.add(name="default", type=onnx.AttributeProto.TENSOR).t.CopyFrom(tensor("default", 500))
    return ingot.decode(proto.SerializeToString())


def tiny(seed: int) -> ingot.Model:
    """A model with two weights to put outside and one to keep."""
    graph = ingot.Graph()
    for name, size in {"a": 300, "b": 400 + seed, "small": 4}.items():
        graph.add_initializer(name, np.full(size, seed, np.float32))
    return ingot.Model(graph, 17)


Content = list[tuple[str, str, tuple[int, ...], bytes]]


def content(model: ingot.Model) -> Content:
    """Every tensor of a model with its elements."""
    found: Content = []
    for tensor in all_tensors(model):
        elements = b"|".join(tensor.strings()) if tensor.dtype is ingot.DType.STRING else bytes(tensor.raw())
        found.append((tensor.name, str(tensor.dtype), tensor.shape, elements))
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def proto_of(path: Path) -> onnx.ModelProto:
    return onnx.load(path, load_external_data=False)


def references(path: Path) -> dict[str, dict[str, str]]:
    """The external entries of a model's main initialisers, by tensor."""
    tensors = proto_of(path).graph.initializer
    return {t.name: {e.key: e.value for e in t.external_data} for t in tensors if t.external_data}


def by_hand(folder: Path, name: str = "m.onnx", data: str = "w.bin") -> Path:
    """A model with its weights in a file as no version of ingot would lay them out: from the end, without gaps."""
    folder.mkdir(parents=True, exist_ok=True)
    proto = plain_model()
    arrays = [np.full(600 + index, index, np.float32) for index in range(3)]
    where = sum(array.nbytes for array in arrays)
    bytes_ = bytearray(where)
    for index, array in enumerate(arrays):
        where -= array.nbytes
        bytes_[where : where + array.nbytes] = array.tobytes()
        tensor = proto.graph.initializer.add(name=f"h{index}", data_type=TensorProto.FLOAT, dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": data, "offset": str(where), "length": str(array.nbytes)}.items():
            tensor.external_data.add(key=key, value=value)
    (folder / data).parent.mkdir(exist_ok=True, parents=True)
    (folder / data).write_bytes(bytes_)
    (folder / name).write_bytes(proto.SerializeToString())
    return folder / name


# What is written where.


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_keeps_every_weight(mode: Any, tmp_path: Path) -> None:
    model = sample()
    ingot.save(model, tmp_path / "m.onnx", external=mode)
    assert content(ingot.load(tmp_path / "m.onnx")) == content(model)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_can_be_read_by_the_onnx_package(mode: Any, tmp_path: Path) -> None:
    model = sample()
    ingot.save(model, tmp_path / "m.onnx", external=mode)
    arrays = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "m.onnx").graph.initializer}
    for value in model.graph.initializers.values():
        if isinstance(value.constant, ingot.Tensor) and value.constant.dtype is not ingot.DType.STRING:
            np.testing.assert_array_equal(arrays[value.name], value.constant.numpy())


@pytest.mark.parametrize("mode", MODES)
def test_the_same_model_gives_the_same_bytes(mode: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ingot.save(sample(), tmp_path / name / "m.onnx", external=mode)
    ingot.save(sample(), tmp_path / "b" / "m.onnx", external=mode)  # once more, over itself
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_whole_files_and_files_of_data_are_named_after_the_model(tmp_path: Path) -> None:
    for mode in ("never", "one-file", "per-tensor"):
        (tmp_path / mode).mkdir()
        ingot.save(sample(), tmp_path / mode / "m.onnx", external=mode)
    assert list(files(tmp_path / "never")) == ["m.onnx"]
    assert list(files(tmp_path / "one-file")) == ["m.onnx", "m.onnx.data"]
    assert list(files(tmp_path / "per-tensor")) == [
        "m.onnx",
        "m.onnx.weights/00000-w0",
        "m.onnx.weights/00001-w1",
        "m.onnx.weights/00002-w2",
        "m.onnx.weights/00003-page",
        "m.onnx.weights/00004-sparse",
        "m.onnx.weights/00005-sparse_indices",
        "m.onnx.weights/00006-constant",
        "m.onnx.weights/00007-inside",
        "m.onnx.weights/00008-default",
    ]


def test_tensors_begin_at_cache_lines_and_large_ones_at_pages(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    where = references(tmp_path / "m.onnx")
    assert list(where) == ["w0", "w1", "w2", "page"]
    assert all(int(entry["offset"]) % 64 == 0 for entry in where.values())
    assert int(where["page"]["offset"]) % 4096 == 0
    used = bytearray((tmp_path / "m.onnx.data").read_bytes())
    proto = proto_of(tmp_path / "m.onnx")
    for tensor in [t for t in _tensor_protos(proto) if t.external_data]:
        entry = {e.key: e.value for e in tensor.external_data}
        start, length = int(entry["offset"]), int(entry["length"])
        used[start : start + length] = bytes(length)
    assert not any(used), "what lies between tensors is zero"


def _tensor_protos(message: Any) -> Iterator[TensorProto]:
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for item in [value] if hasattr(value, "DESCRIPTOR") else value:
            if isinstance(item, TensorProto):
                yield item
            else:
                yield from _tensor_protos(item)


@pytest.mark.parametrize(("threshold", "outside"), [(0, 2), (15, 2), (16, 2), (17, 1), (64, 1), (65, 0)])
def test_a_tensor_goes_outside_from_the_threshold_on(threshold: int, outside: int, tmp_path: Path) -> None:
    graph = ingot.Graph()
    graph.add_initializer("a", np.arange(4, dtype=np.float32))
    graph.add_initializer("b", np.arange(16, dtype=np.float32))
    model = ingot.Model(graph, 17)
    ingot.save(model, tmp_path / "m.onnx", external="one-file", threshold=threshold)
    assert len(references(tmp_path / "m.onnx")) == outside
    assert (tmp_path / "m.onnx.data").exists() == bool(outside)
    assert content(ingot.load(tmp_path / "m.onnx")) == content(model)


def test_empty_tensors_can_go_outside(tmp_path: Path) -> None:
    graph = ingot.Graph()
    graph.add_initializer("none", np.zeros((0, 4), np.float32))
    graph.add_initializer("some", np.ones(3, np.float32))
    graph.add_initializer("nothing", np.zeros(0, np.int8))
    model = ingot.Model(graph, 17)
    for mode in ("one-file", "per-tensor"):
        ingot.save(model, tmp_path / f"{mode}.onnx", external=mode, threshold=0)
        assert content(ingot.load(tmp_path / f"{mode}.onnx")) == content(model)


def test_every_element_type_goes_outside_and_comes_back(tmp_path: Path) -> None:
    graph = ingot.Graph()
    for dtype in ingot.DType:
        if dtype not in (ingot.DType.UNDEFINED, ingot.DType.STRING):
            raw = (np.arange(dtype.nbytes(7)) % 2).astype(np.uint8).tobytes()
            graph.add_initializer(dtype.label, ingot.Tensor.from_buffer(raw, dtype, [7], name=dtype.label))
    model = ingot.Model(graph, 17)
    ingot.save(model, tmp_path / "m.onnx", external="one-file", threshold=0)
    assert len(references(tmp_path / "m.onnx")) == 27
    assert content(ingot.load(tmp_path / "m.onnx")) == content(model)


def test_strings_stay_inside(tmp_path: Path) -> None:
    for mode in ("one-file", "per-tensor"):
        ingot.save(sample(), tmp_path / "m.onnx", external=mode, threshold=0)
        assert "text" not in references(tmp_path / "m.onnx")


def test_one_tensor_used_twice_is_written_once(tmp_path: Path) -> None:
    shared = ingot.Tensor(np.arange(5000, dtype=np.float32), name="shared")
    graph = ingot.Graph()
    graph.add_initializer("a", shared)
    graph.add_initializer("b", shared)
    model = ingot.Model(graph, 17)
    ingot.save(model, tmp_path / "m.onnx", external="one-file")
    assert (tmp_path / "m.onnx.data").stat().st_size == 20_000
    where = references(tmp_path / "m.onnx")
    assert where["a"] == where["b"]
    ingot.save(model, tmp_path / "p.onnx", external="per-tensor")
    assert len(list((tmp_path / "p.onnx.weights").iterdir())) == 1


def test_a_segment_of_a_tensor_is_kept_as_it_is_in_every_mode(tmp_path: Path) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[1000], raw_data=bytes(4000))
    tensor.segment.begin, tensor.segment.end = 0, 500
    data = model_with("initializer", tensor).SerializeToString()
    for mode in MODES:
        ingot.save(ingot.decode(data), tmp_path / "m.onnx", external=mode)  # type: ignore[arg-type]
        assert proto_of(tmp_path / "m.onnx").graph.initializer[0] == tensor


@pytest.mark.parametrize("name", ["../../up", "/abs", "a/b\\c", "", ".", "..", "\0", "ß" * 300, "con", "a b", "-rf"])
def test_a_tensors_name_does_not_choose_where_it_is_written(name: str, tmp_path: Path) -> None:
    graph = ingot.Graph()
    graph.add_initializer("first", ingot.Tensor(np.ones(400, np.float32), name=name))
    graph.add_initializer("second", ingot.Tensor(np.zeros(400, np.float32), name=name))
    model = ingot.Model(graph, 17)
    folder = tmp_path / "inner" / "folder"
    folder.mkdir(parents=True)
    ingot.save(model, folder / "m.onnx", external="per-tensor")
    assert len(list((folder / "m.onnx.weights").iterdir())) == 2
    assert len(files(tmp_path)) == 3
    ones, zeros = ingot.load(folder / "m.onnx").graph.initializers.values()
    assert isinstance(ones.constant, ingot.Tensor)
    assert isinstance(zeros.constant, ingot.Tensor)
    assert (ones.constant.numpy().sum(), zeros.constant.numpy().sum()) == (400, 0)


@pytest.mark.parametrize("name", ["c:m.onnx", "a\\b.onnx", "ä ö.onnx", "m" * 240, "-m", "..m", "m.onnx.data"])
@pytest.mark.parametrize("mode", ["one-file", "per-tensor"])
def test_a_model_of_any_name_can_be_loaded_again(name: str, mode: Any, tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / name, external=mode)
    assert content(ingot.load(tmp_path / name)) == content(sample())


def test_progress_is_told_in_bytes_up_to_all_of_them(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    ingot.save(
        sample(), tmp_path / "m.onnx", external="one-file", progress=lambda done, all_: calls.append((done, all_))
    )
    total = sum((tmp_path / name).stat().st_size for name in ("m.onnx", "m.onnx.data"))
    assert {all_ for _, all_ in calls} == {total}
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (total, total)


@pytest.mark.parametrize("mode", ["always", "", None, "ONE-FILE"])
def test_an_unknown_mode_is_refused(mode: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="external is"):
        ingot.save(sample(), tmp_path / "m.onnx", external=mode)
    assert files(tmp_path) == {}


# Names of data files.


@pytest.mark.parametrize("location", ["../w", "/w", "a/../w", "C:\\w", "a\\w", "", ".", "w/", "w\0", "x" * 5000])
@pytest.mark.parametrize("mode", ["one-file", "per-tensor", "auto"])
def test_a_location_outside_the_models_folder_is_refused(location: str, mode: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ingot.save(sample(), tmp_path / "m.onnx", external=mode, location=location)
    assert files(tmp_path) == {}


def test_a_location_in_a_folder_below_is_made(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file", location="a/b/w.data")
    assert list(files(tmp_path)) == ["a/b/w.data", "m.onnx"]
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample())


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nothing")])
def test_a_location_that_is_something_elses_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "w.data")
    with pytest.raises(InputError, match="exists and is not this model's data"):
        ingot.save(sample(), tmp_path / "m.onnx", external="one-file", location="w.data")
    assert [path.name for path in tmp_path.iterdir()] == ["w.data"]


def test_the_location_of_another_model_is_refused(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "other.onnx", external="one-file", location="w.data")
    before = files(tmp_path)
    with pytest.raises(InputError, match="exists and is not this model's data"):
        ingot.save(sample(1), tmp_path / "m.onnx", external="one-file", location="w.data")
    assert files(tmp_path) == before


@pytest.mark.parametrize("location", ["w.data", "./w.data", "a/w.data"])
def test_the_models_own_location_is_replaced(location: str, tmp_path: Path) -> None:
    for seed in (0, 1):
        ingot.save(sample(seed), tmp_path / "m.onnx", external="one-file", location=location)
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample(1))
    assert len(files(tmp_path)) == 2


def test_a_folder_of_weights_is_no_file_of_weights(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="per-tensor", location="w")
    before = files(tmp_path)
    with pytest.raises(InputError, match="it is a folder"):
        ingot.save(sample(1), tmp_path / "m.onnx", external="one-file", location="w")
    assert files(tmp_path) == before


def test_a_file_of_weights_is_no_folder_of_weights(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file", location="w")
    before = files(tmp_path)
    with pytest.raises(InputError, match="is a link or no folder"):
        ingot.save(sample(1), tmp_path / "m.onnx", external="per-tensor", location="w")
    assert files(tmp_path) == before


def test_a_default_location_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx.data").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    assert files(tmp_path) == {}


def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.onnx.weights").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link or no folder"):
        ingot.save(sample(), tmp_path / "models" / "m.onnx", external="per-tensor")
    assert files(tmp_path) == {}


def test_a_linked_data_file_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "m.onnx.data").symlink_to("precious")
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample())


# Weights that already lie in files.


def test_auto_keeps_references_to_files_beside_the_target(tmp_path: Path) -> None:
    path = by_hand(tmp_path, data="sub/w.bin")
    before = files(tmp_path)
    model = ingot.load(path)
    expected = content(model)
    ingot.save(model, path)
    ingot.save(model, tmp_path / "n.onnx")
    after = files(tmp_path)
    assert after.pop("n.onnx") == before["m.onnx"]
    assert after == before
    assert content(ingot.load(tmp_path / "n.onnx")) == expected


def test_auto_writes_the_data_again_in_another_folder(tmp_path: Path) -> None:
    model = ingot.load(by_hand(tmp_path / "a"))
    (tmp_path / "b").mkdir()
    ingot.save(model, tmp_path / "b" / "m.onnx")
    assert list(files(tmp_path / "b")) == ["m.onnx", "m.onnx.data"]
    shutil.rmtree(tmp_path / "a")
    assert content(ingot.load(tmp_path / "b" / "m.onnx")) == content(model)


def test_a_folder_by_another_name_is_the_same_folder(tmp_path: Path) -> None:
    by_hand(tmp_path / "a")
    (tmp_path / "b").symlink_to("a")
    ingot.save(ingot.load(tmp_path / "a" / "m.onnx"), tmp_path / "b" / "n.onnx")
    assert set(files(tmp_path / "a")) == {"m.onnx", "n.onnx", "w.bin"}


@pytest.mark.parametrize("mode", ["never", "one-file", "per-tensor", "auto"])
@pytest.mark.parametrize("mapped", [True, False])
def test_a_model_is_saved_over_the_files_it_is_mapped_from(mode: Any, mapped: bool, tmp_path: Path) -> None:
    path = by_hand(tmp_path, data="m.onnx.data")
    model = ingot.load(path, mapped=mapped)
    expected = content(ingot.load(path, mapped=False))
    ingot.save(model, path, external=mode)
    assert content(model) == expected
    assert content(ingot.load(path)) == expected


@pytest.mark.parametrize("mode", ["never", "one-file", "per-tensor"])
@pytest.mark.parametrize("mapped", [True, False])
def test_auto_does_not_refer_to_a_file_that_was_replaced_since(mode: Any, mapped: bool, tmp_path: Path) -> None:
    path = by_hand(tmp_path, data="m.onnx.data")
    model = ingot.load(path, mapped=mapped)
    expected = content(ingot.load(path, mapped=False))
    ingot.save(model, path, external=mode)
    for target in (path, tmp_path / "n.onnx", path):
        ingot.save(model, target)
        assert content(ingot.load(target)) == expected


def test_auto_does_not_refer_to_a_file_another_model_was_saved_over(tmp_path: Path) -> None:
    model = ingot.load(by_hand(tmp_path, data="m.onnx.data"))
    expected = content(model)
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    ingot.save(model, tmp_path / "n.onnx")
    assert content(ingot.load(tmp_path / "n.onnx")) == expected
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample())


def test_auto_does_not_refer_to_a_file_that_is_gone(tmp_path: Path) -> None:
    path = by_hand(tmp_path)
    model = ingot.load(path)
    (tmp_path / "w.bin").unlink()
    ingot.save(model, path)
    assert content(ingot.load(path)) == content(model)


def joined(tmp_path: Path, data: str) -> ingot.Model:
    """A model of tensors that lie beside it, and of one that lies in another folder; in files of the same name."""
    model = ingot.load(by_hand(tmp_path / "here", data=data))
    other = ingot.load(by_hand(tmp_path / "there", data=data))
    constant = other.graph.initializers["h2"].constant
    assert isinstance(constant, ingot.Tensor)
    model.graph.add_initializer("foreign", constant.renamed("foreign"))
    return model


def test_new_data_does_not_replace_a_file_in_which_other_tensors_stay(tmp_path: Path) -> None:
    model = joined(tmp_path, "m.onnx.data")
    expected = content(model)
    ingot.save(model, tmp_path / "here" / "m.onnx")
    assert content(ingot.load(tmp_path / "here" / "m.onnx")) == expected
    assert references(tmp_path / "here" / "m.onnx")["foreign"]["location"] == "m.onnx.1.data"


def test_new_data_finds_a_name_that_nobody_has(tmp_path: Path) -> None:
    model = joined(tmp_path, "./m.onnx.data")
    (tmp_path / "here" / "m.onnx.1.data").write_bytes(b"precious")
    ingot.save(model, tmp_path / "here" / "m.onnx")
    assert (tmp_path / "here" / "m.onnx.1.data").read_bytes() == b"precious"
    first = files(tmp_path / "here")
    assert content(ingot.load(tmp_path / "here" / "m.onnx")) == content(model)
    ingot.save(model, tmp_path / "here" / "m.onnx")
    assert files(tmp_path / "here") == first, "the second time the name is the model's own"


def test_a_location_in_which_other_tensors_stay_is_refused(tmp_path: Path) -> None:
    model = joined(tmp_path, "w.bin")
    before = files(tmp_path)
    with pytest.raises(InputError, match="tensors of this model stay in it"):
        ingot.save(model, tmp_path / "here" / "m.onnx", location="./w.bin")
    assert files(tmp_path) == before
    ingot.save(model, tmp_path / "here" / "m.onnx", location="w.bin", external="one-file")
    assert content(ingot.load(tmp_path / "here" / "m.onnx")) == content(model)


def deferred(tmp_path: Path, data: str) -> tuple[ingot.Model, bytes]:
    """A model whose data has not come yet, with one new weight, and the data that will come."""
    path = by_hand(tmp_path, data=data)
    late = (tmp_path / data).read_bytes()
    (tmp_path / data).unlink()
    model = ingot.load(path, external="defer")
    model.graph.add_initializer("new", np.ones(3000, np.float32))
    return model, late


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("data", ["w.bin", "m.onnx.data", "./m.onnx.data", "m.onnx.weights/00000-new"])
def test_data_that_has_not_come_yet_keeps_its_name(mode: Any, data: str, tmp_path: Path) -> None:
    model, late = deferred(tmp_path, data)
    ingot.save(model, tmp_path / "m.onnx", external=mode)
    assert not (tmp_path / data).exists()
    with pytest.raises(ExternalDataError, match="does not exist"):
        content(ingot.load(tmp_path / "m.onnx", external="defer"))
    (tmp_path / data).parent.mkdir(exist_ok=True)
    (tmp_path / data).write_bytes(late)
    loaded = ingot.load(tmp_path / "m.onnx")
    for index in range(3):
        constant = loaded.graph.initializers[f"h{index}"].constant
        assert isinstance(constant, ingot.Tensor)
        assert constant.numpy().tolist() == [index] * (600 + index)
    new = loaded.graph.initializers["new"].constant
    assert isinstance(new, ingot.Tensor)
    assert new.numpy().sum() == 3000


def test_the_location_of_data_that_has_not_come_yet_is_refused(tmp_path: Path) -> None:
    model, _ = deferred(tmp_path, "w.bin")
    with pytest.raises(InputError, match="tensors of this model stay in it"):
        ingot.save(model, tmp_path / "m.onnx", external="one-file", location="w.bin")


def test_links_of_a_cache_are_kept_as_references(tmp_path: Path) -> None:
    by_hand(tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for name in ("m.onnx", "w.bin"):
        (tmp_path / "snapshot" / name).symlink_to(f"../blobs/{name}")
    model = ingot.load(tmp_path / "snapshot" / "m.onnx", trusted=[tmp_path])
    ingot.save(model, tmp_path / "snapshot" / "n.onnx")
    assert (tmp_path / "snapshot" / "w.bin").is_symlink()
    assert content(ingot.load(tmp_path / "snapshot" / "n.onnx", trusted=[tmp_path])) == content(model)


# Past the size protobuf takes.


@pytest.mark.parametrize("largest", [120_000, 20_000, 8_000, 5_500])
def test_auto_moves_as_much_outside_as_the_file_needs(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_module, "LARGEST", largest)
    ingot.save(sample(), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size <= largest
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample())


def test_auto_moves_weights_of_constants_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_module, "LARGEST", 3000)
    constant = numpy_helper.from_array(np.arange(1000), "w")
    for place in ("attribute tensor", "attribute tensors", "function attribute default", "subgraph attribute"):
        model = ingot.decode(model_with(place, constant).SerializeToString())
        ingot.save(model, tmp_path / f"{place}.onnx")
        assert (tmp_path / f"{place}.onnx.data").stat().st_size >= 8000
        assert content(ingot.load(tmp_path / f"{place}.onnx")) == content(model)


def test_auto_moves_many_tensors_below_the_threshold_outside_if_it_must(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_module, "LARGEST", 60_000)
    graph = ingot.Graph()
    for index in range(300):
        graph.add_initializer(f"w{index}", np.full(250, index, np.float32))
    model = ingot.Model(graph, 17)
    ingot.save(model, tmp_path / "m.onnx")
    assert content(ingot.load(tmp_path / "m.onnx")) == content(model)


def test_a_large_model_leaves_tensors_in_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_module, "LARGEST", 3000)
    path = by_hand(tmp_path, data="m.onnx.data")
    model = ingot.load(path)
    model.graph.add_initializer("new", np.ones(3000, np.float32))
    expected = content(model)
    before = (tmp_path / "m.onnx.data").stat()
    ingot.save(model, path, threshold=3000)  # those that stay are smaller than the threshold
    assert (tmp_path / "m.onnx.data").stat().st_mtime_ns == before.st_mtime_ns
    assert content(ingot.load(path)) == expected


@pytest.mark.parametrize("mode", ["never", "one-file"])
def test_a_file_that_would_be_too_large_is_refused_before_anything_is_written(
    mode: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_module, "LARGEST", 10_000)
    with pytest.raises(UnsupportedError, match=r"more than protobuf's 10,000"):
        ingot.save(sample(), tmp_path / "m.onnx", external=mode, threshold=100_000)
    assert files(tmp_path) == {}


# Crashes, errors and full disks.


class Faults:
    """The system calls of a save, of which one goes wrong.

    "error": it fails, and the next one works again. "full": it and every later write fail. "interrupt": it is done,
    and then the user stops the program. "kill": it is done, and then the process is gone, so that nothing is
    cleaned up. Which call: the one of number `at`.
    """

    CALLS = ("open", "replace", "link", "fsync", "chmod")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, at: int) -> None:
        self.kind, self.at, self.count, self.happened = kind, at, 0, False
        self._monkeypatch = monkeypatch
        quick = {"fsync": lambda _: None}
        faulty = _Module(os, {name: self._wrapped(quick.get(name, getattr(os, name)), name) for name in self.CALLS})
        monkeypatch.setattr(atomic, "os", faulty)
        monkeypatch.setattr(atomic, "open", self._opened, raising=False)
        monkeypatch.setattr(shutil, "copyfile", self._wrapped(shutil.copyfile, "write"))

    def _wrapped(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self.count += 1
            now = self.count == self.at
            self.happened |= now
            if (now and self.kind in ("error", "full")) or (self.kind == "full" and self.happened and name == "write"):
                raise OSError(errno.ENOSPC if self.kind == "full" else errno.EIO, "on purpose")
            result = real(*args, **named)
            if now:
                if self.kind == "kill":
                    self._monkeypatch.setattr(Path, "unlink", lambda _: None)
                    self._monkeypatch.setattr(Path, "rmdir", lambda _: None)
                raise KeyboardInterrupt
            return result

        return call

    def _opened(self, *args: Any, **named: Any) -> Any:
        file = open(*args, **named)  # noqa: SIM115
        return _File(file, self._wrapped(file.write, "write"))


class _Module:
    def __init__(self, real: Any, faulty: dict[str, Any]) -> None:
        self._real, self._faulty = real, faulty

    def __getattr__(self, name: str) -> Any:
        return self._faulty.get(name) or getattr(self._real, name)


class _File:
    def __init__(self, real: Any, write: Callable[[Any], int]) -> None:
        self._real, self.write = real, write

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._real.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def check_whole(path: Path, old: Content | None, new: Content) -> str:
    """Which of the two models lies at `path`, with all of its own weights."""
    if not path.exists():
        assert old is None
        return "old"
    found = content(ingot.load(path))
    assert found in (old, new)
    return "new" if found == new else "old"


def used_files(path: Path) -> set[str]:
    """The model at `path` and the files it refers to."""
    folder = path.parent
    tensors = _tensor_protos(proto_of(path)) if path.exists() else ()
    named = {e.value for tensor in tensors for e in tensor.external_data if e.key == "location"}
    return named | ({str(path.relative_to(folder))} if path.exists() else set())


@pytest.mark.parametrize("before", [None, "never", "one-file", "per-tensor"])
@pytest.mark.parametrize("mode", ["never", "one-file", "per-tensor"])
@pytest.mark.parametrize("kind", ["error", "full", "interrupt", "kill"])
def test_whatever_goes_wrong_at_any_step_leaves_the_old_model_or_the_new(
    kind: str, mode: Any, before: Any, tmp_path: Path
) -> None:
    old, new = tiny(0), tiny(1)
    expected = content(old), content(new)
    reached = set()
    for at in range(1, 1000):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = folder / "m.onnx"
        if before is not None:
            ingot.save(old, path, external=before, durable=False)
        untouched = set(files(folder))
        with pytest.MonkeyPatch.context() as monkeypatch:
            faults = Faults(monkeypatch, kind, at)
            try:
                ingot.save(new, path, external=mode)
                failed = False
            except (OSError, KeyboardInterrupt):
                failed = True
        holds = check_whole(path, expected[0] if before else None, expected[1])
        reached.add(holds)
        if not faults.happened:
            break
        if not failed:  # what went wrong has another way, or does not matter
            assert holds == "new"
        elif kind in ("error", "full"):
            assert set(files(folder)) <= used_files(path) | untouched, "temporary files are left"
        ingot.save(new, path, external=mode, durable=False)
        assert check_whole(path, None, expected[1]) == "new"
        shutil.rmtree(folder)
    assert not failed
    assert reached == {"old", "new"}
    assert at > 5


def test_an_error_in_a_new_folder_of_weights_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Faults(monkeypatch, "full", 4)
    with pytest.raises(OSError, match="on purpose"):
        ingot.save(sample(), tmp_path / "m.onnx", external="one-file", location="a/b/c.data")
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_weights_are_read_leaves_the_old_model(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    before = files(tmp_path)

    def broken() -> Any:
        raise RuntimeError("on purpose")

    model = sample(1)
    lazy = ingot.Tensor.lazy(broken, ingot.DType.FLOAT32, [1000], name="lazy")
    model.graph.add_initializer("lazy", lazy)
    for mode in ("one-file", "per-tensor", "auto", "never"):
        with pytest.raises(RuntimeError, match="on purpose"):
            ingot.save(model, tmp_path / "m.onnx", external=mode)
        assert files(tmp_path) == before


@pytest.mark.parametrize("mode", ["never", "one-file", "per-tensor"])
def test_a_limit_of_the_system_on_files_leaves_the_old_model(mode: Any, tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external=mode)
    before = files(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 1, 1000, 3000, 60_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                ingot.save(sample(1), tmp_path / "m.onnx", external=mode)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert files(tmp_path) == before


@pytest.mark.parametrize("mode", ["never", "one-file", "per-tensor"])
def test_a_disk_that_is_really_full_leaves_the_old_model(mode: Any, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "ingot", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        ingot.save(sample(), disk / "m.onnx", external=mode)
        before = files(disk)
        with pytest.raises(OSError, match="No space left"):
            ingot.save(sample(1), disk / "m.onnx", external=mode)
        assert files(disk) == before
        assert content(ingot.load(disk / "m.onnx", mapped=False)) == content(sample())
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_folder_that_cannot_be_written_is_left_alone() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # others may not enter pytest's own folders
        folder = Path(name)
        ingot.save(sample(), folder / "m.onnx", external="one-file")
        before = files(folder)
        for path in [folder, *folder.iterdir()]:
            path.chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            for mode in MODES:
                with pytest.raises(PermissionError):
                    ingot.save(sample(1), folder / "m.onnx", external=mode)  # type: ignore[arg-type]
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)
        assert files(folder) == before


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("before", [None, "one-file"])
def test_what_a_model_needs_is_on_the_disk_before_the_model_is_in_place(
    before: Any, durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    if before:
        ingot.save(sample(), path, external=before, location="sub/w.data")
    safe: set[str] = set()
    calls: list[str] = []
    fsync, replace, unlink = os.fsync, os.replace, Path.unlink

    def inode(path_: Any) -> str:
        status = os.stat(path_)
        return f"{status.st_dev}:{status.st_ino}"

    def note_fsync(descriptor: int) -> None:
        calls.append("fsync")
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):  # every name in it is safe now
            for entry in os.scandir(f"/proc/self/fd/{descriptor}"):
                safe.add(f"{inode(descriptor)}/{entry.name}")
        else:
            safe.add(inode(descriptor))
        fsync(descriptor)

    def note_replace(source: Any, target: Any) -> None:
        calls.append("replace")
        if Path(target) == path and durable:
            assert inode(source) in safe, "the model itself"
            proto = onnx.load(source, load_external_data=False)
            for name in {e.value for t in _tensor_protos(proto) for e in t.external_data if e.key == "location"}:
                needed = tmp_path / name
                assert inode(needed) in safe, f"the content of {name}"
                assert f"{inode(needed.parent)}/{needed.name}" in safe, f"the name of {name}"
        replace(source, target)

    def note_unlink(path_: Path) -> None:
        calls.append("unlink")
        unlink(path_)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(Path, "unlink", note_unlink)
    ingot.save(sample(1), path, external="one-file", location="sub/w.data", durable=durable)
    monkeypatch.undo()
    assert content(ingot.load(path)) == content(sample(1))
    assert ("fsync" in calls) == durable
    if durable:
        last = len(calls) - calls[::-1].index("replace")
        assert "fsync" in calls[last:], "the last name is made to last too"
        assert "unlink" not in calls[:last], "nothing is removed before"


def test_file_systems_without_hard_links_are_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    (tmp_path / "m.onnx.data").chmod(0o640)

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    ingot.save(sample(1), tmp_path / "m.onnx", external="one-file")
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample(1))
    assert set(files(tmp_path)) == {"m.onnx", "m.onnx.data"}
    assert stat.S_IMODE((tmp_path / "m.onnx.data").stat().st_mode) == 0o640


def test_permissions_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "m.onnx", external="one-file")
    modes = {"m.onnx": 0o640, "m.onnx.data": 0o604}
    for name, mode in modes.items():
        (tmp_path / name).chmod(mode)
    ingot.save(sample(1), tmp_path / "m.onnx", external="one-file")
    assert {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in modes} == modes


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_new_files_have_the_permissions_the_user_asks_for(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        ingot.save(sample(), tmp_path / "m.onnx", external="per-tensor")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*") if p.is_file()} == {mode}


def test_a_model_that_is_a_link_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    ingot.save(sample(), tmp_path / "blob")
    before = (tmp_path / "blob").read_bytes()
    (tmp_path / "m.onnx").symlink_to("blob")
    ingot.save(sample(1), tmp_path / "m.onnx")
    assert (tmp_path / "blob").read_bytes() == before
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample(1))


# Streams and the onnx package.


def test_a_stream_gets_the_whole_model(tmp_path: Path) -> None:
    model = ingot.load(by_hand(tmp_path))
    stream = io.BytesIO()
    ingot.save(model, stream)
    assert content(ingot.load(stream.getvalue())) == content(model)
    stream.seek(0)
    assert content(ingot.load(stream)) == content(model)


def test_a_stream_cannot_hold_data_that_has_not_come(tmp_path: Path) -> None:
    model, _ = deferred(tmp_path, "w.bin")
    with pytest.raises(ExternalDataError):
        ingot.save(model, io.BytesIO())


def test_a_stream_has_protobufs_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_module, "LARGEST", 1000)
    with pytest.raises(UnsupportedError, match="the whole model takes"):
        ingot.save(sample(), io.BytesIO())


@pytest.mark.parametrize("mode", MODES)
def test_a_message_of_the_onnx_package_is_saved(mode: Any, tmp_path: Path) -> None:
    ingot.save(ingot.to_onnx(sample()), tmp_path / "m.onnx", external=mode)
    assert content(ingot.load(tmp_path / "m.onnx")) == content(sample())


@pytest.mark.parametrize("thing", [None, 3, b"bytes", "m.onnx", onnx.GraphProto()])
def test_what_is_no_model_is_not_saved(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot save a"):
        ingot.save(thing, tmp_path / "m.onnx")
    assert files(tmp_path) == {}


@pytest.mark.parametrize("largest", [0, 1, 100, 1000, 10_000, 1 << 30])
def test_a_message_is_serialized_in_pieces_where_it_is_too_large(largest: int) -> None:
    proto = ingot.to_onnx(sample())
    proto.metadata_props.add(key="", value="")
    proto.graph.node.add()
    assert onnx.ModelProto.FromString(serialize(proto, largest)) == proto
    assert content(ingot.from_onnx(proto)) == content(sample())


@pytest.mark.parametrize("largest", [0, 1000, 10_000, 1 << 30])
def test_a_message_is_filled_in_pieces_where_it_is_too_large(largest: int) -> None:
    proto = fill_proto(sample(), onnx.ModelProto(), largest)
    assert content(ingot.from_onnx(proto)) == content(sample())


@pytest.mark.parametrize("location", ["ingot-placeholder-0", "ingot-placeholder-x", "0", "-0", ""])
def test_no_location_of_a_model_is_taken_for_a_piece_to_fill_in(location: str) -> None:
    model = sample()
    tensor = ingot.Tensor.lazy(lambda: np.ones(9, np.float32), ingot.DType.FLOAT32, [9], name="mine")
    tensor.external = ingot.ir.External(location)
    model.graph.add_initializer("mine", tensor)
    proto = fill_proto(model, onnx.ModelProto(), 1000)
    (mine,) = [tensor for tensor in proto.graph.initializer if tensor.name == "mine"]
    assert [(entry.key, entry.value) for entry in mine.external_data] == [("location", location)]
    assert not mine.HasField("raw_data")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    model = ingot.decode(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])).SerializeToString())
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    ingot.save(model, pipe)
    reader.join(timeout=30)
    assert received == [ingot.encode(model)]
    assert pipe.is_fifo()


def test_text_holds_the_weights_that_were_outside(tmp_path: Path) -> None:
    graph = ingot.Graph(name="g")
    graph.add_initializer("w", np.arange(300, dtype=np.float32))
    ingot.save(ingot.Model(graph, 20), tmp_path / "m.onnx", external="one-file")
    ingot.save(ingot.load(tmp_path / "m.onnx"), tmp_path / "m.onnxtxt")
    constant = ingot.load(tmp_path / "m.onnxtxt").graph.initializers["w"].constant
    assert isinstance(constant, ingot.Tensor)
    assert constant.external is None
    assert constant.tolist() == list(range(300))
