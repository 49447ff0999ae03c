# What type checkers know of arrays: the class of the result for an array. No such module is there when code runs.
#
# relayout gives arrays back in the caller's own library: NumPy arrays for whatever is mere memory, such as bytes, and
# the same class for PyTorch, JAX and every library with the array API. Where the library is known only when code runs,
# the result is Any.
import array
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from . import _native

class _Torch(Protocol):
    """PyTorch's tensors."""
    @classmethod
    def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any: ...

class _ArrayApi(Protocol):
    """JAX's arrays, and those of every other library with the array API."""
    def __array_namespace__(self, *args: Any, **kwargs: Any) -> Any: ...

# A NumPy array of any shape and type of elements.
NumPy: TypeAlias = np.ndarray[Any, Any]
# That of which the result is a NumPy array.
NumPyLike: TypeAlias = NumPy | np.generic | bytes | bytearray | memoryview | array.array[Any]
# Arrays of other libraries, whose results have their own class.
OtherT = TypeVar("OtherT", bound=_Torch | _ArrayApi | _native.Buffer)
# The type of a NumPy array's elements.
DTypeT = TypeVar("DTypeT", bound=np.dtype[Any])
# An array to write into, which is returned.
OutT = TypeVar("OutT")
