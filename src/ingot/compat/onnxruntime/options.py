"""SessionOptions and RunOptions: every field with its default, checked when it is set."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, overload

from ingot.compat.onnxruntime.adapters import LoraAdapter
from ingot.compat.onnxruntime.custom_ops import operators_of
from ingot.compat.onnxruntime.enums import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtExecutionProviderDevicePolicy,
)
from ingot.compat.onnxruntime.ep_devices import OrtEpDevice
from ingot.compat.onnxruntime.errors import InvalidArgument, Unsupported
from ingot.compat.onnxruntime.providers import get_all_providers, get_available_providers
from ingot.compat.onnxruntime.values import OrtValue
from ingot.ops.define import Operator
from ingot.session import Cancel

T = TypeVar("T")

_LONGEST_KEY = 1024


class _Field(Generic[T]):
    """An attribute of one type; TypeError for a value of another."""

    def __init__(self, default: T) -> None:
        self._default: T = default
        self._kind: type = type(default)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> _Field[T]: ...
    @overload
    def __get__(self, instance: _Options, owner: type) -> T: ...
    def __get__(self, instance: _Options | None, owner: type) -> T | _Field[T]:
        if instance is None:
            return self
        current: T = instance._fields.get(self._name, self._default)
        return current

    def __set__(self, instance: _Options, value: T) -> None:
        own: Any = value
        fits = hasattr(own, "__index__") if self._kind is int else isinstance(own, self._kind)
        if not fits:
            raise TypeError(
                f"{type(instance).__name__}.{self._name} is a {self._kind.__name__}, not a {type(own).__name__}"
            )
        instance._fields[self._name] = int(own) if self._kind is int else own


class _Options:
    """Fields and string entries; setting a name that is no field is an AttributeError."""

    __slots__ = ("_entries", "_fields")

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._entries: dict[str, str] = {}

    def _add(self, key: str, value: str) -> None:
        for text in (key, value):
            if not isinstance(text, str):
                raise TypeError(f"configuration entries are strings, not {type(text).__name__}")
        if not key or len(key) > _LONGEST_KEY:
            raise RuntimeError(f"Config key is empty or longer than maximum length {_LONGEST_KEY}")
        self._entries[key] = value

    def _get(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


class SessionOptions(_Options):
    """How a session is made. Threads, arenas and optimisation levels are kept and change no result."""

    __slots__ = (
        "_cancelled",
        "_chooses",
        "_dims_by_denotation",
        "_dims_by_name",
        "_external",
        "_files",
        "_initializers",
        "_operators",
        "_providers",
    )

    enable_cpu_mem_arena = _Field(True)
    enable_mem_pattern = _Field(True)
    enable_mem_reuse = _Field(True)
    enable_profiling = _Field(False)
    execution_mode = _Field(ExecutionMode.ORT_SEQUENTIAL)
    execution_order = _Field(ExecutionOrder.DEFAULT)
    graph_optimization_level = _Field(GraphOptimizationLevel.ORT_ENABLE_ALL)
    inter_op_num_threads = _Field(0)
    intra_op_num_threads = _Field(0)
    log_severity_level = _Field(-1)
    log_verbosity_level = _Field(0)
    logid = _Field("")
    optimized_model_filepath = _Field("")
    profile_file_prefix = _Field("onnxruntime_profile_")
    use_deterministic_compute = _Field(False)
    use_per_session_threads = _Field(True)

    def __init__(self) -> None:
        super().__init__()
        self._cancelled = False
        self._chooses = False
        self._dims_by_name: dict[str, int] = {}
        self._dims_by_denotation: dict[str, int] = {}
        self._initializers: dict[str, OrtValue] = {}
        self._external: dict[str, OrtValue] = {}
        self._files: dict[str, bytes | memoryview] = {}
        self._operators: list[Operator] = []
        self._providers: list[tuple[str, dict[str, str]]] = []

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set an entry; one that would change results in a way we cannot follow is refused when a session is made."""
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix every size of this name in the model."""
        self._dims_by_name[name] = operator.index(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Fix every input size that carries this denotation."""
        self._dims_by_denotation[denotation] = operator.index(size)

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Use `value` where the model has an initialiser of this name; a name it has not is ignored, as there.

        RuntimeError for what is no OrtValue of a tensor, and for a name that was given before.
        """
        if name in self._initializers:
            raise RuntimeError(f"An OrtValue for this name has already been added: {name}")
        self._initializers[name] = _tensor(name, value)

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None:
        """Give the data of initialisers that the model keeps outside itself."""
        if len(names) != len(values):
            raise RuntimeError(f"{len(names)} names and {len(values)} values are given")
        self._external.update({name: _tensor(name, value) for name, value in zip(names, values, strict=True)})

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[bytes | memoryview], lengths: Sequence[int]
    ) -> None:
        """Give the content of the files that a model's external data lies in, by file name."""
        if not len(names) == len(buffers) == len(lengths):
            raise RuntimeError(f"{len(names)} names, {len(buffers)} buffers and {len(lengths)} lengths are given")
        for name, buffer, length in zip(names, buffers, lengths, strict=True):
            self._files[name] = memoryview(buffer).cast("B")[:length]

    def add_provider(self, provider_name: str, provider_options: dict[str, str]) -> None:
        """Ask for a provider; one that is not available is refused, as in onnxruntime."""
        if provider_name not in get_all_providers():
            raise RuntimeError(f"Unknown Provider Type: {provider_name}")
        if provider_name not in get_available_providers():
            raise InvalidArgument(
                f"Failed to add provider of type '{provider_name}' to SessionOptions: only the cpu's is available"
            )
        self._providers.append((provider_name, dict(provider_options)))

    def has_providers(self) -> bool:
        return bool(self._providers) or self._chooses

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """Make sessions of these options fail with ModelLoadCanceled."""
        self._cancelled = bool(cancel)

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Add the operators that a Python file defines; NotImplemented, with an example, for a library of machine code.

        ```python
        options.register_custom_ops_library("my_operators.py")
        ```
        """
        self._operators += operators_of(path)

    def add_provider_for_devices(self, ep_devices: Sequence[OrtEpDevice], provider_options: dict[str, str]) -> None:
        """Ask for the provider of devices that `get_ep_devices` gave."""
        for device in ep_devices:
            if not isinstance(device, OrtEpDevice):
                raise TypeError(f"a device is an OrtEpDevice, not a {type(device).__name__}")
            self.add_provider(device.ep_name, provider_options)

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Let the session choose among the devices: there is one, the CPU."""
        if not isinstance(policy, OrtExecutionProviderDevicePolicy):
            raise TypeError(f"a policy is an OrtExecutionProviderDevicePolicy, not a {type(policy).__name__}")
        self._chooses = True

    def set_provider_selection_policy_delegate(self, delegate: Callable[..., Any]) -> None:
        """Accepted; with one device there is nothing to ask."""
        if not callable(delegate):
            raise TypeError(f"a delegate can be called, a {type(delegate).__name__} cannot")
        self._chooses = True

    def set_ep_context_data_read_func(self, read_func: Callable[..., Any], max_data_size: int = 0) -> NoReturn:
        del read_func, max_data_size
        raise Unsupported("SessionOptions.set_ep_context_data_read_func is not supported")

    def clear_ep_context_data_read_func(self) -> None:
        """Nothing: no such function can have been set."""


