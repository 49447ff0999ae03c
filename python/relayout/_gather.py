"""gather() and scatter(): elements read and written through a table of indices.

    relayout.gather(pages, block_table)             # pages 5, 3, 9 of a key/value cache, one after the other
    relayout.scatter(tokens, slots, out=cache)      # each token into its slot
    relayout.gather(weight, g_idx.argsort(), 1)     # the columns of weights in the order of activations

docs/tables.md has paged caches, ragged batches, weights and sparse matrices.
"""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _native
from ._arrays import check_same_type, host_view, is_torch, like_caller
from ._errors import InvalidArgumentError
from ._planned import check_writable

if TYPE_CHECKING:
    from ._typing import DTypeT, NumPy, NumPyLike, OtherT, OutT


def _dim_of(view: Any, dim: int) -> int:
    at = operator.index(dim)
    if not -view.ndim <= at < view.ndim:
        raise InvalidArgumentError(f"dim {at}: x has dims 0 to {view.ndim - 1}" if view.ndim
                                   else f"dim {at}: x has no dims", "dim", str(at))
    return at % view.ndim


def _table(table: Any) -> Any:
    """The entries as an array."""
    view = host_view(np.asarray(table, np.int64) if isinstance(table, (list, tuple)) else table)
    if isinstance(view, np.ndarray) and not view.dtype.isnative:
        return view.astype(view.dtype.newbyteorder("="))
    return view


def _writable(out: Any, x: Any) -> Any:
    view = host_view(out)
    check_same_type(view, x)
    if isinstance(view, np.ndarray):
        check_writable(view)
    return view


@overload
def gather(x: np.ndarray[Any, DTypeT], table: Any, dim: int = ..., *, block: int = ..., out: None = ...,
           threads: int = ...) -> np.ndarray[Any, DTypeT]:
    ...


@overload
def gather(x: NumPyLike, table: Any, dim: int = ..., *, block: int = ..., out: None = ...,
           threads: int = ...) -> NumPy:
    ...


@overload
def gather(x: OtherT, table: Any, dim: int = ..., *, block: int = ..., out: None = ..., threads: int = ...) -> OtherT:
    ...


@overload
def gather(x: Any, table: Any, dim: int = ..., *, block: int = ..., out: None = ..., threads: int = ...) -> Any:
    ...


@overload
def gather(x: Any, table: Any, dim: int = ..., *, block: int = ..., out: OutT, threads: int = ...) -> OutT:
    ...


def gather(x: Any, table: Any, dim: int = 0, *, block: int = 1, out: Any = None, threads: int = 0) -> Any:
    """The elements of x whose index along `dim` is table[0], table[1] and so on, as numpy.take() has them.

    x: a NumPy array, a PyTorch tensor, or what else `contiguous` takes, with any strides.
    table: integers of any type, a list or an array, which is read row-major. An entry of -1 stands for none: zeros.
    block: how many indices an entry stands for: entry b for those from b * block on, as pages of a cache have them.
    out: an array for the result, of x's type, which does not share memory with x. A new one unless given. Its extent
    along `dim` may end within the last block.
    threads: the most threads to use; 0 stands for all.

    Errors: InvalidArgumentError names the first entry that is out of bounds, before anything is written.
    """
    view, entries = host_view(x), _table(table)
    at = _dim_of(view, dim)
    if out is not None:
        _native.move_by_index(view, _writable(out, view), entries, at, block, False, threads)
        return out
    shape = list(view.shape)
    shape[at] = (entries.numel() if is_torch(entries) else entries.size) * operator.index(block)
    made = view.new_empty(shape) if is_torch(view) else np.empty(shape, view.dtype)
    _native.move_by_index(view, made, entries, at, block, False, threads)
    wrap = None if is_torch(view) else like_caller(x)
    return wrap(made) if wrap else made


def scatter(x: Any, table: Any, dim: int = 0, *, out: Any, block: int = 1, threads: int = 0) -> Any:
    """Writes index i of x along `dim` to index table[i] of out, and returns out. What no entry names stays.

    x, block, threads: as for `gather`. table: its entries must differ; x's index is left out where one is -1.
    out: an array of x's type and dims, but for `dim`, which does not share memory with x.

    Errors: InvalidArgumentError names the first entry that is out of bounds, NotInjectiveError two that are equal,
    before anything is written.
    """
    view, entries = host_view(x), _table(table)
    _native.move_by_index(view, _writable(out, view), entries, _dim_of(view, dim), block, True, threads)
    return out


def ragged_index(starts: Any, longest: int) -> np.ndarray:
    """The table between a ragged batch and one with padding: row r has the indices starts[r] to starts[r + 1] - 1 of
    the ragged one, and those from r * longest on of the other.

    starts: integers, one more than rows, the first of them 0.
    """
    entries = _table(starts)
    count = int(entries[-1]) if len(entries) else 0
    made = np.empty(max(count, 0), np.int64)
    _native.fill_ragged(entries, longest, made)
    return made


def sparse_rows_index(starts: Any, indices: Any, columns: int) -> np.ndarray:
    """The table between the entries of a sparse matrix by rows (CSR), or blocks (BCSR), and a dense one: entry k of row
    r, starts[r] <= k < starts[r + 1], stands at r * columns + indices[k].
    """
    entries = _table(indices)
    made = np.empty(entries.numel() if is_torch(entries) else entries.size, np.int64)
    _native.fill_sparse_rows(_table(starts), entries, columns, made)
    return made
