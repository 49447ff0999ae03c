"""relayout.permute_gates: gates of recurrent weights in another order, on arrays of any strides."""
import numpy as np
import pytest
import relayout
from relayout import interop

W = np.arange(2 * 24 * 5, dtype=np.float32).reshape(2, 24, 5)  # ONNX: directions, 4 * hidden, input


def by_hand(x, order, to, dim):
    """Gate by gate, by NumPy alone."""
    parts = np.split(x, len(order), axis=dim)
    return np.concatenate([parts[order.index(gate)] for gate in to], axis=dim)


def test_gates_and_outputs_as_one_axis():
    made = relayout.permute_gates(W, "iofc", "ifco", 1)
    assert type(made) is np.ndarray and made.dtype == W.dtype and made.shape == W.shape
    assert (made == by_hand(W, "iofc", "ifco", 1)).all()
    assert (relayout.permute_gates(made, "ifco", "iofc", dim=-2) == W).all()


@pytest.mark.parametrize("order, to", [("zrh", "rzh"), ("zrh", "hrz"), ("iofc", "ifco"), ("a", "a"), ("αβ", "βα")])
def test_views_in_any_order_of_memory(order, to):
    count = len(order)
    x = np.arange(3 * count * 4 * 2, dtype=np.int16).reshape(3, count * 4, 2)
    if not order.isascii():  # a gate is one byte of the text
        with pytest.raises(relayout.InvalidArgumentError):
            relayout.permute_gates(x, order, to, 1)
        return
    for dim, view in ((1, x), (1, x[::-1]), (0, x.transpose(1, 0, 2)), (2, x.transpose(2, 0, 1)), (1, x[:, ::-1])):
        want = by_hand(view, order, to, dim)
        assert (relayout.permute_gates(view, order, to, dim) == want).all()
        out = np.zeros(view.shape[::-1], view.dtype).T
        assert relayout.permute_gates(view, order, to, dim, out=out) is out
        assert (out == want).all()


def test_an_axis_of_gates_alone():
    x = np.arange(4 * 6, dtype=np.float64).reshape(1, 1, 1, 4, 6)  # ldigo
    assert (relayout.permute_gates(x, "iofc", "ifco", 3) == x[:, :, :, [0, 2, 3, 1]]).all()


def test_pytorch():
    torch = pytest.importorskip("torch")
    made = relayout.permute_gates(torch.from_numpy(W.copy()), "iofc", "ifco", 1)
    assert type(made) is torch.Tensor and (made.numpy() == by_hand(W, "iofc", "ifco", 1)).all()


def test_errors_name_the_argument():
    for call, field in ((lambda: relayout.permute_gates(W, "iofc", "ifcx", 1), "gates"),
                        (lambda: relayout.permute_gates(W, "iofc", "ifc", 1), "gates"),
                        (lambda: relayout.permute_gates(W, "iofc", "ifco", 3), "dim"),
                        (lambda: relayout.permute_gates(W, "iofc", "ifco", 2), "dims[2]"),
                        (lambda: relayout.permute_gates(W, "iofc", "ifco", 1, out=np.zeros((2, 24), "f4")), "out")):
        with pytest.raises(relayout.InvalidArgumentError) as caught:
            call()
        assert caught.value.field == field


def test_a_destination_that_shares_memory():
    x = W.copy()
    wider = np.zeros((3, 24, 5), np.float32)
    wider[:2] = W
    for array, out in ((x, x), (x, x[:, ::-1]), (wider[:2], wider[1:])):
        before = array.copy()
        with pytest.raises(relayout.OverlapError) as caught:
            relayout.permute_gates(array, "iofc", "ifco", 1, out=out)
        assert caught.value.field == "out" and (array == before).all()
    both = np.zeros((2, 24, 5, 2), np.float32)  # neighbours in memory without a common element
    both[..., 0] = W
    relayout.permute_gates(both[..., 0], "iofc", "ifco", 1, out=both[..., 1])
    assert (both[..., 0] == W).all() and (both[..., 1] == by_hand(W, "iofc", "ifco", 1)).all()


def test_a_tensor_of_pytorch_that_shares_memory():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(W.copy())
    for out in (x, x.numpy()):
        with pytest.raises(relayout.OverlapError):
            relayout.permute_gates(x, "iofc", "ifco", 1, out=out)
    assert (x.numpy() == W).all()


def test_layouts_of_each_gate():
    assert interop.gate_places("zrh", "rzh") == (1, 0, 2)
    src, dst = relayout.layout("ldgoi", (1, 1, 5, 4, 6)), relayout.layout("ldigo", (1, 1, 5, 4, 6))
    moves = interop.gate_moves(src, dst, 3, "iofc", "ifco")
    assert len(moves) == 4
    for gate, (one, other) in enumerate(moves):
        assert one.dims == other.dims == (1, 1, 5, 1, 6)
        place = "iofc".index("ifco"[gate])
        assert one.offset(0, 0, 2, 0, 3) == src.offset(0, 0, 2, place, 3)
        assert other.offset(0, 0, 2, 0, 3) == dst.offset(0, 0, 2, gate, 3)


def test_arrays_of_frameworks_under_layouts_of_gates():
    """ONNX's (directions, 4 * hidden, input) and Keras's (input, 4 * units) are read where the gates are known."""
    w = W[:1]
    made = relayout.convert(w, "ldgoi", "ldigo", dims=(1, 1, 5, 4, 6))
    assert made.shape == (1, 1, 5, 4, 6) and (made[0, 0] == w.reshape(4, 6, 5).transpose(2, 0, 1)).all()
    kernel = np.ascontiguousarray(w[0].T)
    again = relayout.convert(kernel, "ldigo;gates:zrho->zrho", "ldigo")
    assert (again[0, 0] == kernel.reshape(5, 4, 6)).all()
    with pytest.raises(relayout.InvalidArgumentError, match="1,1,5,4,6 of an LSTM, 1,1,5,3,8 of a GRU"):
        relayout.convert(w, "ldgoi", "ldigo")
