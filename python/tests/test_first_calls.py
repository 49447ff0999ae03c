"""What may go wrong at the first call of a process, or once in its life: threads that come at once, refused arrays."""
import subprocess
import sys

import numpy as np
import pytest
import relayout

FIRST_CALLS = """
import threading, numpy as np, relayout
barrier = threading.Barrier(8)
def call():
    barrier.wait()
    relayout.contiguous(np.zeros((4, 5)).T)
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


def test_first_calls_of_several_threads_do_not_wait_for_each_other():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, timeout=300)
        assert done.stdout == "done\n", done.stderr


def test_a_refused_array_is_not_kept():
    many = np.zeros((1,) * 13)
    before = sys.getrefcount(many)
    for _ in range(5):
        with pytest.raises(relayout.LimitError):
            relayout.contiguous(many, copy=True)
    assert sys.getrefcount(many) == before


def test_one_nibble_is_always_the_same_byte():
    for _ in range(20):
        got = relayout.convert(np.float32([3]), "a", "a", dtype="s4")
        assert got.tolist() == [3]


def test_orders_are_whole_letters():
    for order in ("\u0146", "\u0143"):
        with pytest.raises(relayout.Error):
            relayout.contiguous(np.zeros((2, 3)), order)


def test_numpys_codes_without_a_mark_are_no_names():
    for code in ("f8", "i8", "f4", "i4"):
        with pytest.raises(relayout.ParseError, match="NumPy"):
            relayout.empty((2,), code)


def test_fields_of_onednn_that_do_not_fit_together():
    for fields in ({"dims": (2, 17)}, {"dims": (8, 16), "strides": (128, 8), "inner_blks": (8,)}):
        with pytest.raises(relayout.InvalidArgumentError):
            relayout.interop.from_onednn(fields)


def test_a_matrix_gets_the_dims_of_the_pattern():
    got = relayout.rearrange("a b -> b a 1", np.matrix([[1, 2], [3, 4]]))
    assert got.shape == (2, 2, 1) and got[..., 0].tolist() == [[1, 3], [2, 4]]


def test_patterns_take_memory_of_any_kind():
    assert relayout.rearrange("a b -> b a", memoryview(np.ones((3, 4)))).shape == (4, 3)
    assert relayout.rearrange("(a b) -> b a", bytearray(b"abcdef"), a=2).tobytes() == b"adbecf"


def test_jax_is_not_copied_without_being_asked():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(6.0).reshape(2, 3)
    with pytest.raises(relayout.NeedsCopyError):
        relayout.rearrange("a b -> b a", x, copy=False)
    assert relayout.rearrange("a b -> a b", x, copy=False) is x
    got = relayout.rearrange("a b -> b a", x)
    assert isinstance(got, jax.Array) and np.array_equal(np.asarray(got), np.asarray(x).T)


def test_pytorch_knows_what_was_written():
    torch = pytest.importorskip("torch")
    if not hasattr(torch.autograd.graph, "increment_version"):
        pytest.skip("PyTorch before 2.1")
    w, o = torch.ones(3, requires_grad=True), torch.ones(3)
    y = (w * o).sum()
    relayout.copy(o, torch.zeros(3))
    with pytest.raises(RuntimeError, match="inplace"):
        y.backward()
