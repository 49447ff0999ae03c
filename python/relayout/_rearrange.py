"""rearrange: split, permute and merge the dims of an array, in the notation of einops.

    rearrange("b (h d) s -> b h s d", x, h=8)

_rearrange_pattern.py reads the pattern and gives a recipe, which is applied here:

    x.reshape(split)      a view of any array, because it only splits dims and drops or adds dims of extent 1
     .permute(axes)       a view
     -> contiguous        the one place where elements move; none do if the view is dense and row-major already
     .reshape(final)      a view, because what it merges is dense

So no element moves twice, whatever the strides of the source are. A destination that the caller gives is split into the
permuted dims in the same way, which is a view of it as well, and is written by one `copy`. A list of arrays means a new
first dim; each of them is written to its place of the result.
"""
import itertools
import sys
from typing import Any, Optional

import numpy as np

from . import _native
from ._arrays import aligned_empty, check_same_type, host_view, is_torch, like_caller
from ._errors import InvalidArgumentError, NeedsCopyError, OverlapError
from ._layout import overlaps
from ._progress import Progress, share
from ._rearrange_pattern import check_pattern, find_recipe
from ._traced import check_object


def _check_not_traced(x):
    if is_torch(x):
        _native.check_not_traced(x)
    else:
        check_object(x)


def _explain(pattern, x, sizes):
    """Raises a clear error for arguments that find_recipe could not look up; returns where it finds none."""
    if not isinstance(pattern, str):
        swapped = "; the pattern comes first, then the array" if hasattr(pattern, "shape") else ""
        raise TypeError(f"rearrange: the pattern is not a text but a {type(pattern).__name__}{swapped}") from None
    if not hasattr(x, "shape"):
        raise TypeError(f"rearrange: a {type(x).__name__} is no array: it has no shape") from None
    check_pattern(pattern, sizes)


def _check_out(out, copy, shape, x):
    if type(out) is not np.ndarray:
        _check_not_traced(out)
    if copy is False:
        raise InvalidArgumentError("rearrange: copy=False contradicts a destination, into which the elements must be "
                                   "copied", "copy", "False", "None or True")
    if not hasattr(out, "shape"):
        raise TypeError(f"rearrange: the destination is a {type(out).__name__}, which is no array; an axis that is "
                        'called "out" cannot be given a size')
    if tuple(out.shape) != shape:
        raise InvalidArgumentError(f"rearrange: out is {tuple(out.shape)}, and the result {shape}",
                                   "out", str(tuple(out.shape)), str(shape))
    check_same_type(out, x)


def _allocate(arrays, shape):
    """An array for the result of a list, of the kind of the list's arrays; None where they must be stacked first."""
    first = arrays[0]
    if any(type(array) is not type(first) or array.dtype != first.dtype for array in arrays):
        return None  # what the array library makes of them is its own rule
    if hasattr(first, "new_empty"):  # PyTorch
        return None if any(array.requires_grad for array in arrays) else first.new_empty(shape)
    numpy = sys.modules.get("numpy")
    return numpy.empty(shape, first.dtype) if numpy is not None and type(first) is numpy.ndarray else None


def _stack(arrays):
    """The arrays as one with a new first dim, by their own library."""
    first = arrays[0]
    check_object(first)
    if hasattr(first, "__array_namespace__"):
        return first.__array_namespace__().stack(arrays)
    for kind in type(first).__mro__:
        module = sys.modules.get(kind.__module__.partition(".")[0])
        if hasattr(module, "stack"):
            return module.stack(arrays)
    raise TypeError(f"rearrange: it is not known how a list of {type(first).__name__} is stacked; stack it before")


def _rearrange_list(pattern, arrays, copy, threads, out, progress, sizes):
    """A list means its arrays along a new first dim. Each is copied once, to its place in the result."""
    if not arrays:
        raise InvalidArgumentError("rearrange: the list has no arrays", "x", "0", "1 or more")
    for index, array in enumerate(arrays):
        if type(array) is not np.ndarray:
            _check_not_traced(array)
        if not hasattr(array, "shape"):
            raise TypeError(f"rearrange: element {index} of the list is a {type(array).__name__}, which is no array")
        if array.shape != arrays[0].shape:
            raise InvalidArgumentError(f"rearrange: the arrays of a list must have one shape, but array 0 has "
                                       f"{tuple(arrays[0].shape)} and array {index} has {tuple(array.shape)}",
                                       f"x[{index}]", str(tuple(array.shape)), str(tuple(arrays[0].shape)))
    shape = (len(arrays), *arrays[0].shape)
    try:
        recipe = find_recipe(pattern, shape, **sizes)
    except TypeError:
        _explain(pattern, arrays[0], sizes)
        raise
    if out is not None:
        _check_out(out, copy, recipe.final, arrays[0])
        for index, array in enumerate(arrays):
            if overlaps(out, array):
                raise OverlapError(f"rearrange: the destination and array {index} of the list share memory", "out")
    elif copy is False:
        raise NeedsCopyError("rearrange: the arrays of a list must be copied into one; copy=False forbids it", "copy",
                             "False")
    else:
        out = _allocate(arrays, recipe.final)
        if out is None:
            return rearrange(pattern, _stack(arrays), threads=threads, progress=progress, **sizes)
    place = out.reshape(recipe.permuted)
    if recipe.axes is not None:
        inverse = tuple(recipe.axes.index(dim) for dim in range(len(recipe.axes)))
        place = place.permute(inverse) if hasattr(place, "permute") else place.transpose(inverse)
    # The dims that the list became come first in `split`; with "..." an index without dims is a view as well.
    indices = itertools.product(*map(range, recipe.split[:recipe.stacked]))
    for part, (index, array) in enumerate(zip(indices, arrays)):
        _native.copy(place[(*index, ...)], array.reshape(recipe.split[recipe.stacked:]), threads=threads,
                     progress=share(progress, part, len(arrays)))
    return out


