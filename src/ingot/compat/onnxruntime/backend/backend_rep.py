"""A model prepared by the backend API."""

from __future__ import annotations

from typing import Any

from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.compat.onnxruntime.options import RunOptions

_ALLOWED = frozenset({"log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"})


class OnnxRuntimeBackendRep:
    """A session under the interface of the onnx package's `BackendRep`."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> list[Any]:
        """The outputs for a list of inputs in order, or for the only input.

        `kwargs` are fields of RunOptions that cannot end the run; RuntimeError for others, and unknown names are
        passed over.
        """
        options = RunOptions()
        for name, value in kwargs.items():
            if name in _ALLOWED:
                setattr(options, name, value)
            elif hasattr(options, name):
                raise RuntimeError(
                    f"RunOptions attribute '{name}' is not permitted via the backend API."
                    f" Allowed attributes: {', '.join(sorted(_ALLOWED))}"
                )
        names = [argument.name for argument in self._session.get_inputs()]
        arrays = inputs if isinstance(inputs, list) else [inputs]
        if len(arrays) != len(names):
            raise RuntimeError(f"{len(arrays)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
        return self._session.run(None, dict(zip(names, arrays, strict=True)), options)
