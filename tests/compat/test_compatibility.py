"""Questions about compiled models and hardware, which the CPU answers."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from compat.samples import add_relu
from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as state


def test_no_model_is_compiled_for_the_cpu() -> None:
    devices = state.get_ep_devices()
    answer = state.get_model_compatibility_for_ep_devices(devices, "anything")
    assert answer == state.OrtCompiledModelCompatibility.EP_NOT_APPLICABLE
    with pytest.raises(RuntimeError, match="Invalid argument"):
        state.get_model_compatibility_for_ep_devices([], "anything")
    with pytest.raises(TypeError, match="str, not a NoneType"):
        state.get_model_compatibility_for_ep_devices(devices, None)  # type: ignore[arg-type]


def test_what_a_model_says_for_a_provider_is_in_its_metadata(tmp_path: Path) -> None:
    proto = onnx.load_from_string(add_relu())
    entry = proto.metadata_props.add()
    entry.key, entry.value = "ep_compatibility_info.MyEP", "driver 3"
    data = proto.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert state.get_compatibility_info_from_model_bytes(data, "MyEP") == "driver 3"
    assert state.get_compatibility_info_from_model(tmp_path / "m.onnx", "MyEP") == "driver 3"
    assert state.get_compatibility_info_from_model_bytes(data, "Other") is None
    for wrong in ((b"", "MyEP"), (data, ""), (b"no model", "MyEP")):
        with pytest.raises(RuntimeError):
            state.get_compatibility_info_from_model_bytes(*wrong)
    for path, name in (("", "MyEP"), ("m.onnx", ""), (str(tmp_path / "none"), "MyEP")):
        with pytest.raises(RuntimeError):
            state.get_compatibility_info_from_model(path, name)


def test_nothing_keeps_the_cpu_from_its_provider() -> None:
    (device,) = state.get_hardware_devices()
    details = state.get_hardware_device_ep_incompatibility_details("CPUExecutionProvider", device)
    assert details == {"reasons_bitmask": 0, "notes": None, "error_code": 0}
    assert int(state.OrtDeviceEpIncompatibilityReason.UNKNOWN) & 0xFFFFFFFF == 0x80000000
    with pytest.raises(state.InvalidArgument, match="No valid factory"):
        state.get_hardware_device_ep_incompatibility_details("Abacus", device)
    with pytest.raises(TypeError, match="OrtHardwareDevice, not a str"):
        state.get_hardware_device_ep_incompatibility_details("CPUExecutionProvider", "cpu")  # type: ignore[arg-type]
