"""Devices as execution providers offer them, and which provider runs what: the CPU, and everything."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, field

from ingot.compat.onnxruntime.devices import CPU_MEMORY, OrtMemoryInfo
from ingot.compat.onnxruntime.enums import OrtDeviceMemoryType, OrtHardwareDeviceType
from ingot.compat.onnxruntime.errors import Unsupported
from ingot.compat.onnxruntime.providers import CPU
from ingot.ir.node import Node
from ingot.version import __version__


@dataclass(frozen=True, slots=True)
class OrtHardwareDevice:
    """A piece of hardware."""

    type: OrtHardwareDeviceType
    vendor: str = ""
    vendor_id: int = 0
    device_id: int = 0
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrtEpDevice:
    """A piece of hardware, and the provider that would run on it."""

    ep_name: str
    ep_vendor: str
    device: OrtHardwareDevice
    ep_metadata: dict[str, str] = field(default_factory=dict)
    ep_options: dict[str, str] = field(default_factory=dict)

    def memory_info(self, memory_type: OrtDeviceMemoryType) -> OrtMemoryInfo:
        del memory_type
        return CPU_MEMORY

    def create_sync_stream(self) -> object:
        raise Unsupported("OrtEpDevice.create_sync_stream is not supported: the cpu has no streams")


@dataclass(frozen=True, slots=True)
class OrtEpAssignedNode:
    """A node of the model that a provider runs."""

    name: str
    domain: str
    op_type: str


@dataclass(frozen=True, slots=True)
class OrtEpAssignedSubgraph:
    """Nodes that one provider runs."""

    ep_name: str
    _nodes: tuple[OrtEpAssignedNode, ...]

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        return list(self._nodes)


def get_ep_devices() -> list[OrtEpDevice]:
    """The devices that can be used: the CPU."""
    (device,) = get_hardware_devices()
    return [OrtEpDevice(CPU, "ingot", device, {"version": __version__})]


def get_hardware_devices() -> list[OrtHardwareDevice]:
    return [OrtHardwareDevice(OrtHardwareDeviceType.CPU, platform.processor() or platform.machine())]


def assigned(nodes: Iterable[Node]) -> list[OrtEpAssignedSubgraph]:
    """Every node on the CPU, each by itself, as onnxruntime reports it."""
    return [OrtEpAssignedSubgraph(CPU, (OrtEpAssignedNode(node.name, node.domain, node.op_type),)) for node in nodes]
