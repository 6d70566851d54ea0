"""The inputs that models are measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.ir import TensorType
from ingot.ir.text import parse_model
from ingot.tools.bench.asked import METADATA, asked
from ingot.tools.bench.inputs import described, inputs

TEXT = """
<ir_version: 10, opset_import: ["" : 18]>
g (int64[batch, tokens] ids, int64[batch, tokens] attention_mask, int64 rate, float[batch, 3, N, N] image)
    => (float y, int64 r, float[batch, 3, N, N] z)
    <float[50, 4] table>
{
    flat = Reshape (ids, shape)
    rows = Gather (table, flat)
    y = ReduceSum (rows)
    r = ReduceSum (attention_mask)
    s = Identity (rate)
    z = Relu (image)
}
"""


def model(metadata: str | None = None) -> Any:
    table = "{" + ", ".join(["0"] * 200) + "}"
    found = parse_model(
        TEXT.replace("<float[50, 4] table>", f"<float[50, 4] table = {table}, int64[1] shape = {{-1}}>")
    )
    if metadata is not None:
        found.metadata[METADATA] = metadata
    return found


def test_integers_stay_inside_the_table_they_are_looked_up_in_and_masks_are_ones() -> None:
    feeds, open_sizes = inputs(model(), {"tokens": "200"}, {}, 0)
    assert described(feeds) == {
        "ids": "int64[1, 200]",
        "attention_mask": "int64[1, 200]",
        "rate": "int64[]",
        "image": "float32[1, 3, 1, 1]",
    }
    assert open_sizes == ["batch", "N"]
    assert 40 < feeds["ids"].max() < 50
    assert feeds["ids"].min() >= 0
    assert (feeds["attention_mask"] == 1).all()


def test_the_same_seed_gives_the_same_inputs() -> None:
    one, other, third = (inputs(model(), {}, {}, seed)[0] for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not np.array_equal(one["image"], third["image"])


def test_metadata_gives_the_sizes_and_values_that_the_caller_does_not() -> None:
    said = '{"shapes": {"ids": [2, 7], "attention_mask": [2, 7], "image": [2, 3, 8, 8]}, "values": {"rate": 16000}}'
    feeds, open_sizes = inputs(model(said), {}, {}, 0)
    assert [feeds[name].shape for name in ("ids", "attention_mask", "image")] == [(2, 7), (2, 7), (2, 3, 8, 8)]
    assert (feeds["rate"], open_sizes) == (16000, [])
    feeds, _ = inputs(model(said), {"batch": "5"}, {}, 0)
    assert [feeds[name].shape for name in ("ids", "image")] == [(5, 7), (5, 3, 8, 8)]


def test_arrays_from_files_come_first_and_say_sizes(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.full((4, 6), 3))
    feeds, _ = inputs(model(), {}, {"ids": str(tmp_path / "ids.npy")}, 0)
    assert (feeds["ids"] == 3).all()
    assert feeds["attention_mask"].shape == (4, 6)


@pytest.mark.parametrize(
    "said", ["", "[]", "1", '{"shapes": {"x": [-1]}}', '{"shapes": [1]}', '{"values": {"x": "y"}}']
)
def test_metadata_that_says_something_else_is_an_error(said: str) -> None:
    with pytest.raises(InputError, match=r"metadata 'ingot\.bench' does not hold shapes"):
        asked(model(said))


def test_a_size_below_zero_is_one_that_the_model_leaves_open() -> None:
    found = model()
    found.graph.inputs[3].type = TensorType(DType.FLOAT32, (-1, 3, -1, 4))
    feeds, _ = inputs(found, {"image": "2,3,5,4"}, {}, 0)
    assert feeds["image"].shape == (2, 3, 5, 4)
    found.graph.inputs[3].type = TensorType(DType.FLOAT32, (-1, 3, -1, 4))
    assert inputs(found, {}, {}, 0)[0]["image"].shape == (1, 3, 1, 4)


def test_integers_compared_with_all_of_a_range_are_of_that_range() -> None:
    found = parse_model("""
    <ir_version: 10, opset_import: ["" : 18]>
    g (int32[batch, 9] bytes) => (bool[batch, 9, 5] y) <int32[1, 1, 5] all = {0, 1, 2, 3, 4}, int64[1] last = {-1}> {
        column = Unsqueeze (bytes, last)
        y = Equal (column, all)
    }
    """)
    drawn = inputs(found, {"batch": "20"}, {}, 0)[0]["bytes"]
    assert sorted(set(drawn.reshape(-1).tolist())) == [0, 1, 2, 3, 4]
