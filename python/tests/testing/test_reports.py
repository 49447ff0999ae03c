"""Reports name a layout that fails, and what they print fails by itself; cases are cut only to shapes that fit."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import kernels
import numpy as np
import pytest
from kernels import dense, load, offsets_of

from relayout.testing import LayoutDifference, LayoutError, assert_as_if_contiguous, assert_layout_invariant
from relayout.testing.extents import ties
from relayout.testing.source import function_code

SCALE = 3


def scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """q k^T by pointers: does not look at the strides of k, and takes the extents of q for those of k."""
    batch, many, depth = q.shape
    shape = (batch, k.shape[1], depth)
    read = load(k.ctypes.data, offsets_of(shape, dense(shape, k.itemsize)), k.dtype)
    return np.einsum("bid,bjd->bij", q, read) * SCALE


def gathers(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of a table by pointers, unchecked, as if the table were contiguous."""
    width = dense(table.shape, table.itemsize)
    starts = rows.astype(np.int64)[:, None] * width[0] + np.arange(table.shape[1]) * width[1]
    return load(table.ctypes.data, starts, table.dtype)


def error_of(fn: Any, *args: Any, **options: Any) -> LayoutError:
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, *args, **options)
    return caught.value


def shapes_of(error: LayoutError) -> list[tuple[int, ...]]:
    names: dict[str, Any] = {}
    exec(error.code, names)
    return [tuple(array.shape) for array in names["args"]]


def fails_by_itself(error: LayoutError, **names: Any) -> None:
    with pytest.raises(LayoutDifference):
        exec(error.script, dict(names))
    assert all(line in str(error) for line in error.script.splitlines() if len(line) <= 300)


RANDOM = np.random.default_rng(5)
Q, K = (RANDOM.standard_normal((2, 5, 4)).astype(np.float32) for _ in range(2))


def test_equal_extents_of_two_arguments_stay_equal() -> None:
    for k in (K, K[:, :3]):
        error = error_of(scores, Q, np.ascontiguousarray(k))
        first, second = shapes_of(error)
        assert first[0] == second[0] and first[2] == second[2]
        assert first[1] == second[1] or k is not K
        assert np.prod(second) <= 4
        assert error.explanation == "argument 1 is read as if it were row-major (contiguous)"
        assert error.argument == (1,) and error.variant
        fails_by_itself(error)


def test_letters_say_which_extents_are_equal() -> None:
    error = error_of(scores, Q, K, shapes="bqd, bkd")
    first, second = shapes_of(error)
    assert first == (1, 1, 2) and second == (1, 2, 2)
    fails_by_itself(error)
    error = error_of(scores, Q, K, shapes=["bq.", "bk."])
    assert shapes_of(error)[1][2] == 4
    for letters, words in (("bqd", "1 of them"), ("bqd bk", "names 2 dims"), ("bqd bbd", "'b' is 2 and, in")):
        with pytest.raises(ValueError, match=words):
            assert_layout_invariant(scores, Q, K, shapes=letters)


def test_ties() -> None:
    assert ties([(1, 4, 6), (1, 5, 6)], ["q", "k"]) == [[(0, 2), (1, 2)], [(1, 1)], [(0, 1)], [(0, 0), (1, 0)]]
    assert ties([(3, 3)], ["x"], "ab") == [[(0, 0)], [(0, 1)]]
    assert ties([(), (2,)], ["x", "y"], ["", "."]) == []


def test_what_reads_past_its_arguments_is_no_smaller_case() -> None:
    table = RANDOM.standard_normal((9, 3))
    error = error_of(gathers, table, np.array([8, 2, 5, 7]))
    rows, = (array for array in [shapes_of(error)] if array)
    assert rows[0][0] == 9  # the indices need all rows
    assert error.explanation == "argument 0 is read as if it were row-major (contiguous)"
    fails_by_itself(error)


def test_letters_free_extents_that_do_not_fit() -> None:
    """Even so a shape that the kernel would read out of bounds for is no failure."""
    error = error_of(scores, Q, K, shapes="bqd xyz")
    first, second = shapes_of(error)
    assert first[0] * second[1] * first[2] <= np.prod(second)
    fails_by_itself(error)


def test_shapes_that_the_function_refuses_are_no_failures() -> None:
    def fn(x: np.ndarray) -> np.ndarray:
        if x.shape[1] % 2:
            raise ValueError("odd")
        return x if x.flags.c_contiguous else x + 1

    error = error_of(fn, np.ones((3, 4)))
    assert shapes_of(error) == [(2, 2)] and error.kind == "values"


@pytest.mark.parametrize("name", ["row_major", "first_flag", "scratch_in_input", "clears_whole_rows", "masks_padding",
                                  "aligned_loads", "fills_row_major", "negates_in_place", "torch_offset_twice"])
def test_scripts_fail_by_themselves(name: str) -> None:
    planted = kernels.PLANTED[name]
    if planted.framework == "torch":
        pytest.importorskip("torch")
    error = error_of(planted.fn, *kernels.arguments(planted), **planted.options)
    assert "put your function here" not in error.script
    fails_by_itself(error)
    assert not any("did not fail" in note for note in error.notes)


