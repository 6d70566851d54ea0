"""LoRA adapters: weights that a run takes in the place of the defaults of inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ingot.compat.onnxruntime.adapter_file import Adapter, decode, encode
from ingot.compat.onnxruntime.values import OrtValue


class AdapterFormat:
    """An adapter that is read from a file, changed, and written."""

    def __init__(self, adapter: AdapterFormat | None = None) -> None:
        """An adapter without parameters, or the same as another."""
        self._adapter: Adapter = Adapter() if adapter is None else adapter._adapter

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """The adapter in a file; RuntimeError if there is none."""
        read = AdapterFormat()
        read._adapter = _read(file_path)
        return read

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Write the adapter to a file; RuntimeError, and no file, for parameters that are strings."""
        Path(file_path).write_bytes(encode(self._adapter))

    @property
    def format_version(self) -> int:
        return self._adapter.format_version

    @property
    def adapter_version(self) -> int:
        return self._adapter.adapter_version

    @adapter_version.setter
    def adapter_version(self, version: int) -> None:
        self._adapter = replace(self._adapter, adapter_version=int(version))

    @property
    def model_version(self) -> int:
        return self._adapter.model_version

    @model_version.setter
    def model_version(self, version: int) -> None:
        self._adapter = replace(self._adapter, model_version=int(version))

    @property
    def parameters(self) -> dict[str, OrtValue]:
        """The tensors by name."""
        return {name: OrtValue(array) for name, array in self._adapter.parameters.items()}

    @parameters.setter
    def parameters(self, values: Mapping[str, OrtValue]) -> None:
        self._adapter = replace(self._adapter, parameters={name: value.numpy() for name, value in values.items()})

    def get_format_version(self) -> int:
        return self.format_version

    def get_adapter_version(self) -> int:
        return self.adapter_version

    def set_adapter_version(self, adapter_version: int) -> None:
        self.adapter_version = adapter_version

    def get_model_version(self) -> int:
        return self.model_version

    def set_model_version(self, model_version: int) -> None:
        self.model_version = model_version

    def get_parameters(self) -> dict[str, OrtValue]:
        return self.parameters

    def set_parameters(self, params: Mapping[str, OrtValue]) -> None:
        self.parameters = dict(params)


class LoraAdapter:
    """An adapter that runs can be given: see `RunOptions.add_active_adapter`."""

    def __init__(self) -> None:
        self.parameters: dict[str, OrtValue] = {}

    def Load(self, file_path: str | os.PathLike[str]) -> None:  # noqa: N802
        """Take the parameters in a file; RuntimeError if it has none."""
        self.parameters = {name: OrtValue(array) for name, array in _read(file_path).parameters.items()}


def _read(path: str | os.PathLike[str]) -> Adapter:
    try:
        return decode(Path(path).read_bytes())
    except OSError as error:
        raise RuntimeError(f"the adapter cannot be read: {error}") from error
