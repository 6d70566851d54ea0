"""CUDAExecutionProvider: the provider `cuda`, with the options that onnxruntime's has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from ingot.errors import ProviderError

if TYPE_CHECKING:
    from ingot.compat.onnxruntime.devices import OrtDevice
    from ingot.providers.cuda import Cuda
    from ingot.providers.cuda.device import Device

CUDA = "CUDAExecutionProvider"

_TRUTHS = {"0": False, "False": False, "false": False, "1": True, "True": True, "true": True}


def _truth(text: str) -> bool:
    return _TRUTHS[text]


_OPTIONS: dict[str, Callable[[str], object]] = {
    "device_id": int,
    "gpu_mem_limit": int,
    "has_user_compute_stream": _truth,
    "user_compute_stream": int,
    **dict.fromkeys(("gpu_external_alloc", "gpu_external_free", "gpu_external_empty_cache"), int),
    **dict.fromkeys(("arena_extend_strategy", "cudnn_conv_algo_search"), str),
    **dict.fromkeys(("tunable_op_max_tuning_duration_ms", "sdpa_kernel"), int),
    **dict.fromkeys(
        (
            *("do_copy_in_default_stream", "cudnn_conv_use_max_workspace", "enable_cuda_graph"),
            *("cudnn_conv1d_pad_to_nc1d", "tunable_op_enable", "tunable_op_tuning_enable"),
            *("enable_skip_layer_norm_strict_mode", "prefer_nhwc", "use_ep_level_unified_stream", "use_tf32"),
            "fuse_conv_bias",
        ),
        _truth,
    ),
}
"""The options that onnxruntime knows, and what their texts are. Those of cuDNN and of its arena have no effect here."""


@cache
def is_available() -> bool:
    """Whether there is a GPU, and a driver that runs it."""
    from ingot.providers.cuda.driver import open_driver  # programs that name no GPU load no driver

    try:
        return open_driver().count > 0
    except ProviderError:
        return False


def provider_of(options: Mapping[str, str]) -> Cuda:
    """The provider with these options; RuntimeError, in onnxruntime's words, for one that is unknown or malformed."""
    values: dict[str, object] = {}
    for name, text in options.items():
        if name not in _OPTIONS:
            raise RuntimeError(f'Unknown provider option: "{name}".')
        try:
            values[name] = _OPTIONS[name](text)
        except (ValueError, KeyError):
            raise RuntimeError(f'Failed to parse provider option "{name}": Failed to parse value: "{text}"') from None
    number, most = values.get("device_id", 0), values.get("gpu_mem_limit")
    stream = values.get("user_compute_stream") if values.get("has_user_compute_stream", True) else None
    assert isinstance(number, int)
    assert most is None or isinstance(most, int)
    assert stream is None or isinstance(stream, int)
    return opened(number, None if most is None or most >= (1 << 63) else most, stream)


@cache
def opened(number: int = 0, most_bytes: int | None = None, stream: int | None = None) -> Cuda:
    """The provider of a GPU, one for all sessions with the same limit and stream."""
    from ingot.providers import named  # a session loads it
    from ingot.providers.cuda import Cuda

    if most_bytes is None and stream is None:
        provider = named(f"cuda:{number}" if number else "cuda")
        assert isinstance(provider, Cuda)
        return provider
    return Cuda(number, most_bytes, stream=stream)


def memory_of(device: OrtDevice) -> Device | None:
    """The memory of a device, None for that of the CPU; RuntimeError for one that is not available."""
    from ingot.compat.onnxruntime.devices import OrtDevice, require_cpu

    if device.device_type() != OrtDevice.cuda() or not is_available():
        require_cpu(device)
        return None
    try:
        return opened(device.device_id()).memory
    except ProviderError as error:
        raise RuntimeError(f"CUDA failure 101: invalid device ordinal: {error.message}") from error
