"""InferenceSession: onnxruntime's session on top of ours."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from ingot.compat.onnxruntime import model_config
from ingot.compat.onnxruntime.arguments import ModelMetadata, NodeArg, metadata, node_arg
from ingot.compat.onnxruntime.binding import IOBinding, run_bound, written
from ingot.compat.onnxruntime.devices import CPU_MEMORY, OrtDevice, OrtMemoryInfo
from ingot.compat.onnxruntime.environment import GLOBAL_THREADS, SEEDS
from ingot.compat.onnxruntime.ep_devices import OrtEpAssignedSubgraph, OrtEpDevice, assigned, get_ep_devices
from ingot.compat.onnxruntime.errors import Fail, InvalidArgument, Status, Unsupported, at_run, loading
from ingot.compat.onnxruntime.feeds import is_plain, misfit, opened
from ingot.compat.onnxruntime.loosen import loosen
from ingot.compat.onnxruntime.native import NativeSession
from ingot.compat.onnxruntime.options import RunOptions, SessionOptions, adapted, custom_operators, entries_of
from ingot.compat.onnxruntime.prepare import (
    cacheable,
    leaves_alone,
    level_of,
    prepared,
    reads_through_links,
    write_optimised,
)
from ingot.compat.onnxruntime.profile import Profile
from ingot.compat.onnxruntime.providers import Asked, Settings, chosen, engines
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import OrtValue, contents_of
from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.ir.types import SparseTensorType, Type
from ingot.passes.precisions import PRECISIONS, Precision
from ingot.session import Placement, RunLimits, Session

_RANDOM = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)

_MEMORY = "ingot.memory_limit"
_PRECISION = "ingot.precision"
_RECORD = "session.record_ep_graph_assignment_info"

Callback = Callable[[list[Any], Any, str], None]


class InferenceSession:
    """A model ready to run. It can be used by many threads at once, and pickled."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Asked = None,
        provider_options: Settings = None,
        **kwargs: Any,
    ) -> None:
        """A session of a model file or of its bytes.

        `sess_options` is kept, not copied. Of the `kwargs`, `enable_fallback=0` makes an unknown provider an error;
        the others that onnxruntime knows concern its optimiser.
        """
        source: str | bytes
        if isinstance(path_or_bytes, bytes):
            source, place = path_or_bytes, "Load model from bytes failed"
            if not source:
                raise InvalidArgument("No graph was found in the protobuf.")
        elif isinstance(path_or_bytes, str | os.PathLike):
            source = os.fspath(path_or_bytes)
            place = f"Load model from {source} failed"
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._model_path = source if isinstance(source, str) else None  # private there too, and read by programs
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options are SessionOptions, not {type(sess_options).__name__}")
        self._options = SessionOptions() if sess_options is None else sess_options
        if model_config.is_wanted():
            with loading(place):
                self._options = model_config.options_of(source)
        self._fallback = int(kwargs.get("enable_fallback", 1)) == 1
        self._providers = chosen(providers, provider_options, fallback=self._fallback)
        self._profile = Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        if self._profile is not None:
            weakref.finalize(self, self._profile.end)
        with loading(place), self._phase("model_loading_uri" if isinstance(source, str) else "model_loading_array"):
            model = prepared(source, self._options)
        self._inputs = [node_arg(value.name, value.type) for value in model.inputs]
        declared = [(value.name, value.type) for value in model.outputs]
        with loading(place), self._phase("session_initialization"):
            write_optimised(model, self._options)
            is_alone = leaves_alone(self._options) and not reads_through_links(source, model)
            original = source if not loosen(model) and is_alone else None
            self._engine = self._opened_by(original if isinstance(original, str) else cacheable(original, model))
        inferred = self._engine.outputs
        self._outputs = [node_arg(name, type_, inferred.get(name)) for name, type_ in declared]
        self._all_outputs = list(inferred)
        self._input_types = self._engine.inputs
        self._overridable = _overridable(model)
        self._is_random = any(node.applies(*_RANDOM) for node in model.nodes())
        self._sparse = frozenset(name for name, type_ in declared if isinstance(type_, SparseTensorType))
        self._is_plain = not (self._profile or self._is_random or self._sparse) and all(
            map(is_plain, self._input_types.values())
        )

    def get_inputs(self) -> list[NodeArg]:
        """What must be fed."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """What may be fed: inputs that have a default."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        return metadata(self._engine.model)

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: dict(options) for name, options in self._providers.items()}

    def set_providers(self, providers: Asked = None, provider_options: Settings = None) -> None:
        """Choose the providers anew, as when the session was made; RuntimeError for one that nobody knows."""
        before = engines(self._providers)
        self._providers = chosen(providers, provider_options, fallback=False)
        if engines(self._providers) != before:
            self._engine = self._opened_by(self._engine.model)

    def _opened_by(self, model: Any) -> Session:
        """A session of a model by the providers that were chosen."""
        return Session(
            model,
            providers=engines(self._providers),
            operators=custom_operators(self._options),
            limits=_limits(self._options),
            threads=_threads(self._options),
            optimise=level_of(self._options.graph_optimization_level),
            precision=_precision(self._options),
        )

    def enable_fallback(self) -> None:
        self._fallback = True

    def disable_fallback(self) -> None:
        self._fallback = False

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        return [CPU_MEMORY] * len(self._inputs)

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        return [CPU_MEMORY] * len(self._outputs)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The named outputs, or all of them: arrays, lists for sequences, dictionaries for maps.

        Feeds are arrays, lists or OrtValues. Beyond what onnxruntime allows, any value of the model can be named.
        TypeError for names that are no list of texts.
        """
        if output_names is not None and type(output_names) is not list:
            output_names = _listed(output_names)
        if OrtValue in map(type, input_feed.values()):
            input_feed = {name: contents_of(value) for name, value in input_feed.items()}
        if self._is_plain:
            names = None if not output_names or output_names == self._all_outputs else _listed(output_names)
            try:
                if run_options is None:
                    return self._engine.run(names, input_feed)
                if type(run_options) is RunOptions and not run_options._adapters:
                    return self._engine.run(names, input_feed, cancel=run_options._cancel)
            except InputError:
                pass  # feeds of other forms are opened below, and refused with onnxruntime's messages
            except Exception as error:
                raise at_run(error) from error
        return self._run(self._named(output_names), self._opened(input_feed, run_options), run_options)

    def _run_on_device(
        self, names: list[str], feeds: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The outputs of these names, which stay on the GPU that runs the session; on the host if none does."""
        placement: Placement = "host" if engines(self._providers) is None else "device"
        return self._run(self._named(names), self._opened(feeds, run_options), run_options, placement)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Return at once; another thread calls `callback(results, user_data, "")`, or `([], user_data, message)`."""
        feeds = self._opened(input_feed, run_options)
        names = self._named(output_names)

        def work() -> None:
            try:
                results, message = self._run(names, feeds, run_options), ""
            except Exception as error:
                results, message = [], error.message if isinstance(error, Status) else str(error)
            callback(results, user_data, message)

        threading.Thread(target=work, name="ingot-run-async").start()

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """As `run`, with OrtValues in and out."""
        for name, value in input_dict_ort_values.items():
            if not isinstance(value, OrtValue):
                raise TypeError(f"input '{name}' must be an OrtValue, not a {type(value).__name__}")
        return [OrtValue(result) for result in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[OrtDevice],
    ) -> None:
        """As `run_with_ort_values`, with the results put into `fetches`, or into the memory of the tensors in it.

        InvalidArgument if there are values in `fetches`, but not as many as names, or of other types or shapes.
        """
        del fetch_devices
        if fetches and len(fetches) != len(fetch_names):
            raise InvalidArgument(
                f"fetch names has {len(fetch_names)} elements, but fetch has {len(fetches)} elements."
            )
        fed = dict(zip(feed_names, feeds, strict=True))
        results = self.run_with_ort_values(fetch_names, fed, run_options)
        if not fetches:
            fetches[:] = results
            return
        for index, (name, result) in enumerate(zip(fetch_names, results, strict=True)):
            fetches[index] = written(name, fetches[index], result.to_object(), InvalidArgument)

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run with what is bound; RuntimeError, as in onnxruntime, whatever goes wrong."""
        run_bound(self, iobinding, run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def end_profiling(self) -> str:
        """Write the profile and return its path; an empty string without one, or when it is written already."""
        return "" if self._profile is None else self._profile.end()

    def get_profiling_start_time_ns(self) -> int:
        return 0 if self._profile is None else self._profile.start_ns

    def get_tuning_results(self) -> list[Any]:
        """None: nothing is tuned."""
        return []

    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None:
        """Accepted when empty; NotImplemented otherwise."""
        del error_on_invalid
        if results:
            raise Unsupported("set_tuning_results is not supported: nothing is tuned")

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted and without effect: the CPU has none."""
        dict(options)

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Nothing: no graph is captured on a CPU."""
        int(graph_annotation_id)

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """Which provider runs which node; Fail, as in onnxruntime, unless an entry of the options asks to record it."""
        if entries_of(self._options).get(_RECORD) != "1":
            raise Fail(f"Session configuration entry '{_RECORD}' must be set to \"1\"")
        return assigned(self._engine.model.graph)

    def get_input_epdevices(self) -> list[OrtEpDevice]:
        """The device of each input: the CPU."""
        return get_ep_devices() * len(self._inputs)

    @property
    def _sess(self) -> NativeSession:
        return NativeSession(self)

    def _named(self, names: Sequence[str] | None) -> list[str] | None:
        """The names as a list, None for all outputs; InvalidArgument for one that no value of the model has.

        TypeError for what is not a list of names.
        """
        if names is None or not (listed := _listed(names)):
            return None
        for name in listed:
            if name not in self._all_outputs and self._engine.model.graph.find(name) is None:
                known = ", ".join(output.name for output in self._outputs)
                raise InvalidArgument(f"Invalid output name:{name}\nthe outputs are {known}")
        return listed

    def _opened(self, feeds: Mapping[str, Any], options: RunOptions | None) -> dict[str, Any]:
        """The feeds of a run, its adapters among them; TypeError for what are no options."""
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"run_options are RunOptions, not {type(options).__name__}")
        values = opened(self._input_types, feeds)
        return values if options is None else {**values, **adapted(options)}

    def _run(
        self,
        names: list[str] | None,
        feeds: dict[str, Any],
        options: RunOptions | None,
        placement: Placement = "host",
    ) -> list[Any]:
        cancel = None if options is None else options._cancel
        observe = None if self._profile is None else self._profile.node
        seed = SEEDS.next() if self._is_random else None
        try:
            with self._phase("model_run"):
                results = self._engine.run(names, feeds, cancel=cancel, seed=seed, observe=observe, placement=placement)
        except InputError as error:
            optional: dict[str, Type | None] = dict.fromkeys(argument.name for argument in self._overridable)
            reason = misfit({**optional, **self._input_types}, feeds)
            raise InvalidArgument(f"{reason}\n{error}" if reason else str(error)) from error
        except Exception as error:
            raise at_run(error) from error
        if not self._sparse:
            return results
        return [
            SparseTensor.of_dense(result) if name in self._sparse else result
            for name, result in zip(names or self._engine.outputs, results, strict=True)
        ]

    def _phase(self, name: str) -> Any:
        return nullcontext() if self._profile is None else self._profile.phase(name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_profile": None}


def _listed(names: Iterable[str]) -> list[str]:
    """Names of outputs as a list; TypeError, as in onnxruntime, for a text, for a mapping and for what is not text."""
    listed = [] if isinstance(names, str | bytes | Mapping) else list(names)
    if (not listed and names) or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"output_names are a list of names, not {names!r}")
    return listed


