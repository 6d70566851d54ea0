"""Devices of providers: there is one, the CPU, and every way of choosing leads to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu
from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as state


def test_the_cpu_is_the_only_device() -> None:
    (device,) = ort.get_ep_devices()
    assert device.ep_name == "CPUExecutionProvider"
    assert device.device.type == ort.OrtHardwareDeviceType.CPU
    assert device.device in state.get_hardware_devices()
    assert device.memory_info(ort.OrtDeviceMemoryType.DEFAULT).name == "Cpu"
    with pytest.raises(state.NotImplemented, match="create_sync_stream"):
        device.create_sync_stream()


@pytest.mark.parametrize(
    "choose",
    [
        lambda options: options.add_provider_for_devices(ort.get_ep_devices(), {}),
        lambda options: options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_NPU),
        lambda options: options.set_provider_selection_policy_delegate(lambda *_: []),
    ],
)
def test_however_a_program_chooses_it_gets_the_cpu(choose: Callable[[ort.SessionOptions], None]) -> None:
    options = ort.SessionOptions()
    assert not options.has_providers()
    choose(options)
    assert options.has_providers()
    session = ort.InferenceSession(add_relu(), options)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.run(None, {"x": X})[0].shape == (2, 3)


def test_what_is_no_device_or_policy_is_a_type_error() -> None:
    options = ort.SessionOptions()
    with pytest.raises(TypeError, match="OrtEpDevice, not a str"):
        options.add_provider_for_devices(["cpu"], {})  # type: ignore[list-item]
    with pytest.raises(TypeError, match="OrtExecutionProviderDevicePolicy, not a int"):
        options.set_provider_selection_policy(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a int cannot"):
        options.set_provider_selection_policy_delegate(1)  # type: ignore[arg-type]


def test_every_node_is_assigned_to_the_cpu_where_that_is_recorded() -> None:
    with pytest.raises(state.Fail, match="record_ep_graph_assignment_info"):
        ort.InferenceSession(add_relu()).get_provider_graph_assignment_info()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    parts = ort.InferenceSession(add_relu(), options).get_provider_graph_assignment_info()
    assert [part.ep_name for part in parts] == ["CPUExecutionProvider"] * 2
    assert [(n.name, n.domain, n.op_type) for part in parts for n in part.get_nodes()] == [
        ("add", "", "Add"),
        ("relu", "", "Relu"),
    ]


def test_allocators_and_reports_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator_v2("CPUExecutionProvider", memory, {}, ort.OrtArenaCfg())
    ort.print_debug_info()
    assert f"onnxruntime version: {ort.__version__}" in capsys.readouterr().out
