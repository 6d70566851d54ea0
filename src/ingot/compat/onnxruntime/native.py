"""The classes of onnxruntime's native module that its Python classes wrap: `session._sess`, `binding._iobinding`.

Programs that reach below the Python API find the methods they know; what computes is the session above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingot.compat.onnxruntime.arguments import ModelMetadata, NodeArg
from ingot.compat.onnxruntime.devices import OrtDevice, OrtMemoryInfo, require_cpu
from ingot.compat.onnxruntime.ep_devices import OrtEpAssignedSubgraph, OrtEpDevice
from ingot.compat.onnxruntime.errors import Fail
from ingot.compat.onnxruntime.options import RunOptions, SessionOptions
from ingot.compat.onnxruntime.values import OrtValue, OrtValueVector

if TYPE_CHECKING:
    from ingot.compat.onnxruntime.binding import IOBinding
    from ingot.compat.onnxruntime.inference import Callback, InferenceSession


class NativeSession:
    """A session whose arguments come in the native module's order."""

    def __init__(self, session: InferenceSession | None) -> None:
        """What a session wraps; without one it can do nothing yet."""
        self._wrapper = session

    @property
    def _session(self) -> InferenceSession:
        if self._wrapper is None:
            raise Fail("the session is not initialised: call initialize_session")
        return self._wrapper

    @property
    def session_options(self) -> SessionOptions:
        return self._session.get_session_options()

    @property
    def inputs_meta(self) -> list[NodeArg]:
        return self._session.get_inputs()

    @property
    def outputs_meta(self) -> list[NodeArg]:
        return self._session.get_outputs()

    @property
    def overridable_initializers(self) -> list[NodeArg]:
        return self._session.get_overridable_initializers()

    @property
    def input_meminfos(self) -> list[OrtMemoryInfo]:
        return self._session.get_input_memory_infos()

    @property
    def output_meminfos(self) -> list[OrtMemoryInfo]:
        return self._session.get_output_memory_infos()

    @property
    def input_epdevices(self) -> list[OrtEpDevice]:
        return self._session.get_input_epdevices()

    @property
    def model_meta(self) -> ModelMetadata:
        return self._session.get_modelmeta()

    @property
    def get_profiling_start_time_ns(self) -> int:
        return self._session.get_profiling_start_time_ns()

    def get_providers(self) -> list[str]:
        return self._session.get_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return self._session.get_provider_options()

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        return self._session.get_provider_graph_assignment_info()

    def run(
        self, output_names: Sequence[str], input_feed: Mapping[str, Any], run_options: RunOptions | None
    ) -> list[Any]:
        return self._session.run(output_names, input_feed, run_options)

    def run_async(
        self,
        output_names: Sequence[str],
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        self._session.run_async(output_names, input_feed, callback, user_data, run_options)

    def run_with_ort_values(
        self, input_feed: Mapping[str, OrtValue], output_names: Sequence[str], run_options: RunOptions | None
    ) -> OrtValueVector:
        return OrtValueVector(self._session.run_with_ort_values(output_names, input_feed, run_options))

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[OrtDevice],
    ) -> None:
        self._session.run_with_ortvaluevector(run_options, feed_names, feeds, fetch_names, fetches, fetch_devices)

    def run_with_iobinding(self, binding: NativeBinding, run_options: RunOptions | None = None) -> None:
        self._session.run_with_iobinding(binding.wrapper, run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device: OrtDevice
    ) -> OrtValue:
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device)

    create_ortvalue_from_shape_and_onnx_type = create_ortvalue_from_shape_and_type

    def end_profiling(self) -> str:
        return self._session.end_profiling()

    def get_tuning_results(self) -> list[Any]:
        return self._session.get_tuning_results()

    def set_tuning_results(self, results: Sequence[Any], error_on_invalid: bool) -> None:
        self._session.set_tuning_results(results, error_on_invalid=error_on_invalid)

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        self._session.set_ep_dynamic_options(options)

    def release_captured_graph(self, graph_annotation_id: int) -> None:
        self._session.release_captured_graph(graph_annotation_id)

    def is_webgpu_graph_capture_enabled(self) -> bool:
        return False

    def webgpu_context_id(self) -> int:
        """A number of no context: there is no such device."""
        return -1

    def binding(self) -> IOBinding:
        """A new binding of inputs and outputs."""
        return self._session.io_binding()


class NativeBinding:
    """A binding whose devices are objects, and whose outputs are a vector."""

    def __init__(self, session: NativeSession | IOBinding) -> None:
        """A new binding of a native session, or what a binding wraps."""
        self.wrapper = session.binding() if isinstance(session, NativeSession) else session

    def bind_input(
        self,
        name: str,
        array_or_device: Any,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        address: int | None = None,
    ) -> None:
        """Bind an array, or the memory at an address of a device."""
        if element_type is None or shape is None or address is None:
            self.wrapper.bind_cpu_input(name, array_or_device)
        else:
            require_cpu(array_or_device)
            self.wrapper.bind_input(name, "cpu", 0, element_type, shape, address)

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        self.wrapper.bind_ortvalue_input(name, value)

    def bind_output(
        self,
        name: str,
        device: OrtDevice,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        address: int | None = None,
    ) -> None:
        require_cpu(device)
        self.wrapper.bind_output(name, "cpu", 0, element_type, shape, address)

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        self.wrapper.bind_ortvalue_output(name, value)

    def synchronize_inputs(self) -> None:
        self.wrapper.synchronize_inputs()

    def synchronize_outputs(self) -> None:
        self.wrapper.synchronize_outputs()

    def get_outputs(self) -> OrtValueVector:
        return self.wrapper.get_outputs_as_ortvaluevector()

    def copy_outputs_to_cpu(self) -> list[Any]:
        return self.wrapper.copy_outputs_to_cpu()

    def clear_binding_inputs(self) -> None:
        self.wrapper.clear_binding_inputs()

    def clear_binding_outputs(self) -> None:
        self.wrapper.clear_binding_outputs()
