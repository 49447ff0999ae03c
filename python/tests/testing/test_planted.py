"""Every planted fault is found, shrunk and named, and the code in the message rebuilds the failing call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import PLANTED, Planted, arguments

from relayout.testing import LayoutError, assert_layout_invariant


def failure(planted: Planted) -> LayoutError:
    if planted.framework == "torch":
        pytest.importorskip("torch")
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(planted.fn, *arguments(planted), **planted.options)
    return caught.value


def rebuilt(error: LayoutError) -> tuple[Any, ...]:
    names: dict[str, Any] = {}
    exec(error.code, names)
    assert names["kwargs"] == {}
    return names["args"]


@pytest.mark.parametrize("name", PLANTED)
def test_is_found_and_named(name: str) -> None:
    planted = PLANTED[name]
    error = failure(planted)
    assert error.kind == planted.kind
    if planted.explanation is None:
        assert error.explanation is None
    else:
        assert error.explanation is not None and error.explanation.startswith(planted.explanation)
        assert planted.explanation in str(error)


@pytest.mark.parametrize("name", [name for name, planted in PLANTED.items() if planted.kind == "values"])
def test_code_rebuilds_the_failure(name: str) -> None:
    planted = PLANTED[name]
    error = failure(planted)
    args = rebuilt(error)
    result = planted.fn(*args)
    if "after the call" in str(error):
        result = args[-1]
    value = np.asarray(result)[error.index]
    assert value == error.got or (np.isnan(value) and np.isnan(error.got))
    assert error.offset == (int(np.ravel_multi_index(error.index, np.shape(result))) if error.index else 0)
    assert 0 < error.wrong <= error.total


@pytest.mark.parametrize("name", PLANTED)
def test_is_shrunk(name: str) -> None:
    error = failure(PLANTED[name])
    sizes = [int(np.prod(arg.shape)) for arg in rebuilt(error)]
    assert all(size <= 8 for size in sizes), sizes


def test_first_flag_is_told() -> None:
    error = failure(PLANTED["first_flag"])
    assert any("argument 1 is probably not looked at" in note for note in error.notes)
    assert error.argument == (1,)


def test_pair_is_told() -> None:
    error = failure(PLANTED["both_odd"])
    assert error.argument == (0, 1)
    assert any("only one of argument 0 and argument 1" in note for note in error.notes)


def test_contiguous_arrays_do_not_trip_the_kernels() -> None:
    for name, planted in PLANTED.items():
        if planted.framework == "numpy" and name != "channels_last":
            args = arguments(planted)
            planted.fn(*args)  # not misread: the faults show in other layouts alone
