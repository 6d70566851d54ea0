"""Classical machine learning (ai.onnx.ml): linear models, scalers, encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import number, short, tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ops.ml.post_transform import NAMES

ML = "ai.onnx.ml"


def transformed(site: Site, scores: str, transform: str) -> str:
    """Scores after the transform that an attribute names."""
    if transform not in NAMES:
        raise UnsupportedError("its post_transform is none that is known")
    if transform in ("PROBIT", "SOFTMAX_ZERO"):
        return f"{site.use(transform.lower())}({scores})"
    if transform == "SOFTMAX":
        return f"torch.softmax({scores}, dim=-1)"
    return f"torch.sigmoid({scores})" if transform == "LOGISTIC" else scores


@rule("LinearRegressor", domain=ML)
def linear_regressor(
    site: Site,
    x: Operand,
    *,
    coefficients: Sequence[float] | None,
    intercepts: Sequence[float] | None,
    post_transform: str,
    targets: int,
) -> Expression:
    return transformed(site, _linear(site, x, coefficients or (), intercepts, targets), post_transform)


def _linear(
    site: Site, x: Operand, coefficients: Sequence[float], intercepts: Sequence[float] | None, targets: int
) -> str:
    weights = Tensor(np.array(coefficients, np.float32).reshape(targets, -1))
    arguments = site.buffer("coefficients", weights, trained=True)
    if intercepts:
        whole = np.broadcast_to(np.array(intercepts, np.float32), (targets,)).copy()
        arguments += f", {site.buffer('intercepts', Tensor(whole), trained=True)}"
    return f"F.linear({_rows(x)}, {arguments})"


def _rows(x: Operand) -> str:
    text = str(x) if x.dtype is DType.FLOAT32 else f"{x}.to(torch.float32)"
    return f"{text}.reshape(1, -1)" if x.rank == 1 else text


@rule("LinearClassifier", domain=ML)
def linear_classifier(
    site: Site,
    x: Operand,
    *,
    coefficients: Sequence[float],
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    intercepts: Sequence[float] | None,
    multi_class: int,
    post_transform: str,
) -> Expression:
    features = x.shape[-1] if x.shape else None
    count = len(intercepts) if intercepts else len(coefficients) // features if isinstance(features, int) else 0
    if not count:
        raise UnsupportedError("the number of its classes is not known")
    labels = list(classlabels_ints or ())
    scores = site.held(_linear(site, x, coefficients, intercepts, count))
    if count > 1:
        return [labelled(site, f"{scores}.argmax(dim=1)", labels), transformed(site, scores, post_transform)]
    chosen = labelled(site, f"({scores}[:, 0] > 0).to(torch.int64)", labels or [0, 1])
    if not labels:
        return [chosen, transformed(site, scores, post_transform)]
    return [chosen, two_classes(site, scores, post_transform, complement=True)]


def two_classes(site: Site, scores: str, transform: str, *, complement: bool) -> str:
    """Scores of two classes from that of the second."""
    opposites = transform in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO") or (transform == "NONE" and not complement)
    first = f"-{scores}" if opposites else f"1 - {scores}"
    return transformed(site, f"torch.cat(({first}, {scores}), dim=1)", transform)


def labelled(site: Site, places: str, labels: Sequence[int]) -> str:
    """Labels by their places among those of the model."""
    if list(labels) == list(range(len(labels))):
        return places
    return f"{site.buffer('labels', Tensor(np.array(labels, np.int64)))}[{places}]"


@rule("Scaler", domain=ML)
def scaler(site: Site, x: Operand, *, offset: Sequence[float] | None, scale: Sequence[float] | None) -> Expression:
    text = str(x) if x.dtype is DType.FLOAT32 else f"{x}.to(torch.float32)"
    if offset:
        text = f"({text} - {_each(site, 'offset', offset)})"
    return f"{text} * {_each(site, 'scale', scale)}" if scale else text


def _each(site: Site, name: str, values: Sequence[float]) -> str:
    return short(values[0]) if len(values) == 1 else site.buffer(name, Tensor(np.array(values, np.float32)))


@rule("Normalizer", domain=ML)
def normalizer(site: Site, x: Operand, *, norm: str) -> Expression:
    if norm not in ("MAX", "L1", "L2"):
        raise UnsupportedError("its norm is none that is known")
    return f'{site.use("normalise_rows")}({x}, "{norm}")'


@rule("Binarizer", domain=ML)
def binarizer(site: Site, x: Operand, *, threshold: float) -> Expression:
    return f"({x} > {short(threshold)}).to({site.torch_dtype()})"


@rule("Imputer", domain=ML)
def imputer(
    site: Site,
    x: Operand,
    *,
    imputed_value_floats: Sequence[float] | None,
    imputed_value_int64s: Sequence[int] | None,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> Expression:
    if x.is_integer:
        values: Any = np.array(imputed_value_int64s or (), np.int64)
        missing = f"{x} == {replaced_value_int64}"
    else:
        values = np.array(imputed_value_floats or (), np.float32)
        nothing = np.isnan(replaced_value_float)
        missing = f"{x}.isnan()" if nothing else f"{x} == {short(replaced_value_float)}"
    values_text = site.buffer("imputed", Tensor(values))
    return f"torch.where({missing}, {values_text}, {x}).to({site.torch_dtype()})"


@rule("FeatureVectorizer", domain=ML)
def feature_vectorizer(site: Site, *xs: Operand, inputdimensions: Sequence[int] | None) -> Expression:
    widths = "None" if not inputdimensions else tupled(inputdimensions)
    return f"{site.use('features_of')}({tupled(xs)}, {widths})"


@rule("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(_site: Site, x: Operand, indices: Operand) -> Expression:
    data = f"{x}.reshape(1, -1)" if x.rank == 1 else str(x)
    return f"{data}[..., {indices}.reshape(-1)]"


@rule("OneHotEncoder", domain=ML)
def one_hot_encoder(
    site: Site, x: Operand, *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, zeros: int
) -> Expression:
    if cats_strings or not cats_int64s:
        raise UnsupportedError("torch has no tensors of string")
    categories = site.buffer("categories", Tensor(np.array(cats_int64s, np.int64)))
    strict = "" if zeros else ", strict=True"
    return f"{site.use('one_hot_of')}({x}, {categories}{strict})"


@rule("LabelEncoder", domain=ML)
def label_encoder(
    site: Site, x: Operand, *, default_float: float, default_int64: int, default_tensor: Tensor | None, **lists: Any
) -> Expression:
    keys, values = (_pairs(lists, name) for name in ("keys", "values"))
    default = default_tensor.numpy().reshape(-1) if default_tensor is not None else None
    if default is None:
        default = np.array([default_float if values.dtype.kind == "f" else default_int64], values.dtype)
    buffers = site.buffer("keys", Tensor(keys)), site.buffer("values", Tensor(np.concatenate([values, default])))
    return f"{site.use('translated')}({x}, {buffers[0]}, {buffers[1]})"


def _pairs(lists: dict[str, Any], name: str) -> Any:
    for suffix, dtype in (("floats", np.float32), ("int64s", np.int64)):
        if lists.get(f"{name}_{suffix}"):
            return np.array(lists[f"{name}_{suffix}"], dtype)
    tensor = lists.get(f"{name}_tensor")
    if tensor is None or tensor.dtype is DType.STRING:
        raise UnsupportedError("torch has no tensors of string")
    return tensor.numpy().reshape(-1)


@rule("SVMRegressor", domain=ML)
def svm_regressor(
    site: Site,
    x: Operand,
    *,
    coefficients: Sequence[float] | None,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
) -> Expression:
    if not n_supports or kernel_type not in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        raise UnsupportedError("only machines with support vectors are written")
    vectors = site.buffer("vectors", Tensor(np.array(support_vectors, np.float32).reshape(n_supports, -1)))
    weights = site.buffer("weights", Tensor(np.array(coefficients, np.float32).reshape(1, -1)))
    gamma, coef, degree = kernel_params or (0.0, 0.0, 3.0)
    settings = f'"{kernel_type}", {short(gamma)}, {short(coef)}, {number(degree)}'
    kernel = f"{site.use('kernel')}({_rows(x)}, {vectors}, {settings})"
    score = f"F.linear({kernel}, {weights}) + {short((rho or (0.0,))[0])}"
    if one_class:
        return f"torch.where({score} > 0, 1.0, -1.0)"
    return transformed(site, score, post_transform) if post_transform != "NONE" else score
