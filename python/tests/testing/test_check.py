"""What assert_layout_invariant does besides finding faults: arguments, results, exceptions and options of all kinds."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from typing import Any

import kernels
import numpy as np
import pytest

from relayout.testing import (ALL, LayoutDifference, LayoutError, NondeterministicError, assert_as_if_contiguous,
                              assert_layout_invariant)

X = np.arange(12.0).reshape(3, 4)
Pair = namedtuple("Pair", "left right")


def wrong_where_odd(x: np.ndarray) -> np.ndarray:
    return x + 1 if x.flags.c_contiguous else x + 2


def test_random_results_are_not_blamed_on_a_layout() -> None:
    with pytest.raises(NondeterministicError, match="different results for the same contiguous arguments"):
        assert_layout_invariant(lambda x: x + random.random(), X)


def test_state_that_changes_later_is_not_blamed_on_a_layout() -> None:
    calls = iter(range(1000))
    with pytest.raises(NondeterministicError):
        assert_layout_invariant(lambda x: x + (next(calls) > 5), X)


def test_what_contiguous_arrays_raise_passes_unchanged() -> None:
    error = KeyError("mine")

    def refuses(x: np.ndarray) -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        assert_layout_invariant(refuses, X)
    assert caught.value is error


def needs_contiguous(x: np.ndarray) -> float:
    if not x.flags.c_contiguous:
        raise TypeError("not contiguous")
    return float(x.sum())


def test_an_exception_in_a_layout_is_a_failure_unless_allowed() -> None:
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(needs_contiguous, X)
    assert caught.value.kind == "raised" and "TypeError: not contiguous" in str(caught.value)
    assert isinstance(caught.value.got, TypeError)
    # One "offset", five "misaligned" and one "foreign" are contiguous; the others are refused and do not count.
    assert assert_layout_invariant(needs_contiguous, X, allow_errors=(TypeError,)) == 7


def test_what_was_never_compared_does_not_count() -> None:
    def distinct(x: np.ndarray) -> float:
        if len(np.unique(x)) != x.size:
            raise ValueError("equal numbers")
        return float(x.sum())

    assert assert_layout_invariant(distinct, X, layouts="broadcast") == 0
    assert assert_layout_invariant(np.sum, X, layouts="broadcast") == 3
    assert assert_layout_invariant(np.sum, X, layouts="permuted") == 1
    assert assert_layout_invariant(np.sum, np.zeros((1, 1)), layouts="permuted") == 0  # contiguous all the same


def test_writable_memory_that_is_not_needed_is_noted() -> None:
    def fn(x: np.ndarray) -> int:
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return int(x[0, 0])

    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, X)
    assert caught.value.variant == "foreign"
    assert any("asks for memory that can be written" in note for note in caught.value.notes)
    names: dict[str, Any] = {}
    exec(caught.value.code, names)
    assert not names["args"][0].flags.writeable


def test_no_array_and_unknown_layouts() -> None:
    with pytest.raises(TypeError, match="no array"):
        assert_layout_invariant(len, [1, 2])
    with pytest.raises(ValueError, match="'diagonal'"):
        assert_layout_invariant(np.sum, X, layouts=["diagonal"])


def test_layouts_can_be_chosen() -> None:
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(wrong_where_odd, X, layouts=["negative"])
    assert caught.value.variant == "negative"
    assert assert_layout_invariant(wrong_where_odd, X, layouts="offset") == 1
    for name in ALL:
        assert_layout_invariant(np.add, X, X, layouts=name)


def test_containers_and_other_arguments() -> None:
    def fn(pair: Pair, more: dict[str, Any], how: str, axis: int | None = None, scale: Any = None) -> Any:
        assert how == "sum" and axis == 1 and type(pair) is Pair
        return {"a": [pair.left.sum(axis=axis), (pair.right * scale[0], None)], "b": more["list"][0].max()}

    args = (Pair(X, X[:, :2]), {"list": [X, 3, "text"]}, "sum")
    assert assert_layout_invariant(fn, *args, axis=1, scale=[np.float32(2.5)]) > 50


class Named(list):
    def __init__(self, name: str, items: Any) -> None:
        super().__init__(items)
        self.name = name


class Scaled(tuple):
    scale: float

    def __new__(cls, scale: float, *items: Any) -> Scaled:
        made = super().__new__(cls, items)
        made.scale = scale
        return made


class Filled(dict):
    """As Hugging Face's outputs of models: it has attributes, and refuses update()."""

    def __init__(self, size: int) -> None:
        self.size = size

    def update(self, *_: Any, **__: Any) -> None:
        raise TypeError("no update")