def test_a_fresh_interpreter_fails_too() -> None:
    error = error_of(scores, Q, K)
    done = subprocess.run([sys.executable, "-c", error.script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "LayoutDifference: " in done.stderr, done.stderr


def test_exceptions_and_tolerances_are_part_of_the_script() -> None:
    def refuses(x: np.ndarray) -> float:
        if not x.flags.c_contiguous:
            raise TypeError("not contiguous")
        return 1.0

    fails_by_itself(error_of(refuses, K))
    error = error_of(lambda x: x * (1 if x.flags.c_contiguous else 1 + 1e-7), K.astype(np.float64), rtol=1e-9, atol=0.0)
    assert "rtol=1e-09, atol=0.0" in error.script
    fails_by_itself(error)


def test_functions_that_cannot_be_imported_are_written_out() -> None:
    bias = 2.5

    def inner(x: np.ndarray) -> np.ndarray:
        return kernels.row_major(x) + bias

    for fn in (inner, lambda x: inner(x) * SCALE, lambda x, outer=SCALE: inner(x) * outer):
        error = error_of(fn, Q[0])
        assert "put your function here" not in error.script and "bias = 2.5" in error.script
        fails_by_itself(error)
    fn = functools.partial(kernels.first_flag, y=Q[0].T)  # of an array there is no text
    error = error_of(fn, Q[0].T.copy())
    assert "put your function here, partial" in error.script
    fails_by_itself(error, fn=fn)


def test_code_of_functions() -> None:
    assert function_code(np.sum) == ["from numpy import sum as fn"]
    assert function_code(len) == ["from builtins import len as fn"]
    lines = function_code(functools.partial(np.sum, axis=1))
    assert lines is not None and lines[-1] == "fn = functools.partial(fn_of, axis=1)"
    state = iter(range(3))
    assert function_code(lambda: next(state)) is None
    assert function_code(K.sum) is None


def test_a_program_is_imported_only_if_it_has_a_guard(tmp_path: Path) -> None:
    body = """
import numpy as np
from relayout.testing import assert_layout_invariant
table = np.arange(3)
def kernel(x):
    return x + table[0] if x.flags.c_contiguous else x + table[1]
"""
    check = """
    try:
        assert_layout_invariant(kernel, np.ones((2, 3)))
    except AssertionError as error:
        print(error.script)
"""
    for guard, words in (('if __name__ == "__main__":', "from program import kernel as fn"),
                         ("if True:", "put your function here, kernel")):
        (tmp_path / "program.py").write_text(body + guard + check)
        done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert words in done.stdout and done.stdout.count("\nargs = ") == 1, done.stdout


def test_as_if_contiguous() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    assert_as_if_contiguous(np.sum, x[:, ::2], axis=1)
    assert_as_if_contiguous(lambda x: x.__imul__(2), x[::-1].copy()[:, 1:])
    with pytest.raises(LayoutDifference, match="are wrong"):
        assert_as_if_contiguous(kernels.row_major, x.T)
    with pytest.raises(LayoutDifference, match="raises ZeroDivisionError"):
        assert_as_if_contiguous(lambda x: 1 if x.flags.c_contiguous else 1 // 0, x.T)
    with pytest.raises(LayoutDifference, match="writes to 2 elements of the buffer"):
        assert_as_if_contiguous(kernels.clears_whole_rows, np.ones((2, 4))[:, :3])
    with pytest.raises(LayoutDifference, match="argument y after the call"):
        assert_as_if_contiguous(lambda x, y: None if x.flags.c_contiguous else y.fill(0), x.T, y=x.copy())


def test_as_if_contiguous_with_torch() -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(12.0).reshape(3, 4)
    assert_as_if_contiguous(torch.add, base.T, base.T)
    assert_as_if_contiguous(lambda x: x.mul_(2), base[:, 1:])
    with pytest.raises(LayoutDifference, match="are wrong"):
        assert_as_if_contiguous(kernels.torch_row_major, base.T)

    def scribbles(x: Any) -> None:
        if not x.is_contiguous():
            x.as_strided((1,), (1,), 3).zero_()

    with pytest.raises(LayoutDifference, match="writes to 1 elements of the buffer"):
        assert_as_if_contiguous(scribbles, torch.ones(3, 4)[:, :3])


def by_anothers_strides(which: int, whose: int) -> Any:
    """A sum of arrays, one of which is read by the strides of another."""
    def kernel(*args: np.ndarray) -> np.ndarray:
        misread = np.lib.stride_tricks.as_strided(args[which], args[which].shape, args[whose].strides)
        return sum((misread if i == which else x) for i, x in enumerate(args))
    return kernel


@pytest.mark.parametrize(("which", "whose", "count"), [(2, 0, 3), (1, 2, 3), (0, 1, 3), (0, 1, 2), (3, 1, 4)])
def test_the_misread_argument_is_blamed_where_several_hold_the_same_values(which: int, whose: int, count: int) -> None:
    rng = np.random.default_rng(count)
    error = error_of(by_anothers_strides(which, whose), *(rng.random((3, 4)) for _ in range(count)))
    assert error.explanation == f"argument {which} is read as if it had the strides of argument {whose}"
    assert error.argument == (which,)


def test_errors_travel_between_processes() -> None:
    rng = np.random.default_rng(1)
    error = error_of(by_anothers_strides(1, 0), rng.random((3, 4)), rng.random((3, 4)))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is LayoutError and str(again) == str(error)
    assert {name: repr(value) for name, value in vars(again).items()} == {
        name: repr(value) for name, value in vars(error).items()}


class Misreader:
    """A kernel that is no function: its lines cannot say where it comes from."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return load(x.ctypes.data, offsets_of(x.shape, dense(x.shape, x.itemsize)), x.dtype)


def test_a_kernel_that_is_not_found_by_name_is_asked_for() -> None:
    error = error_of(Misreader(), np.arange(12.0).reshape(3, 4))
    assert "# fn = ..." in error.script and "once fn is your function" in str(error)
    assert "These lines fail by themselves:" in str(error_of(scores, *(np.random.rand(2, 3, 4) for _ in range(2))))
