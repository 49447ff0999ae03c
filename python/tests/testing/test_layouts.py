"""Layouts by themselves: geometry, arrays, the code that rebuilds them, strategies, and the plugin."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import relayout
from relayout.testing import ALL, VARIANTS, Recipe, layouts, strided_array
from relayout.testing.arrays import strided_code
from relayout.testing.calls import Case, Subject
from relayout.testing.compare import Tolerance
from relayout.testing.misreadings import Memory, readings
from relayout.testing.paste import code_for
from relayout.testing.values import Values, element_offsets
from relayout.testing.variants import recipes

SHAPES = [(), (1,), (7,), (3, 4), (2, 1, 3), (2, 3, 4, 5), (1, 3, 1, 1), (2, 2, 1, 2, 3)]


def need_ml_dtypes(framework: str, dtype: str) -> None:
    if framework == "numpy" and dtype in ("bfloat16", "float8_e5m2", "int4"):
        pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("shape", SHAPES)
def test_geometry(shape: tuple[int, ...]) -> None:
    for name, recipe in recipes(list(VARIANTS), shape, 4, Random(3)):
        layout = recipe.apply(shape)
        offsets = element_offsets(shape, layout.strides, layout.offset)
        assert offsets.min() >= 0 and offsets.max() < layout.size, name
        assert recipe.parts(), name
        full = tuple(n for d, n in enumerate(shape) if d not in recipe.broadcast_dims)
        assert len(np.unique(offsets)) == int(np.prod(full)), name  # no two elements at one place


@pytest.mark.parametrize("shape", SHAPES)
def test_simpler_recipes_end_at_the_contiguous_one(shape: tuple[int, ...]) -> None:
    for _, recipe in recipes(list(VARIANTS), shape, 4, Random(3)):
        steps = 0
        while not recipe.is_plain:
            recipe = list(recipe.simpler())[-1]
            steps += 1
            assert steps < 200


@pytest.mark.parametrize("shape", SHAPES)
def test_misreadings_stay_in_the_buffer(shape: tuple[int, ...]) -> None:
    for _, recipe in recipes(list(ALL), shape, 4, Random(3)):
        layout = recipe.apply(shape)
        memory = Memory(recipe, layout, 4)
        for words, bytes_ in readings(memory):
            assert words.startswith("as if ") and bytes_.shape == shape
            assert bytes_.min() >= 0 and bytes_.max() + 4 <= layout.size * 4
            assert not np.array_equal(bytes_, memory.at())


@pytest.mark.parametrize(("framework", "dtype"), [
    *itertools.product(["numpy"], ["float32", "uint8", "bool", "complex128", "float16", "datetime64[s]", "U3"]),
    *itertools.product(["torch"], ["float32", "bfloat16", "bool", "int32"]), ("jax", "float32"), ("jax", "bfloat16")])
def test_arrays_hold_the_same_values_in_every_layout(framework: str, dtype: str) -> None:
    pytest.importorskip(framework)
    shape = (2, 1, 3, 4)
    found = layouts(shape, dtype, framework)
    names = [name for name, _ in found]
    assert names[0] == "contiguous" and len(set(names)) == len(names) == len(found)
    count = {"numpy": 60, "torch": 45, "jax": 2}[framework]
    assert len(found) >= count
    values = found.values
    for name, recipe in found.cases():
        array = found.build(recipe)
        want = values.project(recipe.broadcast_dims)
        assert np.array_equal(values.framework.to_bytes(array), want.data.reshape(-1)), name
        if framework != "jax":
            strides = array.stride() if framework == "torch" else tuple(s // array.itemsize for s in array.strides)
            wide = [d for d, n in enumerate(shape) if n > 1 or recipe.loose[d]]
            assert [strides[d] for d in wide] == [recipe.apply(shape).strides[d] for d in wide], name
        if framework == "numpy":
            assert array.flags.writeable != recipe.foreign
            assert array.ctypes.data % 64 == (recipe.skew + recipe.apply(shape).offset * array.itemsize) % 64


@pytest.mark.parametrize(("framework", "dtype"), [
    ("numpy", "float32"), ("numpy", "uint8"), ("numpy", "bool"), ("numpy", "datetime64[s]"), ("numpy", ">i4"),
    ("numpy", "bfloat16"), ("numpy", "float8_e5m2"), ("numpy", "int4"),
    ("torch", "float32"), ("torch", "bfloat16"), ("torch", "bool"), ("jax", "float32")])
@pytest.mark.parametrize("is_plain", [True, False])
def test_code_rebuilds_every_layout(framework: str, dtype: str, is_plain: bool) -> None:
    pytest.importorskip(framework)
    need_ml_dtypes(framework, dtype)
    found = layouts((2, 1, 3), dtype, framework)
    values = found.values if is_plain else found.values.with_data(found.values.data[::-1])
    subject = Subject(len, (values.contiguous(),), {}, Tolerance(), ())
    for name, recipe in found.cases():
        case = Case((values,), (recipe,)).projected()
        names: dict[str, Any] = {}
        exec(code_for(subject, case), names)
        array, = names["args"]
        assert array.dtype == values.dtype
        assert np.array_equal(values.framework.to_bytes(array), case.values[0].data.reshape(-1)), name
        if framework == "numpy":
            layout = recipe.apply(values.shape)
            assert recipe.is_plain or array.strides == tuple(s * array.itemsize for s in layout.strides), name


@pytest.mark.parametrize(("framework", "dtype"), [
    *itertools.product(["numpy"], ["float32", "float64", "bool", "complex64", "datetime64[s]", "U3", "bfloat16"]),
    ("numpy", "int4"),
    ("torch", "float32"), ("torch", "bfloat16"), ("jax", "float32")])
@pytest.mark.parametrize("is_plain", [True, False])
def test_expression_rebuilds_every_layout(framework: str, dtype: str, is_plain: bool) -> None:
    pytest.importorskip(framework)
    need_ml_dtypes(framework, dtype)
    found = layouts((2, 1, 3), dtype, framework)
    values = found.values if is_plain else found.values.with_data(found.values.data[::-1])
    if dtype == "float64" and not is_plain:
        values = values.with_numbers(np.array([0.1, np.nan, np.inf, -np.inf, -0.0, 1e300]))
    for name, recipe in found.cases():
        placed, layout = values.project(recipe.broadcast_dims), recipe.apply(values.shape)
        text = strided_code(placed, layout)
        array = eval(text, {"relayout": relayout})
        assert array.dtype == values.dtype
        assert np.array_equal(values.framework.to_bytes(array), placed.data.reshape(-1)), name
        if framework == "numpy":
            assert array.strides == tuple(s * array.itemsize for s in layout.strides), name
            assert array.ctypes.data % 64 == (recipe.skew + layout.offset * array.itemsize) % 64, name
        elif framework == "torch":
            assert (array.stride(), array.storage_offset()) == (layout.strides, layout.offset), name


def test_strided_arrays_that_cannot_be() -> None:
    assert strided_array([[1, 2], [3, 4]], strides=(1, 2)).tolist() == [[1, 2], [3, 4]]
    assert strided_array([[1, 2], [3, 4]], strides=(0, 1)).tolist() == [[1, 2], [1, 2]]
    assert strided_array(shape=(0, 2), strides=(2, 1)).shape == (0, 2)
    for words, arguments in (("too small", {"shape": (2,), "strides": (-1,)}),
                             ("2 dims", {"shape": (2, 2), "strides": (1,)}),
                             ("no array of shape", {"values": [1, 2], "shape": (3,), "strides": (1,)})):
        with pytest.raises(ValueError, match=words):
            strided_array(**arguments)
    with pytest.raises(TypeError, match="neither"):
        strided_array(strides=())


def test_names_of_types() -> None:
    assert layouts((2,), "f16").values.dtype == np.float16  # relayout's names before NumPy's codes
    assert layouts((2,), ">i4").values.dtype == np.dtype(">i4") != np.int32
    assert layouts((2,), np.int8).values.dtype == layouts((2,), "int8").values.dtype == np.int8
    with pytest.raises((TypeError, NotImplementedError), match="'bflot16'"):
        layouts((2,), "bflot16")


def test_types_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, kind in (("bfloat16", ml_dtypes.bfloat16), ("bf16", ml_dtypes.bfloat16), ("int4", ml_dtypes.int4),
                       ("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)):
        arrays = dict(layouts((2, 3), name))
        assert len(arrays) > 20 and all(x.dtype == kind for x in arrays.values())
        assert all(x.astype(np.float32)[0].tolist() == [0, 1, 2] for n, x in arrays.items() if "broadcast" not in n)


def test_what_lacks_ml_dtypes_is_named() -> None:
    code = """