def containers() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Containers of all kinds with X in them, and what finds it there by what the class alone has."""
    filled = Filled(3)
    filled["x"] = X
    return {
        "defaultdict": (defaultdict(list, x=X), lambda c: c["x"] if c["missing"] == [] else None),
        "defaultdict without a factory": (defaultdict(None, x=X), lambda c: c["x"]),
        "OrderedDict": (OrderedDict(a=1, x=X), lambda c: c["x"] if c.move_to_end("a") is None else None),
        "namedtuple": (Pair(X, None), lambda c: c.left),
        "a list of the caller's": (Named("n", [X]), lambda c: c[0] if c.name == "n" else None),
        "a tuple of the caller's": (Scaled(2.0, X), lambda c: c[0] if c.scale == 2.0 else None),
        "a dict of the caller's": (filled, lambda c: c["x"] if c.size == 3 else None),
        "nested": ([{"c": defaultdict(int, x=(X,))}], lambda c: c[0]["c"]["x"][0]),
    }


@pytest.mark.parametrize("name", containers())
def test_containers_of_other_classes(name: str) -> None:
    container, find = containers()[name]
    assert assert_layout_invariant(lambda c: find(c).sum(axis=0), container) > 20
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(lambda c: wrong_where_odd(find(c)), container)
    assert caught.value.kind == "values"


@pytest.mark.parametrize("name", ["defaultdict", "defaultdict without a factory", "OrderedDict", "nested"])
def test_code_has_containers_of_other_classes(name: str) -> None:
    container, find = containers()[name]

    def fn(given: Any) -> Any:
        return wrong_where_odd(find(given))

    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, container)
    names: dict[str, Any] = {}
    exec(caught.value.code, names)
    assert type(names["args"][0]) is type(container)
    assert fn(*names["args"]).reshape(-1)[0] == caught.value.got
    assert not any("did not fail when they were tried" in note for note in caught.value.notes)


def test_results_and_sizes_of_torch_are_containers() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    best = torch.max(x, 1)  # a tuple of values and indices, of a class of PyTorch's own
    assert assert_layout_invariant(lambda one: (type(one).__name__, one.values.sum(), one.indices), best) > 5

    def fn(x: Any, size: Any) -> Any:
        return (x if x.is_contiguous() else x + 1).reshape(size)

    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, x, torch.Size([4, 3]))
    names: dict[str, Any] = {}
    exec(caught.value.code, names)
    assert type(names["args"][1]) is torch.Size


def test_code_has_containers_too() -> None:
    def fn(arrays: list[np.ndarray], axis: int, *, out: dict[str, np.ndarray]) -> Any:
        return arrays[0].sum(axis=axis), wrong_where_odd(out["w"])

    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, [X], 1, out={"w": X})
    error = caught.value
    assert error.argument == ("out",) and "argument out['w']" in str(error)
    names: dict[str, Any] = {}
    exec(error.code, names)
    assert names["args"][1] == 1 and set(names["kwargs"]) == {"out"}
    assert fn(*names["args"], **names["kwargs"])[1].reshape(-1)[0] == error.got


def test_objects_of_the_caller_are_left_to_be_filled_in() -> None:
    class Mine:
        pass

    def fn(mine: Mine, x: np.ndarray) -> np.ndarray:
        return wrong_where_odd(x)

    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, Mine(), X)
    assert "put your Mine here" in caught.value.code


def test_type_shape_and_structure_of_results_are_compared() -> None:
    odd: dict[str, Any] = {
        "type": lambda x: x if x.flags.c_contiguous else x.astype(np.float32),
        "shape": lambda x: x if x.flags.c_contiguous else x[:1],
    }
    for kind, fn in odd.items():
        with pytest.raises(LayoutError) as caught:
            assert_layout_invariant(fn, X)
        assert caught.value.kind == kind
    with pytest.raises(LayoutError, match="built as"):
        assert_layout_invariant(lambda x: [x] if x.flags.c_contiguous else (x,), X)
    with pytest.raises(LayoutError, match="'b', expected 'a'"):
        assert_layout_invariant(lambda x: "a" if x.flags.c_contiguous else "b", X)


def test_nan_and_infinity() -> None:
    y = X.copy()
    y[0, 0], y[1, 1], y[2, 2] = np.nan, np.inf, -np.inf
    assert_layout_invariant(lambda x: x * 2, y)


def test_tolerances() -> None:
    def fn(x: np.ndarray) -> np.ndarray:
        return x * (1 if x.flags.c_contiguous else 1 + 1e-4)

    with pytest.raises(LayoutError):
        assert_layout_invariant(fn, X)
    assert_layout_invariant(fn, X, rtol=1e-3)
    with pytest.raises(LayoutError):
        assert_layout_invariant(fn, X, rtol=1e-6, atol=0.0)
    assert_layout_invariant(fn, X.astype(np.float16))


def test_rounding_that_the_function_amplifies_is_no_failure() -> None:
    def normalize(x: np.ndarray) -> np.ndarray:
        mean = x.sum(dtype=np.float32) / np.float32(x.size)
        mean = mean if x.flags.c_contiguous else np.nextafter(mean, np.float32(np.inf))
        return (x - mean) / np.sqrt(x.var() + np.float32(1e-12))

    assert_layout_invariant(normalize, np.full((3, 4), 1.7, np.float32))


def test_integers_are_exact() -> None:
    def fn(x: np.ndarray) -> np.ndarray:
        return x + (0 if x.flags.c_contiguous else 1)

    with pytest.raises(LayoutError):
        assert_layout_invariant(fn, (X * 10**9).astype(np.int64), rtol=1.0, atol=0.0, layouts="padded")


def test_the_callers_arrays_are_not_touched() -> None:
    y = X.copy()
    assert_layout_invariant(lambda x: x.__imul__(2), y)
    assert (y == X).all()


def test_the_seed_decides_which_permutations_are_tried() -> None:
    def orders(seed: int) -> list[Any]:
        seen = []
        assert_layout_invariant(lambda x: seen.append(x.strides), np.zeros((2,) * 6), layouts="permuted", seed=seed)
        return seen

    assert orders(1) == orders(1) != orders(2)


def test_gradients_of_torch() -> None:
    torch = pytest.importorskip("torch")

    def fn(x: Any) -> None:
        (x * (1 if x.is_contiguous() else 2)).sum().backward()

    with pytest.raises(LayoutError, match="gradient of argument 0"):
        assert_layout_invariant(fn, torch.ones(3, 4, requires_grad=True))


def test_gradients_of_torch_that_are_missing() -> None:
    torch = pytest.importorskip("torch")

    def drops(x: Any) -> None:
        (x if x.is_contiguous() else x.detach().requires_grad_()).sum().backward()

    def adds(x: Any) -> None:
        (x.detach().requires_grad_() if x.is_contiguous() else x).sum().backward()

    for fn, text in ((drops, "gradient of argument 0 is None, expected an array of torch.float32"),
                     (adds, "gradient of argument 0 is an array of torch.float32, expected None")):
        with pytest.raises(LayoutError, match=text) as caught:
            assert_layout_invariant(fn, torch.ones(3, 4, requires_grad=True))
        names: dict[str, Any] = {}
        exec(caught.value.code, names)
        with pytest.raises(LayoutDifference, match=text):
            assert_as_if_contiguous(fn, *names["args"])


def test_gradients_that_the_callers_tensors_have() -> None:
    torch = pytest.importorskip("torch")

    def fn(x: Any) -> None:
        (x * x).sum().backward()

    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    for calls in (1, 2):  # a second call adds to the gradient of the first
        assert_as_if_contiguous(fn, x)
        assert torch.equal(x.grad, calls * 2 * x.detach())
    part = x[::2]  # its gradient is x's
    assert_as_if_contiguous(fn, part)
    assert x.grad[0, 1] == 6 and x.grad[1, 1] == 20


def test_torch_code_is_pasteable() -> None:
    torch = pytest.importorskip("torch")

    def fn(x: Any, dtype: Any) -> Any:
        return (x if x.is_contiguous() else x + 1).to(dtype)

    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        with pytest.raises(LayoutError) as caught:
            assert_layout_invariant(fn, x, torch.complex64)
        names: dict[str, Any] = {}
        exec(caught.value.code, names)
        result = fn(*names["args"], **names["kwargs"]).numpy()
        assert result[caught.value.index] == caught.value.got


def test_jax_layouts_are_named() -> None:
    jax = pytest.importorskip("jax")

    def fn(x: Any) -> Any:
        is_plain = not hasattr(x, "format") or x.format.layout.major_to_minor == (0, 1)
        return x if is_plain else np.asarray(x).T.reshape(x.shape)

    x = jax.numpy.arange(12.0).reshape(3, 4)
    if not hasattr(x, "format"):
        pytest.skip("this JAX does not tell layouts")
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(fn, x)
    assert caught.value.explanation == "argument 0 is read as if it were row-major (contiguous)"
    names: dict[str, Any] = {}
    exec(caught.value.code, names)
    assert np.asarray(fn(*names["args"]))[caught.value.index] == caught.value.got


def test_jax_arguments_may_be_given_away() -> None:
    jax = pytest.importorskip("jax")
    assert assert_layout_invariant(jax.jit(lambda x: x + 1, donate_argnums=0), jax.numpy.ones((3, 4))) >= 1


def test_large_arrays_and_many_dims() -> None:
    assert_layout_invariant(np.sum, np.zeros((300, 400), np.float32), axis=0)
    assert_layout_invariant(lambda x: x + 1, np.arange(64.0).reshape((2,) * 6))


def test_message_says_everything() -> None:
    with pytest.raises(LayoutError) as caught:
        assert_layout_invariant(kernels.last_stride_one, X.astype(np.float32))
    text = str(caught.value)
    for words in ("the result depends on the layout of argument 0",
                  "explanation: argument 0 is read as if stride[-1] were 1",
                  "elements of the result are wrong, first at [", "np.ndarray(", "fn(*args, **kwargs)", "first seen"):
        assert words in text
