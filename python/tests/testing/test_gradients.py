"""Gradients: a backward pass that misreads memory is found, also where the function under test does not run it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from faults_torch import rows_of

from relayout.testing import LayoutDifference, LayoutError, assert_as_if_contiguous, assert_layout_invariant

torch = pytest.importorskip("torch")


def square(backward: Any) -> Any:
    """A function whose result is x * x, and whose backward pass is `backward(x, gradient)`."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return backward(ctx.saved_tensors[0], gradient)

    return Square.apply


def misreads_x(x: Any, gradient: Any) -> Any:
    return 2 * rows_of(x) * gradient


def misreads_the_gradient(x: Any, gradient: Any) -> Any:
    return 2 * x * rows_of(gradient)


def raises_for_odd_layouts(x: Any, gradient: Any) -> Any:
    if not x.is_contiguous():
        raise NotImplementedError("not contiguous")
    return 2 * x * gradient


def square_misreads_x(x: Any) -> Any:
    return square(misreads_x)(x)


def square_misreads_the_gradient(x: Any) -> Any:
    return square(misreads_the_gradient)(x)


def needs_gradients(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape).requires_grad_()


def test_a_backward_pass_that_misreads_an_argument() -> None:
    with pytest.raises(LayoutError, match="the gradient of argument 0") as caught:
        assert_layout_invariant(square_misreads_x, needs_gradients(3, 4))
    assert caught.value.kind == "values" and caught.value.argument == (0,)
    assert caught.value.explanation == "only the backward pass depends on the layout; the result itself is right"
    assert not any("did not fail" in note for note in caught.value.notes)
    with pytest.raises(LayoutDifference, match="the gradient of argument 0"):
        exec(caught.value.script, {})


def test_a_backward_pass_that_misreads_the_gradient_of_the_result() -> None:
    with pytest.raises(LayoutError, match="gradient is not contiguous") as caught:
        assert_layout_invariant(square_misreads_the_gradient, needs_gradients(3, 4))
    assert caught.value.variant == "" and "the result's gradient" in caught.value.explanation
    with pytest.raises(LayoutDifference, match="gradient is not contiguous"):
        exec(caught.value.script, {})


def test_a_backward_pass_that_raises_for_a_layout() -> None:
    fn = square(raises_for_odd_layouts)
    with pytest.raises(LayoutError, match="the backward pass raises NotImplementedError: not contiguous") as caught:
        assert_layout_invariant(fn, needs_gradients(3, 4))
    assert caught.value.kind == "raised"
    assert assert_layout_invariant(fn, needs_gradients(3, 4), allow_errors=(NotImplementedError,)) > 0


def test_right_backward_passes() -> None:
    x, y = needs_gradients(3, 4), needs_gradients(4, 2)
    assert assert_layout_invariant(square(lambda x, gradient: 2 * x * gradient), x) > 10
    assert assert_layout_invariant(torch.matmul, x, y) > 20
    assert assert_layout_invariant(lambda x: {"sums": [x.sum(), x.sum(0)], "none": None}, x) > 10
    assert assert_layout_invariant(lambda x, y: x.exp(), x, y) > 10  # nothing depends on y
    assert assert_layout_invariant(lambda x: (x * 1j).abs(), x + 1) > 10  # no leaf of the graph
    assert assert_layout_invariant(lambda x: x.detach() * 2, x) > 10
    assert x.grad is None and y.grad is None
    for given in (x, x.T):
        assert_as_if_contiguous(lambda x: x.cumsum(0), given)


def test_a_misread_argument_that_needs_no_gradient() -> None:
    """That of another one depends on it in the backward pass alone."""

    def product(x: Any, y: Any) -> Any:
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_backward(y)
                return x * y

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient * rows_of(ctx.saved_tensors[0]), None

        return Product.apply(x, y)

    with pytest.raises(LayoutError, match="the gradient of argument 0") as caught:
        assert_layout_invariant(product, needs_gradients(3, 4), torch.arange(12.0).reshape(3, 4))
    assert caught.value.argument == (1,)


def test_functions_that_go_backward_themselves() -> None:
    def right(x: Any) -> Any:
        loss = (x * x).sum()
        loss.backward()
        return loss

    def wrong(x: Any) -> Any:
        loss = square_misreads_x(x).sum()
        loss.backward()
        return loss

    assert assert_layout_invariant(right, needs_gradients(3, 4)) > 10
    with pytest.raises(LayoutError, match="the gradient of argument 0"):
        assert_layout_invariant(wrong, needs_gradients(3, 4))


def test_functions_without_a_backward_pass() -> None:
    def refuses(x: Any, gradient: Any) -> Any:
        raise NotImplementedError("no backward pass")

    assert assert_layout_invariant(square(refuses), needs_gradients(3, 4)) > 10
    with torch.no_grad():
        assert assert_layout_invariant(square_misreads_x, needs_gradients(3, 4)) > 10
    assert assert_layout_invariant(square_misreads_x, torch.arange(12.0).reshape(3, 4)) > 10  # which needs none
