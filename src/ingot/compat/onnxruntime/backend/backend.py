"""The backend API of the onnx package: prepare a model, run it."""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

from ingot.compat.onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep
from ingot.compat.onnxruntime.environment import get_device
from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.compat.onnxruntime.options import FIELDS, SessionOptions
from ingot.compat.onnxruntime.providers import get_available_providers

_ALLOWED = FIELDS - {"enable_profiling", "optimized_model_filepath", "profile_file_prefix"}
"""The fields of SessionOptions that write no files."""

Prepared: TypeAlias = "str | bytes | InferenceSession | OnnxRuntimeBackendRep | Any"


class OnnxRuntimeBackend:
    """The functions of a backend; a model may be a path, bytes, a ModelProto, a session or a prepared model."""

    @classmethod
    def is_compatible(cls, model: Prepared, device: str | None = None, **kwargs: Any) -> bool:
        del model, kwargs
        return cls.supports_device(get_device() if device is None else device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == get_device()

    @classmethod
    def prepare(cls, model: Prepared, device: str | None = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        """The model ready to run; `kwargs` are fields of SessionOptions.

        RuntimeError for those that write files and for a device that is not there; unknown names are passed over.
        """
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got '{get_device()}'")
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        options = SessionOptions()
        for name, value in kwargs.items():
            if name in _ALLOWED:
                setattr(options, name, value)
            elif hasattr(options, name):
                raise RuntimeError(
                    f"SessionOptions attribute '{name}' is not permitted via the backend API."
                    f" Allowed attributes: {', '.join(sorted(_ALLOWED))}"
                )
        source = model if isinstance(model, str | bytes) else model.SerializeToString()
        return OnnxRuntimeBackendRep(InferenceSession(source, options, get_available_providers()))

    @classmethod
    def run_model(cls, model: Prepared, inputs: Any, device: str | None = None, **kwargs: Any) -> list[Any]:
        """Prepare and run at once; `kwargs` are for both."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str | None = None, **kwargs: Any) -> NoReturn:
        del node, inputs, device, kwargs
        raise NotImplementedError("single nodes are not run: make a model of them")


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
