"""Type checkers know the class of a result: that of the caller's array, or of the array to write into."""
import os
import subprocess
import sys

import pytest
import relayout

PROGRAM = '''
import array
from typing import Any
import numpy as np
import relayout
from typing_extensions import assert_type

class Tensor:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any: ...
class ApiArray:
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
class DlpackOnly:
    def __dlpack__(self) -> Any: ...

Floats = np.ndarray[Any, np.dtype[np.float32]]

def numpy_arrays(x: Floats) -> None:
    assert_type(relayout.contiguous(x, "F", copy=True, threads=2), Floats)
    assert_type(relayout.transpose(x), Floats)
    assert_type(relayout.convert(x, "ab", "ba", dtype="bf16"), np.ndarray[Any, Any])

def mere_memory(x: bytes, y: "array.array[float]") -> None:
    assert_type(relayout.contiguous(x), np.ndarray[Any, Any])
    assert_type(relayout.transpose(y), np.ndarray[Any, Any])
    assert_type(relayout.convert(x, "ab", "ba"), np.ndarray[Any, Any])

def other_libraries(tensor: Tensor, array: ApiArray, buffer: relayout.Buffer) -> None:
    assert_type(relayout.contiguous(tensor), Tensor)
    assert_type(relayout.transpose(array), ApiArray)
    assert_type(relayout.convert(buffer, "ab", "ba"), relayout.Buffer)

def destinations(x: Floats, tensor: Tensor) -> None:
    assert_type(relayout.convert(x, "ab", "ba", out=tensor), Tensor)
    assert_type(relayout.transpose(tensor, (1, 0), out=x), Floats)

def known_when_it_runs(x: DlpackOnly, y: Any) -> None:
    assert_type(relayout.contiguous(x), Any)
    assert_type(relayout.transpose(y), Any)
    assert_type(relayout.convert(y, "ab", "ba"), Any)

relayout.contiguous(b"12", threads="all")  # type: ignore[call-overload]
'''


def test_results_have_their_callers_class(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    # Found here, so that it is the same package wherever that lies.
    (tmp_path / "relayout").symlink_to(os.path.dirname(relayout.__file__))
    command = [sys.executable, "-m", "mypy", "--warn-unused-ignores", "--follow-imports=silent",
               "--cache-dir", tmp_path / "cache", "program.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
