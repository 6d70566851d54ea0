"""SparseTensor: coordinates, compressed rows or blocks, held as numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingot.compat.onnxruntime.devices import OrtDevice, require_cpu
from ingot.compat.onnxruntime.enums import OrtSparseFormat
from ingot.compat.onnxruntime.errors import Unsupported
from ingot.dtypes import Array, DType


@dataclass(frozen=True)
class _Indices:
    _indices: Array

    def indices(self) -> Array:
        return self._indices


class SparseCooView(_Indices):
    """Where the elements are: positions in the flat dense tensor, or a row of coordinates for each."""


class SparseBlockSparseView(_Indices):
    """Where the blocks are."""


@dataclass(frozen=True)
class SparseCsrView:
    """Compressed rows: the columns, and where each row begins among them."""

    _inner: Array
    _outer: Array

    def inner(self) -> Array:
        return self._inner

    def outer(self) -> Array:
        return self._outer


class SparseTensor:
    """A matrix of which most elements are zero: its values, and a view that says where they are."""

    def __init__(
        self,
        format: OrtSparseFormat,
        dense_shape: Sequence[int],
        values: Array,
        view: SparseCooView | SparseCsrView | SparseBlockSparseView,
    ) -> None:
        """For the three functions below; they check what they are given."""
        self._format = format
        self._shape = [int(size) for size in dense_shape]
        self._values = _read_only(values)
        self._view = view

    @classmethod
    def sparse_coo_from_numpy(
        cls, dense_shape: Sequence[int], values: Array, coo_indices: npt.ArrayLike, ort_device: OrtDevice
    ) -> SparseTensor:
        """Elements at flat positions, or at rows of coordinates; ValueError if one is outside the shape."""
        require_cpu(ort_device)
        indices = np.asarray(coo_indices, np.int64)
        if len(indices) != len(values):
            raise ValueError(f"{len(values)} values and {len(indices)} indices are given")
        bounds = np.asarray(dense_shape if indices.ndim == 2 else [np.prod(dense_shape)])
        if indices.ndim == 2 and indices.shape[1] != len(bounds):
            raise ValueError(f"the indices have {indices.shape[1]} coordinates, the shape {len(bounds)}")
        if ((indices < 0) | (indices >= bounds)).any():
            raise ValueError(f"an index is outside of the shape {list(dense_shape)}")
        return cls(OrtSparseFormat.ORT_SPARSE_COO, dense_shape, values, SparseCooView(_read_only(indices)))

    @classmethod
    def of_dense(cls, array: Array) -> SparseTensor:
        """The elements of an array that are not zero, at flat positions."""
        flat = array.reshape(-1)
        indices = np.flatnonzero(flat).astype(np.int64)
        view = SparseCooView(_read_only(indices))
        return cls(OrtSparseFormat.ORT_SPARSE_COO, array.shape, flat[indices], view)

    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: Array,
        inner_indices: npt.ArrayLike,
        outer_indices: npt.ArrayLike,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """Elements by compressed rows of a matrix; ValueError if the indices do not fit it.

        The inner indices are columns. The outer ones are where each row begins among them, and their number; there may
        be none of these where there are no elements.
        """
        require_cpu(ort_device)
        inner, outer = np.asarray(inner_indices, np.int64), np.asarray(outer_indices, np.int64)
        is_empty = len(inner) == len(outer) == 0
        has_rows = is_empty or len(outer) == dense_shape[0] + 1
        if len(dense_shape) != 2 or len(inner) != len(values) or not has_rows:
            raise ValueError(
                f"{len(values)} values, {len(inner)} inner and {len(outer)} outer indices do not make rows of a"
                f" matrix {list(dense_shape)}"
            )
        if ((inner < 0) | (inner >= dense_shape[1])).any():
            raise ValueError(f"an inner index is not one of the {dense_shape[1]} columns")
        if not is_empty and (outer[0] != 0 or outer[-1] != len(inner) or (np.diff(outer) < 0).any()):
            raise ValueError(f"the outer indices do not rise from 0 to {len(inner)}, the number of inner ones")
        view = SparseCsrView(_read_only(inner), _read_only(outer))
        return cls(OrtSparseFormat.ORT_SPARSE_CSRC, dense_shape, values, view)

    @classmethod
    def blocksparse_from_numpy(
        cls, dense_shape: Sequence[int], values: Array, block_indices: npt.ArrayLike, ort_device: OrtDevice
    ) -> SparseTensor:
        """Blocks of elements."""
        require_cpu(ort_device)
        view = SparseBlockSparseView(_read_only(np.asarray(block_indices, np.int32)))
        return cls(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE, dense_shape, values, view)

    def values(self) -> Array:
        """The elements, not to be written to."""
        return self._values

    def dense(self) -> Array:
        """The whole tensor, zeros and all; NotImplemented for blocks."""
        array = np.zeros(self._shape, self._values.dtype)
        match self._view:
            case SparseCooView():
                indices = self._view.indices()
                places = tuple(indices.T) if indices.ndim == 2 else np.unravel_index(indices, self._shape)
                array[places] = self._values
            case SparseCsrView() if self._view.inner().size:
                rows = np.repeat(np.arange(self._shape[0]), np.diff(self._view.outer()))
                array[rows, self._view.inner()] = self._values
            case SparseBlockSparseView():
                raise Unsupported("a sparse tensor of blocks cannot be fed")
        return array

    def dense_shape(self) -> list[int]:
        return list(self._shape)

    def format(self) -> OrtSparseFormat:
        return self._format

    def data_type(self) -> str:
        return f"sparse_tensor({DType.of(self._values.dtype).onnx_name})"

    def device_name(self) -> str:
        return "cpu"

    def as_coo_view(self) -> SparseCooView:
        if not isinstance(self._view, SparseCooView):
            raise RuntimeError(f"this sparse tensor has no coordinates: its format is {self._format}")
        return self._view

    def as_csrc_view(self) -> SparseCsrView:
        if not isinstance(self._view, SparseCsrView):
            raise RuntimeError(f"this sparse tensor has no compressed rows: its format is {self._format}")
        return self._view

    def as_blocksparse_view(self) -> SparseBlockSparseView:
        if not isinstance(self._view, SparseBlockSparseView):
            raise RuntimeError(f"this sparse tensor has no blocks: its format is {self._format}")
        return self._view

    get_coo_data = as_coo_view
    get_csrc_data = as_csrc_view
    get_blocksparse_data = as_blocksparse_view

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        raise RuntimeError(f"SparseTensor.to_cuda: {ort_device} is not available, only the cpu is")

    def _get_c_tensor(self) -> SparseTensor:
        return self


def _read_only(array: Array) -> Array:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