def _rearrange_other(pattern, x, copy, threads, out, progress, sizes):
    """Arrays whose own reshape and transpose may move elements, and matrices, which have two dims whatever they are
    reshaped to: their memory is seen as a NumPy array's."""
    try:
        view = np.asarray(host_view(x))
    except TypeError:
        _explain(pattern, x, sizes)
        raise
    if out is not None:
        rearrange(pattern, view, copy=copy, threads=threads, out=host_view(out), progress=progress, **sizes)
        return out
    wrap = like_caller(x)
    if wrap is None:
        return rearrange(pattern, view, copy=copy, threads=threads, progress=progress, **sizes)
    if copy is not True:
        try:
            same = rearrange(pattern, view, copy=False, threads=threads, **sizes)
        except NeedsCopyError:
            if copy is False:
                raise
        else:
            # Of the same memory no other array of that library is made but by the library itself.
            if same.shape == view.shape:
                return x
            if copy is False:
                raise NeedsCopyError("rearrange: an array of this library in another shape is a copy", "copy", "False")
    try:
        final = find_recipe(pattern, view.shape, **sizes).final
    except TypeError:
        _explain(pattern, view, sizes)
        raise
    made = aligned_empty(final, view.dtype)
    rearrange(pattern, view, threads=threads, out=made, progress=progress, **sizes)
    return wrap(made)


def rearrange(pattern: str, x: Any, /, *, copy: Optional[bool] = None, threads: int = 0, out: Any = None,
              progress: Optional[Progress] = None, **sizes: int) -> Any:
    """Splits, permutes and merges the dims of an array, as a pattern in einops' notation says.

        rearrange("n h w c -> n c h w", x)                     permutes
        rearrange("b (h d) s -> b h s d", x, h=8)              splits a dim of h * d; d follows from its extent
        rearrange("b c (h h2) (w w2) -> b (c h2 w2) h w", x, h2=2, w2=2)
        rearrange("... c -> c ...", x)                         "..." is any number of dims
        rearrange("h w -> 1 h w ()", x)                        1 and () are dims of extent 1
        rearrange("b h w c -> b c h w", [image, image])        a list of arrays is stacked along a new first dim

    `x` is an array of NumPy, PyTorch or another library whose arrays have shape, reshape and transpose or permute. The
    result has its type and is dense and row-major. `copy` says whether it may share memory with x: None, if nothing has
    to move for it; True, never; False, it must, and NeedsCopyError is raised where something would have to move.
    `threads` is how many threads move elements, 0 all cores. `out` is an array of any strides, into which the result is
    written, and which is returned then; it may share memory with x, but not with the arrays of a list. `progress` is
    as for convert(), and not called where no element moves. The other arguments are the sizes of axes. Raises
    ParseError, a ValueError, which shows the place in the pattern, where the pattern or a size is wrong for the array.
    """
    if type(x) is list or type(x) is tuple:  # not isinstance, which takes more time than is needed
        return _rearrange_list(pattern, x, copy, threads, out, progress, sizes)
    if type(x) is not np.ndarray and (not isinstance(x, np.ndarray) and not is_torch(x) or isinstance(x, np.matrix)):
        return _rearrange_other(pattern, x, copy, threads, out, progress, sizes)
    if type(x) is not np.ndarray and is_torch(x):
        _native.check_not_traced(x)
    try:
        splits, split, axes, permuted, merges, final, _ = find_recipe(pattern, x.shape, **sizes)
    except (AttributeError, TypeError):
        _explain(pattern, x, sizes)
        raise
    if out is not None:
        _check_out(out, copy, final, x)
    if splits or out is not None:  # a destination is split as well, so that nothing has to be merged
        x = x.reshape(split)
    if axes is not None:
        # PyTorch's transpose exchanges two dims; its permute is what the others call transpose.
        x = x.permute(axes) if hasattr(x, "permute") else x.transpose(axes)
    if out is not None:
        _native.copy(out.reshape(permuted), x, threads=threads, progress=progress)
        return out
    x = _native.contiguous(x, copy=copy, threads=threads, progress=progress)
    return x.reshape(final) if merges else x