FIELDS = frozenset(name for name, item in vars(SessionOptions).items() if isinstance(item, _Field))
"""The names of the fields of SessionOptions."""


@dataclass(frozen=True, slots=True)
class ModelChanges:
    """What the options of a session say about its model: what to change in it, and where its data comes from."""

    initializers: Mapping[str, OrtValue]
    external: Mapping[str, OrtValue]
    files: Mapping[str, bytes | memoryview]
    dims_by_name: Mapping[str, int]
    dims_by_denotation: Mapping[str, int]

    def __bool__(self) -> bool:
        weights = (self.initializers, self.external, self.files)
        return any((*weights, self.dims_by_name, self.dims_by_denotation))


def model_changes(options: SessionOptions) -> ModelChanges:
    return ModelChanges(
        options._initializers,
        options._external,
        options._files,
        options._dims_by_name,
        options._dims_by_denotation,
    )


def is_cancelled(options: SessionOptions) -> bool:
    """Whether sessions of these options are not to be made."""
    return options._cancelled


def custom_operators(options: SessionOptions) -> Sequence[Operator]:
    """The operators that were registered."""
    return options._operators


def entries_of(options: SessionOptions) -> Mapping[str, str]:
    """The configuration entries that were set."""
    return options._entries


class RunOptions(_Options):
    """How one run goes."""

    __slots__ = ("_adapters", "_cancel")

    log_severity_level = _Field(-1)
    log_verbosity_level = _Field(0)
    logid = _Field("")
    only_execute_path_to_fetches = _Field(False)

    def __init__(self) -> None:
        super().__init__()
        self._cancel = Cancel()
        self._adapters: list[LoraAdapter] = []

    @property
    def terminate(self) -> bool:
        """Set, from any thread, to end the runs that use these options."""
        return self._cancel.cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"RunOptions.terminate is a bool, not a {type(value).__name__}")
        if value:
            self._cancel.cancel()
        elif self._cancel.cancelled:
            self._cancel = Cancel()  # runs that are about to end keep the one they have

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        return self._get(key)

    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """Feed the parameters of an adapter to the runs that use these options."""
        if not isinstance(adapter, LoraAdapter):
            raise TypeError(f"an adapter is a LoraAdapter, not a {type(adapter).__name__}")
        self._adapters.append(adapter)


def adapted(options: RunOptions) -> dict[str, Any]:
    """What the adapters of a run feed to it."""
    return {name: value.numpy() for adapter in options._adapters for name, value in adapter.parameters.items()}


def _tensor(name: str, value: OrtValue) -> OrtValue:
    if not isinstance(value, OrtValue):
        raise RuntimeError(f"initialiser '{name}' must be an OrtValue, not a {type(value).__name__}")
    if not value.is_tensor():
        raise InvalidArgument(f"initialiser '{name}' must be a tensor, not a {value.data_type()}")
    return value
