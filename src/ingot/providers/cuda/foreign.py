"""Tensors of other libraries that are on a GPU, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.errors import InputError
from ingot.runtime.device_array import DLPACK_CUDA, DeviceArray, is_contiguous

if TYPE_CHECKING:
    from ingot.providers.cuda.device import Device

_LEGACY = 1
"""What others call the stream that is 0 for the driver."""


def adopted(value: Any, device: Device) -> DeviceArray | None:
    """A tensor in the memory of a GPU, once what other streams do with it is done; None for anything else."""
    if type(value) is DeviceArray:
        if value.memory is device:
            return value
        if value.memory.dlpack_device != device.dlpack_device:
            return None
        return DeviceArray(device, value.address, value.shape, value.dtype, value)
    where = getattr(value, "__dlpack_device__", None)
    if where is not None:
        if tuple(where()) != (DLPACK_CUDA, device.number):
            return None
        from ingot.runtime.dlpack import imported  # few programs need it

        return imported(value, device, device.stream or _LEGACY)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return None
    shape, dtype, strides = tuple(interface["shape"]), np.dtype(interface["typestr"]), interface.get("strides")
    if strides is not None and not is_contiguous(shape, strides, dtype.itemsize):
        raise InputError("a tensor on a device is not contiguous", hint="give a contiguous copy")
    if interface.get("stream") is not None:
        device.enter()
        device.driver.call("cuStreamSynchronize", interface["stream"])
    address, _ = interface["data"]
    return DeviceArray(device, address, shape, dtype, value)