import sys
sys.modules["ml_dtypes"] = None
from relayout.testing import layouts
for name in ("bfloat16", "float8_e4m3fn", "float6_e2m3fn"):
    try:
        layouts((2, 3), name)
    except NotImplementedError as error:
        print(name in str(error) and "ml_dtypes" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 3


def test_names_are_listed_when_one_is_wrong() -> None:
    with pytest.raises(ValueError, match="known are"):
        layouts((2, 3), layouts="odd")
    with pytest.raises(ValueError, match="'numpy', 'torch', 'jax'"):
        layouts((2, 3), framework="paper")


def test_values_can_be_cut_and_projected() -> None:
    values = Values.take(np.arange(12).reshape(3, 4))
    assert values.cut((2, 2)).contiguous().tolist() == [[0, 1], [4, 5]]
    assert values.project((0,)).contiguous().tolist() == [[0, 1, 2, 3]] * 3
    assert Recipe.plain(2).but(steps=(1, 2), offset=1).apply((2, 3)).strides == (6, 2)


def test_far_layouts_touch_no_memory() -> None:
    (_, plain), (name, array) = layouts((2, 3), "uint8", layouts="far")
    assert name == "far-1" and array.strides[0] > 2**31 and np.array_equal(plain, array)


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_strategies(framework: str) -> None:
    hypothesis = pytest.importorskip("hypothesis")
    pytest.importorskip(framework)
    from relayout.testing import strategies

    seen = set()

    @hypothesis.settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @hypothesis.given(strategies.arrays(shape=(3, 2, 4), framework=framework))
    def fixed(x: Any) -> None:
        assert tuple(x.shape) == (3, 2, 4)
        seen.add(x.stride() if framework == "torch" else getattr(x, "strides", str(getattr(x, "format", ""))))

    @hypothesis.settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @hypothesis.given(strategies.arrays(dtype="int32", framework=framework,
                                        elements=hypothesis.strategies.integers(5, 9)))
    def drawn(x: Any) -> None:
        assert x.ndim <= 4 and ((x >= 5) & (x <= 9)).all()

    fixed()
    drawn()
    assert len(seen) > (1 if framework == "jax" else 20)
    assert hypothesis.find(layouts((2, 3), framework=framework).strategy(), lambda x: True).shape == (2, 3)


def test_falsifying_examples_can_be_pasted() -> None:
    hypothesis = pytest.importorskip("hypothesis")
    from relayout.testing import strategies

    seen = {}

    @hypothesis.settings(database=None, deadline=None, derandomize=True)
    @hypothesis.given(x=strategies.arrays(shape=(2, 3), elements=hypothesis.strategies.integers(0, 9)))
    def fails(x: Any) -> None:
        seen["last"] = x
        assert x.strides[0] > 0 or x.sum() < 3

    with pytest.raises(AssertionError) as caught:
        fails()
    text = "\n".join(getattr(caught.value, "__notes__", []))
    pasted = re.search(r"x=(relayout\.testing\.strided_array\(.*\)),?\n", text)
    if pasted is None and sys.version_info < (3, 11):
        pytest.skip("this Python has no notes")
    assert pasted is not None, text
    again = eval(pasted[1], {"relayout": relayout})
    assert again.tolist() == seen["last"].tolist() and again.strides == seen["last"].strides


PLUGIN_TEST = '''
import numpy as np, pytest

def test_right(layout_invariant):
    assert layout_invariant(np.sum, np.ones((3, 4))) > 10

def test_wrong(layout_invariant):
    layout_invariant(lambda x: x.flags.c_contiguous, np.ones((3, 4)))

def test_seed(layout_invariant):
    assert layout_invariant.keywords["seed"] == 5

@pytest.mark.array_layouts((2, 3), dtype="float64", layouts=["negative", "sliced"])
def test_every(layout_array):
    assert layout_array.sum() == 15
'''


def test_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(PLUGIN_TEST)
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    command = [sys.executable, "-m", "pytest", "-p", "relayout.testing.pytest_plugin", "-v", "--strict-markers",
               "-p", "no:cacheprovider", "--layout-seed", "5", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 16 passed" in done.stdout, done.stdout + done.stderr
    assert "test_every[contiguous]" in done.stdout and "test_every[negative-1]" in done.stdout
    assert "the result depends on the layout of argument 0" in done.stdout


def test_the_plugin_imports_nothing_early() -> None:
    code = ("import sys, relayout.testing.pytest_plugin; "
            "print([name for name in ('torch', 'jax', 'hypothesis', 'relayout.testing.check') if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
