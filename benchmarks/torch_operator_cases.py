"""Calls of core operators that torch's own test inputs do not reach.

One that is named like an overload counts for it: torch writes it as something else when it exports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten
F = torch.nn.functional
_X = torch.linspace(-2, 2, 24).reshape(2, 3, 4)
_IMAGE = torch.linspace(-3, 5, 2 * 4 * 6 * 6).sin().reshape(2, 4, 6, 6)
_UP = torch.linspace(-1, 2, 2 * 2 * 6 * 6).cos().reshape(2, 2, 6, 6)
_B = _X > 0
_I = torch.arange(24).reshape(2, 3, 4)


def _pooled_back(x: Any) -> Any:
    made, places = aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])
    return aten.max_pool2d_with_indices_backward(made.sin(), x, [3, 3], [2, 2], [1, 1], [1, 1], False, places)


def _layer_back(x: Any, weight: Any) -> Any:
    made, mean, inverse = aten.native_layer_norm(x, [4], weight, weight, 1e-5)
    masks = [True, True, True]
    return aten.native_layer_norm_backward(made.sin(), x, [4], mean, inverse, weight, weight, masks)


def _group_back(x: Any, weight: Any) -> Any:
    made, mean, inverse = aten.native_group_norm(x, weight, weight, 2, 4, 36, 2, 1e-5)
    masks = [True, True, True]
    return aten.native_group_norm_backward(made.sin(), x, mean, inverse, weight, 2, 4, 36, 2, masks)


def _conv_back(
    stride: list[int], padding: list[int], dilation: list[int], transposed: bool, rest: list[int], groups: int
) -> Callable[..., Any]:
    def back(x: Any, weight: Any, up: Any) -> Any:
        made = aten.convolution(x, weight, None, stride, padding, dilation, transposed, rest, groups)
        grad = made.sin() + up.sum()
        sizes = [made.shape[1]]
        return aten.convolution_backward(
            grad, x, weight, sizes, stride, padding, dilation, transposed, rest, groups, [True] * 3
        )

    return back


def _averaged_back(ceil: bool, padded: bool, divisor: int | None) -> Callable[..., Any]:
    options = ([3, 2], [2, 3], [1, 1], ceil, padded, divisor)
    return lambda x: aten.avg_pool2d_backward(aten.avg_pool2d(x, *options).sin(), x, *options)


def _bags(weight: Any, indices: Any, offsets: Any, mode: int) -> Any:
    return aten._embedding_bag(weight, indices, offsets, False, mode)[0]


CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("add.Scalar", lambda x: aten.add.Scalar(x, 2.5), (_X,)),
    ("sub.Scalar", lambda x: aten.sub.Scalar(x, 2.5), (_X,)),
    ("mul.Scalar", lambda x: aten.mul.Scalar(x, 2.5), (_X,)),
    ("div.Scalar", lambda x: aten.div.Scalar(x, 2.5), (_X,)),
    ("div.Scalar_mode", lambda x: aten.div.Scalar_mode(x, 0.7, rounding_mode="floor"), (_X,)),
    ("fmod.Scalar", lambda x: aten.fmod.Scalar(x, 0.7), (_X,)),
    ("remainder.Scalar", lambda x: aten.remainder.Scalar(x, 0.7), (_X,)),
    ("bitwise_and.Scalar", lambda x: aten.bitwise_and.Scalar(x, 5), (_I,)),
    ("bitwise_or.Scalar", lambda x: aten.bitwise_or.Scalar(x, 5), (_I,)),
    ("bitwise_xor.Scalar", lambda x: aten.bitwise_xor.Scalar(x, 5), (_I,)),
    ("fill.Scalar", lambda x: aten.fill.Scalar(x, 3), (_X,)),
    ("copy", lambda x, y: aten.copy(x, y), (_X, _I)),
    ("alias", lambda x: aten.alias(x) + 1, (_X,)),
    ("any.dims", lambda x: aten.any.dims(x, [0, 2]), (_B,)),
    ("argmax of all", lambda x: aten.argmax(x), (_X,)),
    ("arange", lambda x: x + aten.arange.start_step(1, 9, 2), (torch.ones(4),)),
    ("full", lambda x: x + aten.full([3, 4], 2.0), (_X,)),
    ("scalar_tensor", lambda x: x + aten.scalar_tensor(2.0), (_X,)),
    ("empty", lambda x: aten.empty([3, 4]) * 0 + x, (_X,)),
    ("empty_strided", lambda x: aten.empty_strided([3, 4], [4, 1]) * 0 + x, (_X,)),
    ("rand", lambda x: x + aten.rand([3, 4]), (_X,)),
    ("randn", lambda x: x + aten.randn([3, 4]), (_X,)),
    ("randperm", lambda x: x + aten.randperm(4), (_X,)),
    ("item", lambda x: x * x.sum().item(), (_X,)),
    ("upsample_nearest2d", lambda x: aten.upsample_nearest2d.vec(x, [9, 13], None), (_IMAGE,)),
    ("upsample_bilinear2d", lambda x: aten.upsample_bilinear2d.vec(x, [9, 13], False, None), (_IMAGE,)),
    ("max_pool3d", lambda x: aten.max_pool3d_with_indices(x[None], [2, 2, 2]), (_IMAGE,)),
    ("adaptive_avg_pool2d", lambda x: aten._adaptive_avg_pool2d(x, [3, 2]), (_IMAGE,)),
    ("adaptive_avg_pool3d", lambda x: aten._adaptive_avg_pool3d(x[None], [2, 3, 2]), (_IMAGE,)),
    ("squeeze.dims", lambda x: aten.squeeze.dims(x[:1, :, :1], [0, 2]), (_X,)),
    ("var.dim", lambda x: aten.var.dim(x, [1], True), (_X,)),
    ("pow.Scalar", lambda x: aten.pow.Scalar(2.5, x), (_X,)),
    ("reflection_pad3d", lambda x: aten.reflection_pad3d(x, [1, 2, 1, 0, 1, 1]), (_IMAGE,)),
    ("replication_pad3d", lambda x: aten.replication_pad3d(x, [1, 2, 1, 0, 1, 1]), (_IMAGE,)),
    ("slice_scatter", lambda x, y: aten.slice_scatter(x, y, 2, 1, 4, 2), (_X, torch.ones(2, 3, 2))),
    ("masked_scatter", lambda x, m, y: aten.masked_scatter(x, m, y), (_X, _B, torch.arange(24.0))),
    ("cdist", lambda x, y: aten._cdist_forward(x, y, 2.0, None), (_X, _X[:, :2] + 1)),
    ("pdist", lambda x: aten._pdist_forward(x, 2.0), (_X[0],)),
    ("fft_r2c", lambda x: aten._fft_r2c(x, [2], 0, True), (_X,)),
    ("fft_c2r", lambda x: aten._fft_c2r(aten._fft_r2c(x, [2], 0, True), [2], 2, 4), (_X,)),
    (
        "batch_norm",
        lambda x, w: aten._native_batch_norm_legit.no_stats(x, w, w, True, 0.1, 1e-5)[0],
        (_IMAGE, torch.ones(4)),
    ),
    ("group_norm", lambda x, w: aten.native_group_norm(x, w, w, 2, 4, 36, 2, 1e-5), (_IMAGE, torch.ones(4))),
    ("layer_norm", lambda x, w: aten.native_layer_norm(x, [4], w, w, 1e-5), (_X, torch.ones(4))),
    ("dropout", lambda x: aten.native_dropout(x, 0.5, False)[0], (_X,)),
    ("embedding_dense_backward", lambda g, i: aten.embedding_dense_backward(g, i, 7, 2, False), (_X, _I[:, :, 0] % 7)),
    ("max_pool backward", _pooled_back, (_IMAGE,)),
    ("conv backward", _conv_back([2, 1], [1, 0], [1, 2], False, [0, 0], 1), (_IMAGE, _IMAGE[:, :, :3, :2], _UP)),
    (
        "conv backward in groups",
        _conv_back([2, 2], [1, 1], [1, 1], False, [0, 0], 2),
        (_IMAGE, _IMAGE[:, :2, :3, :3].repeat(3, 1, 1, 1), _UP.repeat(1, 3, 1, 1)[:, :6, :3, :3]),
    ),
    (
        "transposed conv backward",
        _conv_back([2, 2], [1, 1], [1, 1], True, [1, 0], 2),
        (_IMAGE[..., :2, :3], _IMAGE[:, :3, :3, :3].repeat(2, 1, 1, 1), _UP.repeat(1, 3, 2, 2)[:, :6, :4, :5]),
    ),
    ("avg_pool backward", _averaged_back(True, True, None), (_IMAGE,)),
    ("avg_pool backward over elements", _averaged_back(True, False, None), (_IMAGE,)),
    ("avg_pool backward of a divisor", _averaged_back(False, True, 5), (_IMAGE,)),
    (
        "adaptive_avg_pool backward",
        lambda g, x: aten._adaptive_avg_pool2d_backward(g, x),
        (_IMAGE[..., :4, :5], _IMAGE),
    ),
    (
        "embedding_dense_backward by counts",
        lambda g, i: aten.embedding_dense_backward(g, i, 7, -1, True),
        (_X, _I[:, :, 0] % 7),
    ),
    ("aten.resize_.default", lambda x: aten.resize_(x + 1, [4, 5]), (_X,)),
    ("resize_as", lambda x: torch.resize_as_(x + 1, x[0]), (_X,)),
    ("aten.sym_numel.default", lambda x: x * aten.sym_numel(x), (_X,)),
    ("aten.sym_stride.int", lambda x: x * aten.sym_stride.int(x, 0), (_X,)),
    ("aten.sym_storage_offset.default", lambda x: x * aten.sym_storage_offset(x), (_X,)),
    ("aten.sym_is_contiguous.default", lambda x: x + 1 if aten.sym_is_contiguous(x) else x - 1, (_X,)),
    ("layer_norm backward", _layer_back, (_X, torch.linspace(1, 2, 4))),
    ("group_norm backward", _group_back, (_IMAGE, torch.linspace(1, 2, 4))),
    ("embedding_bag sum", lambda w, i, o: _bags(w, i, o, 0), (_X[0], torch.tensor([0, 2, 1, 1]), torch.tensor([0, 3]))),
    (
        "embedding_bag mean",
        lambda w, i, o: _bags(w, i, o, 1),
        (_X[0], torch.tensor([0, 2, 1, 1]), torch.tensor([0, 3])),
    ),
    ("embedding_bag max", lambda w, i, o: _bags(w, i, o, 2), (_X[0], torch.tensor([0, 2, 1, 1]), torch.tensor([0, 3]))),
    ("batch_norm in training", lambda x, w: F.batch_norm(x, w * 0, w + 0, w, w, True), (_IMAGE, torch.ones(4))),
    ("avg_pool divisor", lambda x: aten.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, True, 5), (_IMAGE,)),
    ("softmax over an axis", lambda x: (x.softmax(1), x.log_softmax(-1)), (_X,)),
    ("to another type", lambda x: x.to(torch.int32), (_X,)),
    ("batch_norm of running moments", lambda x, w: F.batch_norm(x, w * 0, w + 1, w, w), (_IMAGE, torch.ones(4))),
    ("clamp between numbers", lambda x: x.clamp(-1, 0.5), (_X,)),
    ("windows added up", lambda x: F.fold(x, (4, 4), (2, 2)), (torch.ones(1, 8, 9).cumsum(2),)),
    ("convolution", lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), (_IMAGE, _IMAGE[:, :2, :3, :3])),
    (
        "transposed convolution",
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (_IMAGE, _IMAGE[:, :, :3, :3].repeat(2, 1, 1, 1)),
    ),
    ("elu of a slope", lambda x: F.elu(x, 0.7), (_X,)),
    ("embedding of words", lambda w, i: F.embedding(i, w), (_X[0], torch.tensor([[0, 2], [1, 1]]))),
    ("compared with numbers", lambda x: (x == 0.5, x != 0.5, x < 0.5, x <= 0.5, x > 0.5, x >= 0.5), (_X,)),
    ("indexed by tensors", lambda x, i: (x[i], x[:, i, i], x[i, :, i]), (_X, torch.tensor([0, 1]))),
    ("power of a number", lambda x: (x**3, x**0.5, x**-1), (_X.abs() + 0.5,)),
    ("reflected in one axis", lambda x: aten.reflection_pad1d(x, [2, 1]), (_X,)),
    ("reflected in two axes", lambda x: aten.reflection_pad2d(x, [2, 1, 0, 3]), (_IMAGE,)),
    ("replicated in two axes", lambda x: aten.replication_pad2d(x, [2, 1, 0, 3]), (_IMAGE,)),
    ("scattered number", lambda x, i: x.scatter(2, i, 9.0), (_X, _I[:, :, :2] % 4)),
    ("squeezed axis", lambda x: x[:, :1].squeeze(1), (_X,)),
    ("pooled to three", lambda x: F.adaptive_avg_pool1d(x, 3), (_X,)),
]
