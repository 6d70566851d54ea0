"""The exceptions of onnxruntime, and which of them each error of ingot becomes.

They are no subclasses of each other, as there; each message begins with onnxruntime's code and keeps ours in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.compat.onnxruntime.refusals import sentence
from ingot.errors import (
    CheckError,
    DecodeError,
    ExternalDataError,
    IngotError,
    InputError,
    ProviderError,
    ShapeError,
    UnsupportedError,
)
from ingot.session import Interrupted, LimitError


class Status(Exception):
    """A failure with onnxruntime's number and name for its kind in front of the message."""

    code = 1
    label = "FAIL"

    def __init__(self, message: str = "") -> None:
        self.message = message
        super().__init__(message)

    def __str__(self) -> str:
        return f"[ONNXRuntimeError] : {self.code} : {self.label} : {self.message}"


class Fail(Status):
    """Whatever has no kind of its own: a node that cannot compute, a run that was ended."""


class InvalidArgument(Status):
    """What the caller gave does not fit the model."""

    code, label = 2, "INVALID_ARGUMENT"


class NoSuchFile(Status):
    """The model file is not there."""

    code, label = 3, "NO_SUCHFILE"


class NoModel(Status):
    """There is no model."""

    code, label = 4, "NO_MODEL"


class EngineError(Status):
    """The engine failed."""

    code, label = 5, "ENGINE_ERROR"


class RuntimeException(Status):
    """An unexpected failure while running: a defect, or no memory."""

    code, label = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(Status):
    """The bytes are not a model."""

    code, label = 7, "INVALID_PROTOBUF"


class ModelLoaded(Status):
    """A session has its model already."""

    code, label = 8, "MODEL_LOADED"


class Unsupported(Status):
    """Valid, and not done here; `NotImplemented` to programs, a name that Python has a use for itself."""

    code, label = 9, "NOT_IMPLEMENTED"


Unsupported.__name__ = Unsupported.__qualname__ = "NotImplemented"
NotImplemented = Unsupported


class InvalidGraph(Status):
    """The model breaks the standard."""

    code, label = 10, "INVALID_GRAPH"


class EPFail(Status):
    """An execution provider failed."""

    code, label = 11, "EP_FAIL"


class ModelLoadCanceled(Status):
    """Loading was cancelled."""

    code, label = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(Status):
    """The model must be compiled for its device first."""

    code, label = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(Status):
    """What was asked for is not there."""

    code, label = 14, "NOT_FOUND"


class DeviceReset(Status):
    """A device was reset under a session."""

    code, label = 15, "DEVICE_RESET"


@contextmanager
def loading(place: str) -> Iterator[None]:
    """Turn what goes wrong while a session is made into what onnxruntime raises then; messages begin with `place`."""
    try:
        yield
    except FileNotFoundError as error:
        raise NoSuchFile(f"{place}:File doesn't exist: {error}") from error
    except IsADirectoryError as error:
        raise InvalidProtobuf(f"{place}:Protobuf parsing failed: {error}") from error
    except OSError as error:
        raise Fail(f"{place}:{error}") from error
    except ExternalDataError as error:
        raise Fail(f"{place}:External data path validation failed: {error}") from error
    except IngotError as error:
        raise _at_load(error)(f"{place}:{sentence(error)}{error}") from error


def at_run(error: Exception) -> Exception:
    """What onnxruntime raises for what went wrong in a run."""
    if isinstance(error, Interrupted):
        return Fail(f"Exiting due to terminate flag being set to true.\n{error}")
    if isinstance(error, IngotError):
        return _at_run(error)(str(error))
    return error if isinstance(error, Status) else RuntimeException(f"{type(error).__name__}: {error}")


def _at_load(error: IngotError) -> type[Status]:
    match error:
        case DecodeError():
            return InvalidProtobuf
        case InputError():
            return InvalidArgument
        case ShapeError():
            return Fail
        case CheckError():
            return InvalidGraph
        case UnsupportedError():
            return Unsupported
        case ProviderError():
            return EPFail
        case _:
            return EngineError


def _at_run(error: IngotError) -> type[Status]:
    match error:
        case InputError():
            return InvalidArgument
        case CheckError() | DecodeError():
            return Fail
        case LimitError():
            return RuntimeException
        case UnsupportedError():
            return Unsupported
        case ProviderError():
            return EPFail
        case _:
            return EngineError
