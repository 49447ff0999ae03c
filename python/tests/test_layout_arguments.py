"""Layouts as arguments of convert(): they mean what their expressions do."""
import numpy as np
import pytest
import relayout

DIMS = (2, 3, 4, 5)
X = np.arange(120, dtype=np.float32).reshape(DIMS)


@pytest.mark.parametrize("src, dst", [("nchw", "nhwc"), ("nhwc", "nChw8c"), ("nChw4c", "nchw"),
                                      ("abcd", "strides:60,20,5,1"),
                                      ("nchw", "nchw@4"), ("nchw", "nh|Cw4c"), ("nchw", "nhwc.flip(1)")])
def test_the_result_is_that_of_the_expression(src, dst):
    x = relayout.convert(X, "nchw", src)
    want = relayout.convert(x, src, dst, dims=DIMS)
    for a in (src, relayout.layout(src, DIMS)):
        for b in (dst, relayout.layout(dst, DIMS)):
            made = relayout.convert(x, a, b, dims=DIMS)
            assert made.shape == want.shape and (made == want).all(), (a, b)


def test_equal_layouts_of_other_expressions_give_other_shapes():
    x = np.zeros((2, 3, 1, 1), np.float32)
    nchw, nhwc = relayout.layout("nchw", x.shape), relayout.layout("nhwc", x.shape)
    assert nchw == nhwc
    assert relayout.convert(x, nchw, nchw).shape == (2, 3, 1, 1)
    assert relayout.convert(x, nchw, nhwc).shape == (2, 1, 1, 3)


def test_equal_layouts_of_other_dims_before_their_views_give_other_shapes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for rows in (4, 5, 4):
        side = relayout.layout("ab.narrow(0,0,2)", (rows, 3))
        assert side == relayout.layout("ab", (2, 3))
        made = relayout.convert(x, "ab", side)
        assert made.shape == (rows, 3) and (made[:2] == x).all() and not made[2:].any()
        whole = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        assert (relayout.convert(whole, side, "ab") == whole[:2]).all()


def test_views_have_the_name_of_their_domain():
    view = relayout.layout("nchw", DIMS).permute(0, 2, 3, 1).permute(0, 3, 1, 2)
    assert repr(view) == "relayout.layout('nchw', (2, 3, 4, 5))"
    last = relayout.layout("nhwc", DIMS)
    assert last[:].expression == "nhwc" and last[:].names == "nchw"
    assert last.aliases[0] == "nhwc" and "ohwi" in last.aliases
    assert relayout.layout_of(X.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)).aliases[0] == "nhwc"
    assert relayout.convert(X, relayout.layout("nchw", DIMS), last[:]).shape == (2, 4, 5, 3)


def test_an_array_under_the_layout_that_it_has():
    for view in (X, X.transpose(0, 2, 3, 1), X[:, ::-1], X[::-1, 1:, :, ::2]):
        letters = "abcd"
        made = relayout.convert(view, relayout.layout_of(view), letters)
        assert made.shape == view.shape and (made == view).all()


def test_lists_of_channels_follow_the_names_of_a_layout():
    made = relayout.convert(X, relayout.layout("nchw", DIMS), relayout.layout("nhwc", DIMS), scale=[1, 2, 3])
    assert (made == X.transpose(0, 2, 3, 1) * np.array([1, 2, 3], np.float32)).all()


def test_tiled_scalars():
    scalar = relayout.layout("xla:[]{:T(128)}")
    assert scalar.dims == () and scalar.elements == 1 and scalar.span_elements == 128 and scalar.padded
    assert relayout.interop.to_xla(scalar) == "f32[]{:T(128)}"
    assert relayout.interop.from_xla("f32[]{:T(128)}") == (scalar, "f32")
    assert repr(scalar) == "relayout.layout('xla:[]{:T(128)}', ())" and eval(repr(scalar)) == scalar
    made = relayout.convert(np.array([7], np.float32), relayout.layout("strides:", ()), scalar, padding=-1)
    assert made.shape == (128,) and made[0] == 7 and (made[1:] == -1).all()
    assert relayout.convert(made, scalar, relayout.layout("strides:", ())).tolist() == [7]
