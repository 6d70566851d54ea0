"""Forms that the page of operators lists as refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import UnsupportedError
from ingot.ops.contrib.refused_forms import FORMS
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(5)
TEXTS = np.array(["ab"], object)
ONE = np.float32(1)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape: int) -> Any:
    return RNG.integers(0, 255, shape).astype(np.uint8)


def projected() -> list[Any]:
    return [floats(1, 3, 8), floats(8, 24), floats(24)]


def quantised() -> list[Any]:
    zeros = (np.uint8(0), np.uint8(0))
    return [codes(1, 3, 8), codes(8, 24), floats(24), ONE, ONE, None, *zeros]


def cached() -> list[Any]:
    sizes = np.array([4], np.int32), np.array([5], np.int32)
    return [floats(1, 1, 16), floats(1, 1, 8), floats(1, 1, 8), floats(1, 1, 4, 8), floats(1, 1, 4, 8), *sizes]


def experts() -> list[Any]:
    return [floats(4, 8), floats(4, 3), floats(3, 16, 8), None, floats(3, 8, 16)]


def packed_experts() -> list[Any]:
    return [floats(4, 8), floats(4, 3), codes(3, 16, 4), floats(3, 16), None, codes(3, 8, 4), floats(3, 8)]


def tokens(pattern: str) -> dict[str, Any]:
    return {"tokenexp": pattern, "mark": 0, "mincharnum": 1, "pad_value": "#"}


HEADS = {"num_heads": 2, "past_present_share_buffer": 1}
CASES: list[tuple[int, str, list[Any], dict[str, Any]]] = [
    (0, "Attention", projected(), HEADS),
    (0, "QAttention", quantised(), HEADS),
    (1, "GroupQueryAttention", cached(), {"num_heads": 2, "kv_num_heads": 1, "sliding_window_cache": 1}),
    (2, "MoE", experts(), {"k": 2, "use_sparse_mixer": 1}),
    (2, "QMoE", packed_experts(), {"k": 2, "use_sparse_mixer": 1}),
    (3, "QMoE", packed_experts(), {"k": 1, "quant_type": "fp4"}),
    (
        4,
        "MatMulNBits",
        [floats(2, 32), codes(4, 1, 16), floats(4)],
        {"K": 32, "N": 4, "bits": 4, "block_size": 32, "weight_prepacked": 1},
    ),
    (5, "RegexFullMatch", [TEXTS], {"pattern": r"\C*"}),
    (5, "Tokenizer", [TEXTS], tokens(r"\C")),
    (6, "RegexFullMatch", [TEXTS], {"pattern": r"\p{Greek}+"}),
    (6, "Tokenizer", [TEXTS], tokens(r"\p{Greek}")),
]


def test_every_form_of_every_operator_has_a_case() -> None:
    listed = [(index, name) for index, form in enumerate(FORMS) for name in form.operators]
    assert [(index, name) for index, name, _, _ in CASES] == listed


@pytest.mark.parametrize(("name", "inputs", "attributes"), [case[1:] for case in CASES])
def test_a_form_that_is_listed_is_refused(name: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    is_standard = name == "RegexFullMatch"
    domain, version = ("", 20) if is_standard else ("com.microsoft", 1)
    with pytest.raises(UnsupportedError):
        evaluate(name, *inputs, domain=domain, version=version, **attributes)
