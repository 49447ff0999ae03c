"""A plugin for pytest, loaded by the entry point `pytest11`: fixtures that check functions in every layout.

Importing it needs pytest alone; NumPy is imported when a fixture is used.

Example:

    def test_my_sum(layout_invariant):
        layout_invariant(my_sum, np.arange(12.0).reshape(3, 4))

    @pytest.mark.array_layouts((3, 4), dtype="float64")
    def test_my_sum_again(layout_array):            # runs once for every layout
        assert my_sum(layout_array) == np.ascontiguousarray(layout_array).sum()
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("relayout")
    group.addoption("--layout-seed", type=int, default=None, help="the seed of the fixture layout_invariant; by "
                    "default each test has one of its own, made from its name")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "array_layouts(shape, dtype='float32', framework='numpy', layouts='all'): run "
                            "the test once for every layout of an array of this shape, which layout_array gives")


@pytest.fixture
def layout_invariant(request: pytest.FixtureRequest) -> Callable[..., int]:
    """`assert_layout_invariant` with a seed that is made from the test's name, or given by --layout-seed."""
    from relayout.testing import assert_layout_invariant

    seed = request.config.getoption("--layout-seed")
    if seed is None:
        seed = zlib.crc32(request.node.nodeid.encode())
    return functools.partial(assert_layout_invariant, seed=seed)


@pytest.fixture
def layout_array(request: pytest.FixtureRequest) -> Any:
    """An array in one layout; the test runs once for every layout that the marker array_layouts asks for."""
    if not hasattr(request, "param"):
        raise pytest.UsageError("the fixture layout_array needs @pytest.mark.array_layouts(shape, ...)")
    found, recipe = request.param
    return found.build(recipe)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "layout_array" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("array_layouts")
    if marker is None:
        return
    from relayout.testing import layouts

    found = layouts(*marker.args, **marker.kwargs)
    cases = list(found.cases())
    metafunc.parametrize("layout_array", [(found, recipe) for _, recipe in cases], ids=[name for name, _ in cases],
                         indirect=True)
