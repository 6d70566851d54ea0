"""Execution providers: the CPU's is there, others are warned of and passed over."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import add_relu
from ingot.compat.onnxruntime.capi.onnxruntime_inference_collection import check_and_normalize_provider_args

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def test_only_the_cpu_is_available() -> None:
    assert ort.get_available_providers() == [CPU]
    assert {CPU, CUDA} < set(ort.get_all_providers())
    assert ort.get_device() == "CPU"


@pytest.mark.parametrize("providers", [None, [], [CPU], CPU, [(CPU, {})]])
def test_a_session_is_on_the_cpu_without_a_warning(providers: Any) -> None:
    session = ort.InferenceSession(add_relu(), providers=providers)
    assert session.get_providers() == [CPU]
    assert session.get_provider_options() == {CPU: {}}


@pytest.mark.parametrize("providers", [[CUDA], [CUDA, CPU], [(CUDA, {"device_id": 0}), CPU]])
def test_a_provider_that_is_not_available_is_warned_of_in_the_words_of_onnxruntime(providers: Any) -> None:
    said = f"Specified provider '{CUDA}' is not in available provider names.Available providers: '{CPU}'"
    with pytest.warns(UserWarning, match=re.escape(said)) as caught:
        session = ort.InferenceSession(add_relu(), providers=providers)
    assert caught[0].filename == __file__
    assert session.get_providers() == [CPU]


def test_a_provider_nobody_knows_is_an_error_without_fallback() -> None:
    with pytest.warns(UserWarning, match="Abacus"):
        assert ort.InferenceSession(add_relu(), providers=["Abacus"]).get_providers() == [CPU]
    with pytest.warns(UserWarning, match="Abacus"), pytest.raises(RuntimeError, match="Unknown Provider Type: Abacus"):
        ort.InferenceSession(add_relu(), providers=["Abacus"], enable_fallback=0)


def test_options_of_providers_are_kept_as_text() -> None:
    session = ort.InferenceSession(add_relu(), providers=[CPU], provider_options=[{"use_arena": True}])
    assert session.get_provider_options() == {CPU: {"use_arena": "True"}}
    assert ort.InferenceSession(add_relu(), providers=[(CPU, {"a": 1})]).get_provider_options() == {CPU: {"a": "1"}}


@pytest.mark.parametrize(
    ("providers", "settings"),
    [
        ({CPU}, None),
        ([3], None),
        ([CPU], [{}, {}]),
        ([CPU], {}),
        ([CPU], [3]),
        ([(CPU, {})], [{}]),
        ([[CPU, {}]], None),
    ],
)
def test_arguments_of_the_wrong_form_are_value_errors(providers: Any, settings: Any) -> None:
    with pytest.raises(ValueError, match="provider"):
        ort.InferenceSession(add_relu(), providers=providers, provider_options=settings)


def test_providers_are_set_anew() -> None:
    session = ort.InferenceSession(add_relu())
    session.disable_fallback()
    with pytest.warns(UserWarning, match=CUDA):
        session.set_providers([CUDA, CPU])
    session.enable_fallback()
    with pytest.warns(UserWarning, match="Duplicate"):
        session.set_providers([CPU, CPU])
    assert session.get_providers() == [CPU]
    with pytest.warns(UserWarning, match="Abacus"), pytest.raises(RuntimeError, match="Unknown Provider Type: Abacus"):
        session.set_providers(["Abacus"])


def test_arguments_for_providers_are_normalised_for_programs_too() -> None:
    assert check_and_normalize_provider_args(None, None, [CPU]) == ([], [])
    assert check_and_normalize_provider_args([(CPU, {1: 2})], None, [CPU]) == ([CPU], [{"1": "2"}])
    with pytest.warns(UserWarning, match="Specified provider 'b' is not in available") as caught:
        assert check_and_normalize_provider_args(["a", "b"], [{}, {"x": 1}], ["a"]) == (["a", "b"], [{}, {"x": "1"}])
    assert caught[0].filename == __file__
