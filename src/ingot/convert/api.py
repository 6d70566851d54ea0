"""`convert`: recognises the framework of a model, has it converted, and compares the result with the original."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ingot.builder.versions import ir_version_of
from ingot.convert.request import DynamicAxes, Request
from ingot.convert.source import Source
from ingot.convert.verify import Report
from ingot.convert.verify import verify as verify_source
from ingot.errors import ConvertError, IngotError, InputError, UnsupportedError
from ingot.ir.domains import STANDARD, OpsetImports
from ingot.ir.model import Model
from ingot.ir.needs import needed_ir_version
from ingot.ops.rewrite import NEWEST
from ingot.versions.convert import convert_versions

DEFAULT_OPSET = 21
"""The version of the standard operators that models are given in unless another is asked for: engines know it."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework we convert from: how its objects and files are recognised, what converts them, what to install."""

    name: str
    roots: tuple[str, ...]
    """Top-level packages: an object is the framework's if its class, or one it inherits from, is defined in one."""
    function: str
    """`module:function` of `(model, example, request) -> Source`; paths are given to it as they are."""
    extra: str
    suffixes: tuple[str, ...] = ()


FRAMEWORKS = (
    Framework("XGBoost", ("xgboost",), "ingot.convert.xgboost:convert_xgboost", "boosters", (".ubj", ".json")),
    Framework("LightGBM", ("lightgbm",), "ingot.convert.lightgbm:convert_lightgbm", "boosters", (".txt",)),
    Framework("CatBoost", ("catboost",), "ingot.convert.catboost:convert_catboost", "boosters", (".cbm",)),
    Framework("Keras", ("keras",), "ingot.convert.keras:convert_keras", "keras", (".keras", ".h5")),
    Framework("PyTorch", ("torch",), "ingot.convert.torch:convert_torch", "torch", (".pt2",)),
    Framework("TensorFlow", ("tensorflow",), "ingot.convert.tensorflow:convert_tensorflow", "tensorflow"),
    Framework("scikit-learn", ("sklearn",), "ingot.convert.sklearn:convert_sklearn", "sklearn"),
)
"""Those before others are asked first: an XGBoost classifier is a scikit-learn estimator too, and a Keras model a
module of the backend that it runs on."""

PICKLES = (".pkl", ".pickle", ".joblib", ".pt2")
"""Files that run code as they are loaded: torch.export.load unpickles, and evaluates the sizes it reads."""


def convert(
    model: Any,
    example: Any = None,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: DynamicAxes | None = None,
    opset_version: int | Mapping[str, int] | None = None,
    verify: bool = True,
    trust_pickle: bool = False,
    seed: int = 0,
    **options: object,
) -> Model:
    """The ONNX model of a fitted or trained model of another framework, or of a file one was saved to.

    `example` is what the original would be called with: it says what the inputs are, and both models are run on it and
    on variants of it made from `seed`. `dynamic_axes` name the axes whose size stays open. `opset_version` is that of
    the standard operators, or of several domains by name. `options` are those of the framework.

    ConvertError listing everything that cannot be converted; VerifyError, unless `verify` is False, where the results
    differ; InputError for arguments that do not fit. A pickle runs code as it is loaded: refused without
    `trust_pickle`.
    """
    request = Request(
        None if input_names is None else tuple(input_names),
        None if output_names is None else tuple(output_names),
        dynamic_axes,
        opset_version,
        seed,
        options,
    )
    return converted(model, example, request, verify=verify, trust_pickle=trust_pickle)[0]


def converted(
    model: Any,
    example: Any,
    request: Request,
    *,
    verify: bool = True,
    trust_pickle: bool = False,
    step: Callable[[str], None] = lambda _: None,
) -> tuple[Model, Report | None]:
    """What `convert` gives, and the report of its verification; None where that was not wanted.

    `step` is called with what is begun: loading, converting, comparing.
    """
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        step(f"loading {path.name}")
        if path.suffix in PICKLES:
            model = _unpickled(path, trust_pickle)
            framework = framework_of(model)
        else:
            model, framework = path, framework_of_file(path)
    else:
        framework = framework_of(model)
    step(f"converting from {framework.name}")
    source = _source(framework, model, example, replace(request, trusted=trust_pickle))
    onnx = in_versions(source.model, request.opset_version)
    step("comparing with the original")
    return onnx, verify_source(source, onnx) if verify else None


