"""contiguous() and copy() of elements of any size, against NumPy."""
import numpy as np
import pytest
import relayout


@pytest.mark.parametrize("item", [1, 2, 3, 4, 8, 16, 24])
def test_elements_of_any_size_in_as_many_dims_as_there_can_be(item):
    rng = np.random.default_rng(item)
    x = np.frombuffer(rng.bytes(2**12 * 3 * item), f"V{item}").reshape((2,) * 11 + (6,))[..., ::2]
    moved = x.transpose(11, 3, 0, 7, 2, 10, 9, 1, 4, 5, 8, 6)
    assert relayout.contiguous(moved).tobytes() == moved.tobytes()
    out = np.zeros_like(x)
    relayout.copy(out, x)
    assert out.tobytes() == x.tobytes()
