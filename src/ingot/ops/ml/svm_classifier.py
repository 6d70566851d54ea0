"""SVMClassifier: a vote among machines for each pair of classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml import lower_scores
from ingot.ops.ml.element_types import NUMBERS, Float32, Label
from ingot.ops.ml.labels import either, label_array, label_type
from ingot.ops.ml.post_transform import checked, transformed, two_classes
from ingot.ops.ml.rows import as_rows, row_count
from ingot.ops.ml.svm_kernel import check_kernel, lower_similarity, similarity, vectors_of
from ingot.ops.ml.svm_probabilities import lower_probabilities, probabilities
from ingot.ops.typesets import types

_MOST_PROBABLE = 6
"""Classes whose probabilities are compiled: their iteration is written out, with the square of as many terms."""

T1: TypeAlias = Annotated[Array, types("T1", NUMBERS)]


@operator("SVMClassifier", since=1, domain="ai.onnx.ml")
def svm_classifier(
    x: T1,
    /,
    *,
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    coefficients: Sequence[float] | None = None,
    kernel_params: Sequence[float] | None = None,
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] | None = None,
    prob_b: Sequence[float] | None = None,
    rho: Sequence[float] | None = None,
    support_vectors: Sequence[float] | None = None,
    vectors_per_class: Sequence[int] | None = None,
) -> tuple[Label, Float32]:
    """The class that wins most pairs, the first of equals, and its scores: one for each pair, two for a single pair.

    With `prob_a` and `prob_b` the scores are probabilities of the classes. Without support vectors each class has
    its own weights, and the largest of `x @ weights + rho` wins.
    """
    labels = either("labels", classlabels_ints, classlabels_strings)
    classes = len(labels)
    sizes = _sizes(classes, coefficients, rho, prob_a, prob_b, support_vectors, vectors_per_class)
    check_kernel(kernel_type, kernel_params)
    rows = as_rows(x).astype(np.float64)
    weights = np.array(coefficients or (), np.float64)
    offsets = np.array(rho or (), np.float64)
    if not sizes:
        scores = similarity(rows, weights.reshape(classes, -1), "LINEAR", None) + offsets[0]
        chosen = scores.argmax(axis=1)
        results = transformed(scores, post_transform)
        return label_array(labels)[chosen], results.astype(np.float32)
    vectors = vectors_of(support_vectors, sum(sizes))
    kernels = similarity(rows, vectors, kernel_type, kernel_params)
    pairs, votes = _pairs(kernels, weights, offsets, sizes)
    chosen = votes.argmax(axis=1)
    if prob_a:
        results = transformed(probabilities(pairs, classes, prob_a, prob_b or ()), post_transform)
    elif classes == 2:
        results = two_classes(pairs[:, 0], post_transform, complement=False)
    else:
        results = transformed(pairs, post_transform)
    return label_array(labels)[chosen], results.astype(np.float32)


@svm_classifier.infer
def infer(
    x: Fact,
    /,
    *,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    coefficients: Sequence[float] | None,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    post_transform: str,
    prob_a: Sequence[float] | None,
    prob_b: Sequence[float] | None,
    rho: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
    vectors_per_class: Sequence[int] | None,
) -> tuple[Inferred, Inferred]:
    checked(post_transform)
    check_kernel(kernel_type, kernel_params)
    classes = len(either("labels", classlabels_ints, classlabels_strings))
    sizes = _sizes(classes, coefficients, rho, prob_a, prob_b, support_vectors, vectors_per_class)
    columns = classes if not sizes or prob_a or classes == 2 else classes * (classes - 1) // 2
    rows = row_count(x)
    label = label_type(classlabels_ints, classlabels_strings)
    return TensorType(label, (rows,)), TensorType(DType.FLOAT32, (rows, columns))


@svm_classifier.lower
def lower(
    x: prim.Tensor,
    /,
    *,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    coefficients: Sequence[float] | None,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    post_transform: str,
    prob_a: Sequence[float] | None,
    prob_b: Sequence[float] | None,
    rho: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
    vectors_per_class: Sequence[int] | None,
) -> tuple[prim.Tensor, prim.Tensor]:
    """Probabilities of many classes, whose iteration is written out, are left to the reference."""
    labels = either("labels", classlabels_ints, classlabels_strings)
    classes = len(labels)
    sizes = _sizes(classes, coefficients, rho, prob_a, prob_b, support_vectors, vectors_per_class)
    weights, offsets = np.array(coefficients or (), np.float64), np.array(rho or (), np.float64)
    if not sizes:
        scores = lower_similarity(x, weights.reshape(classes, -1), "LINEAR", None) + float(offsets[0])
        results = lower_scores.transformed(scores, post_transform)
        place = lower_scores.greatest(scores)
        return lower_scores.labelled(place, labels), prim.cast(results, DType.FLOAT32)
    if prob_a and classes > _MOST_PROBABLE:
        raise prim.Refused(f"probabilities of more than {_MOST_PROBABLE} classes")
    kernels = lower_similarity(x, vectors_of(support_vectors, sum(sizes)), kernel_type, kernel_params)
    if classes > 2 and kernel_type in ("LINEAR", "POLY"):
        pairs = _lower_pairs(kernels, weights, sizes)
    else:
        pairs = prim.contract(kernels, prim.constant(_weights_of_pairs(weights, sizes)), "nv,vp->np")
    pairs = pairs + prim.constant(offsets[: classes * (classes - 1) // 2])
    place = lower_scores.greatest(_lower_votes(pairs, classes))
    if prob_a:
        probabilities = lower_probabilities(pairs, classes, prob_a, prob_b or ())
        results = lower_scores.transformed(probabilities, post_transform)
    elif classes == 2:
        results = lower_scores.two_classes(pairs, post_transform, complement=False)
    else:
        results = lower_scores.transformed(pairs, post_transform)
    return lower_scores.labelled(place, labels), prim.cast(results, DType.FLOAT32)


def _weights_of_pairs(weights: Array, sizes: list[int]) -> Array:
    """[vectors, pairs]: the weight of each vector in the score of a pair, zero where it is of neither class."""
    ends = np.cumsum(sizes)
    spans = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    rows = weights.reshape(len(sizes) - 1, sum(sizes))
    table = np.zeros((sum(sizes), len(sizes) * (len(sizes) - 1) // 2))
    for pair, (i, j) in enumerate(combinations(range(len(sizes)), 2)):
        table[spans[i], pair], table[spans[j], pair] = rows[j - 1, spans[i]], rows[i, spans[j]]
    return table


def _lower_pairs(kernels: prim.Tensor, weights: Array, sizes: list[int]) -> prim.Tensor:
    """The scores of pairs, without offsets, of kernels that may be infinite: each meets only weights of its class.

    What the vectors of a class say against each other class is a contraction of its own.
    """
    classes, rows = len(sizes), weights.reshape(len(sizes) - 1, sum(sizes))
    against, start = [], 0
    for size in sizes:
        own = prim.slice_(kernels, [0, start], [kernels.shape[0], size])
        against.append(prim.contract(own, prim.constant(rows[:, start : start + size].T.copy()), "nv,vc->nc"))
        start += size
    every = prim.concat(against, 1)
    places = [(i * (classes - 1) + j - 1, j * (classes - 1) + i) for i, j in combinations(range(classes), 2)]
    shape = (kernels.shape[0], len(places))
    one, other = (
        prim.gather(every, [0, prim.constant(np.array(side, np.int64))], shape) for side in zip(*places, strict=True)
    )
    return one + other


def _lower_votes(pairs: prim.Tensor, classes: int) -> prim.Tensor:
    """How many pairs each class wins: a pair is won by its first class, or else by its second."""
    first, second = np.zeros((2, classes * (classes - 1) // 2, classes))
    for pair, (i, j) in enumerate(combinations(range(classes), 2)):
        first[pair, i], second[pair, j] = 1, 1
    wins = prim.cast(prim.apply("less", 0.0, pairs), DType.FLOAT64)
    return prim.contract(wins, prim.constant(first - second), "np,pc->nc") + prim.constant(second.sum(axis=0))


def _sizes(
    classes: int,
    coefficients: Sequence[float] | None,
    rho: Sequence[float] | None,
    prob_a: Sequence[float] | None,
    prob_b: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
    vectors_per_class: Sequence[int] | None,
) -> list[int]:
    """How many support vectors each class has, none where there are none at all; CheckError if the lists do not fit."""
    sizes = list(vectors_per_class or ())
    weights, total = len(coefficients or ()), sum(sizes)
    pairs = classes * (classes - 1) // 2 if total else 1
    if min(sizes, default=0) < 0 or (total and len(sizes) != classes):
        raise CheckError(f"vectors_per_class is {sizes}, for {classes} classes")
    if not total and (not weights or weights % classes):
        raise CheckError(f"there are {weights} coefficients for {classes} classes")
    if total and weights != (classes - 1) * total:
        raise CheckError(f"there are {weights} coefficients for {classes} classes and {total} support vectors")
    if total and len(support_vectors or ()) % total:
        raise CheckError(f"support_vectors has {len(support_vectors or ())} numbers for {total} vectors")
    for name, values in ("rho", rho), ("prob_a", prob_a), ("prob_b", prob_b):
        if len(values or ()) < pairs and (name == "rho" or prob_a or prob_b):
            raise CheckError(f"{name} has {len(values or ())} numbers for {pairs} pairs of classes")
    return sizes if total else []


def _pairs(kernels: Array, weights: Array, rho: Array, sizes: list[int]) -> tuple[Array, Array]:
    """The score of each pair of classes, shape [rows, pairs], and how many pairs each class wins.

    Row `j - 1` of the weights holds what the vectors of class `i < j` say against `j`, row `i` the other way round.
    """
    ends = np.cumsum(sizes)
    spans = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    weights = weights.reshape(len(sizes) - 1, sum(sizes))
    scores = np.empty((len(kernels), len(sizes) * (len(sizes) - 1) // 2))
    votes = np.zeros((len(kernels), len(sizes)), np.int64)
    for pair, (i, j) in enumerate(combinations(range(len(sizes)), 2)):
        one = kernels[:, spans[i]] @ weights[j - 1, spans[i]]
        other = kernels[:, spans[j]] @ weights[i, spans[j]]
        scores[:, pair] = one + other + rho[pair]
        votes[:, i] += scores[:, pair] > 0
        votes[:, j] += ~(scores[:, pair] > 0)
    return scores, votes
