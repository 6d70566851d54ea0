"""Whether models that a provider compiled, and the hardware, fit a provider: questions that the CPU answers plainly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ingot.compat.onnxruntime.enums import OrtCompiledModelCompatibility
from ingot.compat.onnxruntime.ep_devices import OrtEpDevice, OrtHardwareDevice
from ingot.compat.onnxruntime.errors import InvalidArgument
from ingot.compat.onnxruntime.providers import get_available_providers
from ingot.errors import IngotError
from ingot.format.load import load

_PREFIX = "ep_compatibility_info."


def get_model_compatibility_for_ep_devices(
    ep_devices: Sequence[OrtEpDevice], compatibility_info: str
) -> OrtCompiledModelCompatibility:
    """That the question does not apply: the CPU runs no models that were compiled before."""
    if not isinstance(compatibility_info, str):
        raise TypeError(f"compatibility information is a str, not a {type(compatibility_info).__name__}")
    if not ep_devices:
        raise RuntimeError("Invalid argument provided to GetModelCompatibilityForEpDevices.")
    return OrtCompiledModelCompatibility.EP_NOT_APPLICABLE


def get_compatibility_info_from_model(model_path: str | os.PathLike[str], ep_type: str) -> str | None:
    """What the metadata of a model file says for a provider; RuntimeError if there is no such file or no model."""
    if not model_path or not ep_type:
        raise RuntimeError("Invalid argument provided to GetCompatibilityInfoFromModel.")
    return _information(os.fspath(model_path), ep_type)


def get_compatibility_info_from_model_bytes(model_data: bytes, ep_type: str) -> str | None:
    """The same for the bytes of a model."""
    if not model_data or not ep_type:
        raise RuntimeError("Invalid argument provided to GetCompatibilityInfoFromModelBytes.")
    return _information(model_data, ep_type)


def get_hardware_device_ep_incompatibility_details(ep_name: str, hw: OrtHardwareDevice) -> dict[str, Any]:
    """Why a provider cannot use a device: for the CPU there is no reason. InvalidArgument for another provider."""
    if not isinstance(hw, OrtHardwareDevice):
        raise TypeError(f"hardware is an OrtHardwareDevice, not a {type(hw).__name__}")
    if ep_name not in get_available_providers():
        raise InvalidArgument(f"No valid factory found for execution provider '{ep_name}'.")
    return {"reasons_bitmask": 0, "notes": None, "error_code": 0}


def _information(source: str | bytes, ep_type: str) -> str | None:
    try:
        return load(source, external="defer").metadata.get(_PREFIX + ep_type)
    except (IngotError, OSError) as error:
        raise RuntimeError(str(error)) from error
