"""Devices and memory, as onnxruntime describes them; only the CPU is ever used."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.compat.onnxruntime.enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)

_TYPES = {"cpu": 0, "cuda": 1, "gpu": 1, "dml": 1, "webgpu": 1, "fpga": 2, "cann": 3, "npu": 3}
_VENDORS = {
    "cuda": OrtDeviceVendorId.NVIDIA,
    "dml": OrtDeviceVendorId.MICROSOFT,
    "cann": OrtDeviceVendorId.HUAWEI,
}


def get_ort_device_type(device_type: str) -> int:
    """The number of a kind of device; an Exception, as in onnxruntime, for a name nobody knows."""
    if device_type not in _TYPES:
        raise Exception(f"Unsupported device type: {device_type}")  # what onnxruntime raises
    return _TYPES[device_type]


class OrtDevice:
    """A device: its kind, the memory on it, its number and its vendor."""

    def __init__(
        self, device_type: int | OrtDevice, memory_type: int = 0, vendor_id: int = 0, device_id: int | None = None
    ) -> None:
        """The device of these numbers, or the same as another; with three numbers the last is the device's own."""
        self._numbers: tuple[int, int, int, int]
        if isinstance(device_type, OrtDevice):
            self._numbers = device_type._numbers
        elif device_id is None:
            self._numbers = device_type, memory_type, 0, vendor_id
        else:
            self._numbers = device_type, memory_type, vendor_id, device_id

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """The device of this name: `cpu`, `cuda`, `dml` and so on."""
        vendor = _VENDORS.get(ort_device_name, OrtDeviceVendorId.NONE) if vendor_id < 0 else vendor_id
        return OrtDevice(get_ort_device_type(ort_device_name), 0, int(vendor), device_id)

    @staticmethod
    def cpu() -> int:
        return _TYPES["cpu"]

    @staticmethod
    def cuda() -> int:
        return _TYPES["cuda"]

    @staticmethod
    def gpu() -> int:
        return _TYPES["gpu"]

    @staticmethod
    def dml() -> int:
        return _TYPES["dml"]

    @staticmethod
    def webgpu() -> int:
        return _TYPES["webgpu"]

    @staticmethod
    def fpga() -> int:
        return _TYPES["fpga"]

    @staticmethod
    def npu() -> int:
        return _TYPES["npu"]

    @staticmethod
    def cann() -> int:
        return _TYPES["cann"]

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_type(self) -> int:
        return self._numbers[0]

    def device_id(self) -> int:
        return self._numbers[3]

    def device_mem_type(self) -> int:
        return self._numbers[1]

    def device_vendor_id(self) -> int:
        return self._numbers[2]

    mem_type = device_mem_type
    vendor_id = device_vendor_id

    def _get_c_device(self) -> OrtDevice:
        return self

    def __repr__(self) -> str:
        return f"<OrtDevice {self.device_type()}:{self.device_id()}>"


def require_cpu(device: OrtDevice) -> None:
    """RuntimeError unless the device is the CPU."""
    if device.device_type() != OrtDevice.cpu():
        raise RuntimeError(f"device {device.device_type()}:{device.device_id()} is not available: only the cpu is")


@dataclass
class OrtMemoryInfo:
    """Where and how memory is taken."""

    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT
    device_vendor_id: int = 0
    device_type: int = 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        memory_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        del alignment
        info = (name, allocator_type, device_id, OrtMemType.DEFAULT, memory_type, vendor_id)
        return OrtMemoryInfo(*info, device_type=int(device_type))


CPU_MEMORY = OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, OrtMemType.DEFAULT)


class OrtArenaCfg:
    """How an arena would grow; kept, and without effect: there is none."""

    def __init__(
        self,
        max_mem: int | dict[str, int] = 0,
        arena_extend_strategy: int = -1,
        initial_chunk_size_bytes: int = -1,
        max_dead_bytes_per_chunk: int = -1,
    ) -> None:
        settings = max_mem if isinstance(max_mem, dict) else {"max_mem": max_mem}
        unknown = set(settings) - {*_ARENA}
        if unknown:
            raise RuntimeError(f"Invalid OrtArenaCfg option: {', '.join(sorted(unknown))}")
        self.max_mem = settings.get("max_mem", 0)
        self.arena_extend_strategy = settings.get("arena_extend_strategy", arena_extend_strategy)
        self.initial_chunk_size_bytes = settings.get("initial_chunk_size_bytes", initial_chunk_size_bytes)
        self.max_dead_bytes_per_chunk = settings.get("max_dead_bytes_per_chunk", max_dead_bytes_per_chunk)
        self.initial_growth_chunk_size_bytes = settings.get("initial_growth_chunk_size_bytes", -1)
        self.max_power_of_two_extend_bytes = settings.get("max_power_of_two_extend_bytes", -1)


_ARENA = (
    "max_mem",
    "arena_extend_strategy",
    "initial_chunk_size_bytes",
    "max_dead_bytes_per_chunk",
    "initial_growth_chunk_size_bytes",
    "max_power_of_two_extend_bytes",
)