def _threads(options: SessionOptions) -> int | None:
    """How many threads run a session; None for as many as there are processors."""
    own = options.intra_op_num_threads if options.use_per_session_threads else GLOBAL_THREADS.intra_op
    return own or None


def _limits(options: SessionOptions) -> RunLimits:
    """What a run may take: as an entry that onnxruntime does not know says, in bytes, else the default."""
    limit = entries_of(options).get(_MEMORY)
    if limit is not None and not (limit.isascii() and limit.isdigit() and int(limit)):
        raise InvalidArgument(f"{_MEMORY} is a number of bytes, not {limit!r}")
    return RunLimits(memory=None if limit is None else int(limit))


def _precision(options: SessionOptions) -> Precision | None:
    """What products are rounded to: as an entry that onnxruntime does not know says, else nothing."""
    name = entries_of(options).get(_PRECISION)
    known = next((precision for precision in PRECISIONS if precision == name), None)
    if name is not None and known is None:
        raise InvalidArgument(f"{_PRECISION} is one of {', '.join(PRECISIONS)}, not {name!r}")
    return known


def _overridable(model: Model) -> list[NodeArg]:
    """Inputs with a default; before version 4 of the format every initialiser is one, and none is meant to be fed."""
    if model.ir_version < 4:
        return []
    return [node_arg(value.name, value.type) for value in model.graph.inputs if value.constant is not None]