def framework_of(model: object) -> Framework:
    """The framework of an object, by the modules that define its classes; ConvertError if there is none."""
    roots = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    for framework in FRAMEWORKS:
        if any(root in framework.roots for root in roots):
            return framework
    known = ", ".join(framework.name for framework in FRAMEWORKS)
    raise ConvertError(
        f"a {type(model).__module__}.{type(model).__qualname__} is nothing we convert from", hint=f"models of {known}"
    )


def framework_of_file(path: Path) -> Framework:
    """The framework of a file, by its suffix, or of a directory, by its contents.

    InputError if it does not exist, ConvertError if no framework has such files.
    """
    if not path.exists():
        raise InputError(f"there is no file '{path}'")
    for framework in FRAMEWORKS:
        if path.suffix in framework.suffixes or (framework.name == "TensorFlow" and _is_saved_model(path)):
            return framework
    if path.suffix in (".pt", ".pth"):
        raise ConvertError(
            f"'{path}' is a pickle of PyTorch, which runs code as it is loaded",
            hint="save the program instead: torch.export.save(torch.export.export(model, args), 'model.pt2')",
        )
    endings = ", ".join(sorted({suffix for framework in FRAMEWORKS for suffix in framework.suffixes} | {*PICKLES}))
    raise ConvertError(
        f"'{path}' is no kind of file we convert from", hint=f"SavedModel directories, files that end in {endings}"
    )


def _is_saved_model(path: Path) -> bool:
    return (path / "saved_model.pb").is_file()


def in_versions(model: Model, wanted: int | Mapping[str, int] | None) -> Model:
    """The model in the versions wanted of its operator sets, with the IR version that goes with them.

    A number is that of the standard operators; other domains stay as they are. UnsupportedError for what the versions
    cannot express.
    """
    versions = {"": DEFAULT_OPSET} if wanted is None else {"": wanted} if isinstance(wanted, int) else dict(wanted)
    versions = OpsetImports({STANDARD: DEFAULT_OPSET, **versions})
    if not 1 <= versions[""] <= NEWEST[""]:
        raise InputError(f"opset {versions['']} is not known", hint=f"versions 7 to {NEWEST['']} are")
    rewritten = model.copy()
    versions = {domain: version for domain, version in versions.items() if domain in rewritten.opset_imports}
    try:
        convert_versions(rewritten, versions)
    except UnsupportedError as error:
        if wanted is not None:
            raise
        raise ConvertError(error.message, where=error.where, hint="ask for a newer opset_version") from error
    opset = rewritten.opset or versions.get("", DEFAULT_OPSET)
    rewritten.ir_version = max(ir_version_of(opset), needed_ir_version(rewritten))
    return rewritten


def _source(framework: Framework, model: Any, example: Any, request: Request) -> Source:
    module, _, name = framework.function.partition(":")
    try:
        converter: Callable[[Any, Any, Request], Source] = getattr(import_module(module), name)
        return converter(model, example, request)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "ingot":
            raise ConvertError(f"this version does not convert from {framework.name}") from error
        raise _without(missing, f"converting from {framework.name}", framework.extra) from error


def _without(package: str, what: str, extra: str | None) -> ConvertError:
    """The error for a missing package, with the extra that installs it, or else the package itself."""
    wanted = package if extra is None else f"'ingot[{extra}]'"
    return ConvertError(f"{what} needs the package '{package}'", hint=f"pip install {wanted}")


def _unpickled(path: Path, trusted: bool) -> object:
    """What a pickle holds; ConvertError unless it is trusted, or if it cannot be read."""
    if not path.exists():
        raise InputError(f"there is no file '{path}'")
    if not trusted:
        raise ConvertError(
            f"'{path}' is a pickle, which runs whatever code is in it as it is loaded",
            hint="where you trust who made it: trust_pickle=True, or --trust-pickle",
        )
    try:
        if path.suffix == ".joblib":
            return import_module("joblib").load(path)
        if path.suffix == ".pt2":
            return import_module("ingot.convert.torch.program").load_program(path)
        import pickle  # only where somebody trusts one

        with path.open("rb") as stream:
            return pickle.load(stream)
    except (IngotError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extras = {root: framework.extra for framework in FRAMEWORKS for root in framework.roots} | {"joblib": "sklearn"}
        raise _without(missing, f"loading '{path}'", extras.get(missing)) from error
    except Exception as error:
        raise ConvertError(f"'{path}' cannot be unpickled: {error}") from error
