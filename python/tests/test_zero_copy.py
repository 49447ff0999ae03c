"""Nothing is copied where nothing has to move, which addresses prove; and every array comes back in its own class.

Also what is refused (masked arrays, objects, tensors of other devices), and DLPack's capsules, old and new.
"""
import ctypes
import sys

import numpy as np
import pytest
import relayout

try:
    import jax
except ImportError:
    jax = None
try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not there")
needs_jax = pytest.mark.skipif(jax is None, reason="JAX is not there")


def address(x):
    if torch is not None and isinstance(x, torch.Tensor):
        return x.data_ptr()
    if jax is not None and isinstance(x, jax.Array):
        return x.unsafe_buffer_pointer()
    return x.__array_interface__["data"][0]


# ---- x itself ----


@pytest.mark.parametrize("x", [np.zeros((3, 4)), np.zeros(()), np.zeros((0, 3)), np.zeros((1, 5, 1), "f2"),
                               np.zeros(3, "V0"), np.broadcast_to(np.float32(1), (1, 1)), np.zeros((2, 3), ">i4")])
def test_contiguous_of_contiguous_is_itself(x):
    assert relayout.contiguous(x) is x
    assert relayout.contiguous(x, copy=False) is x
    assert relayout.contiguous(x, "K", copy=False) is x
    copied = relayout.contiguous(x, copy=True)
    assert copied is not x and copied.tobytes() == x.tobytes()


def test_orders_that_are_there():
    x = np.zeros((2, 3, 4, 5)).transpose(0, 3, 1, 2)
    for order in ("K", "channels_last", "nhwc", (0, 2, 3, 1), [0, 2, 3, 1]):
        assert relayout.contiguous(x, order) is x
        assert relayout.contiguous(x, order, copy=False) is x
    with pytest.raises(relayout.NeedsCopyError):
        relayout.contiguous(x, copy=False)
    with pytest.raises(relayout.NeedsCopyError):
        relayout.contiguous(x, "nchw", copy=False)
    with pytest.raises(relayout.NeedsCopyError):
        relayout.contiguous(x, "F", copy=False)


def test_transpose_shares_what_it_can():
    x = np.zeros((3, 4)).T
    y = relayout.transpose(x)
    assert address(y) == address(x) and y.flags.c_contiguous
    assert address(relayout.transpose(x, copy=False)) == address(x)
    with pytest.raises(relayout.NeedsCopyError):
        relayout.transpose(np.zeros((3, 4)), copy=False)
    assert address(relayout.transpose(x, copy=True)) != address(x)


def test_convert_writes_into_out():
    x = np.arange(24.0, dtype="f4").reshape(2, 3, 4)
    out = np.empty((4, 2, 3), "f4")
    assert relayout.convert(x, "abc", "cab", out=out) is out
    assert np.array_equal(out, x.transpose(2, 0, 1))
    with pytest.raises(relayout.OverlapError):
        relayout.convert(x, "abc", "cab", out=x.reshape(4, 2, 3))


def test_reorder_in_place_returns_the_same_memory():
    x = np.arange(12).reshape(3, 4)
    expected = x.T.copy()
    y = relayout.reorder_in_place(x, "ab", "ba")
    assert address(y) == address(x) and np.array_equal(y, expected)


# ---- Classes of arrays ----


class Named(np.ndarray):
    """A class of a user's own."""


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of numpy.matrix
def test_subclasses_come_back(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 4))
    for x in (mapped, np.matrix(np.eye(3, 4)), np.eye(3, 4).view(Named), np.rec.array(np.zeros((2, 3), "f4,i4"))):
        y = relayout.contiguous(x.T)
        assert type(y) is type(x) and np.asarray(y).tobytes() == np.asarray(x).T.tobytes()
        assert type(relayout.contiguous(x, "F")) is type(x)
        assert relayout.contiguous(x) is x
        assert type(relayout.transpose(x)) is type(x)
    filled = np.memmap(tmp_path / "x", np.float32, "r+", shape=(3, 4))
    filled[:] = np.arange(12).reshape(3, 4)
    relayout.reorder_in_place(filled, "ab", "ba")
    filled.flush()
    assert np.array_equal(np.fromfile(tmp_path / "x", np.float32), np.arange(12).reshape(3, 4).T.ravel())
    as_matrix = np.matrix(np.arange(12.0).reshape(3, 4))
    blocked = relayout.reorder_in_place(as_matrix, "ab", "Ab3a")
    assert blocked.shape == (1, 4, 3)


@pytest.mark.parametrize("order", ["C", "F", "K", "ab", (1, 0)])
def test_masked_and_object_arrays_are_refused(order):
    for x in (np.ma.masked_array(np.eye(3), np.eye(3) > 0), np.array([[None, 1], [2, 3]], object),
              np.zeros((2, 2), [("a", object)])):
        for copy in (None, True, False):
            with pytest.raises(relayout.UnsupportedError):
                relayout.contiguous(x, order, copy=copy)
        with pytest.raises(relayout.UnsupportedError):
            relayout.copy(x, x)
        with pytest.raises(relayout.UnsupportedError):
            relayout.transpose(x)


def test_scalars_and_bytes():
    assert relayout.contiguous(np.zeros(())).shape == ()
    for x in (b"abc", bytearray(b"abc"), memoryview(b"abc")):
        seen = relayout.contiguous(x)
        assert isinstance(seen, np.ndarray) and np.shares_memory(seen, np.frombuffer(x, np.uint8))
        assert relayout.contiguous(x, copy=True).tobytes() == b"abc"
    destination = bytearray(3)
    relayout.copy(destination, b"xyz")
    assert destination == b"xyz"
    assert relayout.contiguous(np.float32(3), copy=True) == 3


# ---- Read-only memory ----


def test_read_only_is_respected(tmp_path):
    x = np.arange(6.0)
    x.flags.writeable = False
    for change in (lambda: relayout.copy(x, np.zeros(6)), lambda: relayout.copy(x, np.zeros(6, "f4")),
                   lambda: relayout.reorder_in_place(x, "a", "a"),
                   lambda: relayout.convert(np.zeros(6), "a", "a", out=x),
                   lambda: relayout.transpose(np.zeros(6), out=x),
                   lambda: relayout.copy(b"abc", b"xyz"),
                   lambda: relayout.copy(x[::-1], np.zeros(6))):
        with pytest.raises(relayout.InvalidArgumentError):
            change()
    assert np.array_equal(x, np.arange(6.0))
    assert relayout.contiguous(x[::-1]).flags.writeable
    np.save(tmp_path / "x.npy", np.arange(6.0))
    loaded = relayout.load(tmp_path / "x.npy")
    assert not loaded.flags.writeable
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.copy(loaded, np.zeros(6))
    with pytest.raises(ValueError):
        loaded[0] = 1


def test_load_maps(tmp_path):
    """Two arrays of one open file lie in the same pages."""
    np.save(tmp_path / "x.npy", np.arange(1000.0))
    file = relayout.open(tmp_path / "x.npy")
    first, second = file[""].array(), file[""].array()
    assert address(first) == address(second) and np.array_equal(first, np.arange(1000.0))
    page = [line for line in open("/proc/self/maps") if "x.npy" in line]
    low, high = (int(end, 16) for end in page[0].split()[0].split("-"))
    assert low <= address(first) < high


# ---- Buffers and DLPack ----


def test_buffer_and_numpy_share():
    buffer = relayout.Buffer.allocate(relayout.layout("ba", (3, 4)), "f32")
    array = np.asarray(buffer)
    assert address(array) == address(buffer) and address(buffer) % 64 == 0
    assert array.strides == (4, 12) and array.shape == (3, 4) == buffer.shape
    array[...] = np.arange(12).reshape(3, 4)
    again = np.from_dlpack(buffer)
    assert address(again) == address(array) and np.array_equal(again, array)
    back = relayout.Buffer.from_dlpack(array)
    assert address(back) == address(array) and back.layout == buffer.layout and back.dtype == "f32"
    ready = relayout.contiguous(buffer)
    assert isinstance(ready, relayout.Buffer) and np.array_equal(np.asarray(ready), array)
    assert relayout.contiguous(ready) is ready
    assert relayout.layout_of(buffer) == buffer.layout


def test_buffers_with_blocks():
    """Their strides say nothing; their layout is what moves them."""
    layout = relayout.layout("nChw16c", (2, 17, 5, 4))
    x = np.arange(2 * 17 * 5 * 4, dtype="f4").reshape(2, 17, 5, 4)
    blocked, plain = relayout.Buffer.allocate(layout, "f32"), relayout.Buffer.allocate(relayout.layout("nchw",
                                                                                                       x.shape), "f32")
    np.asarray(plain)[...] = x
    relayout.copy(blocked, plain)
    assert np.array_equal(np.asarray(relayout.contiguous(blocked)), x)
    with pytest.raises(relayout.UnsupportedError):
        np.asarray(blocked)
    with pytest.raises(relayout.UnsupportedError):
        blocked.__dlpack__()
    conversion = relayout.plan_conversion(np.zeros(17, "f4"), "a", "a")
    with pytest.raises(relayout.UnsupportedError):
        conversion.run(blocked, np.zeros(17, "f4"))
    nibbles = relayout.Buffer.allocate(relayout.layout("ba", (4, 6)), "s4")
    assert relayout.contiguous(nibbles).layout == relayout.layout("ab", (4, 6))


def test_dlpack_protocol():
    x = np.arange(6.0).reshape(2, 3)
    buffer = relayout.Buffer.from_dlpack(x)
    assert buffer.__dlpack_device__() == (1, 0)
    assert '"dltensor_versioned"' in repr(buffer.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(buffer.__dlpack__()) and '"dltensor"' in repr(buffer.__dlpack__(max_version=(0, 8)))
    assert address(np.from_dlpack(Capsule(buffer.__dlpack__()))) == address(x)
    assert address(np.from_dlpack(Capsule(buffer.__dlpack__(copy=True)))) != address(x)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert address(np.from_dlpack(Capsule(buffer.__dlpack__(max_version=(1, 0))))) == address(x)
    for wrong in ({"dl_device": (2, 0)}, {"stream": 1}):
        with pytest.raises(BufferError):
            buffer.__dlpack__(**wrong)
    for wrong in ((), "x", 1.5, ("a", "b")):
        with pytest.raises(TypeError):
            buffer.__dlpack__(max_version=wrong)


class Capsule:
    """An object that gives one capsule, once or often."""
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **ignored):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Legacy:
    """An exporter from before DLPack 1.0, which takes no max_version."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return relayout.Buffer.from_dlpack(self.array).__dlpack__()
    def __dlpack_device__(self):
        return 1, 0


def test_old_exporters_and_used_capsules():
    x = np.arange(6.0)
    buffer = relayout.Buffer.from_dlpack(Legacy(x))
    assert address(buffer) == address(x) and not buffer.read_only
    used = Capsule(relayout.Buffer.from_dlpack(x).__dlpack__(max_version=(1, 0)))
    assert address(relayout.Buffer.from_dlpack(used)) == address(x)
    for take in (relayout.Buffer.from_dlpack, relayout.contiguous, np.from_dlpack):
        with pytest.raises((TypeError, ValueError)):
            take(used)
    y = relayout.contiguous(Legacy(x))
    assert isinstance(y, np.ndarray) and address(y) == address(x)


def test_read_only_capsules():
    x = np.arange(6.0)
    buffer = read_only_buffer(x)
    assert buffer.read_only and not np.asarray(buffer).flags.writeable
    with pytest.raises(BufferError):
        buffer.__dlpack__()
    assert relayout.Buffer.from_dlpack(buffer).read_only
    assert not relayout.Buffer.from_dlpack(Capsule(buffer.__dlpack__(copy=True))).read_only
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.copy(buffer, np.zeros(6))


def read_only_buffer(x):
    """A versioned capsule whose flag says that it is read-only."""
    capsule = relayout.Buffer.from_dlpack(np.array(x)).__dlpack__(max_version=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    managed = pointer(capsule, b"dltensor_versioned")
    # version (2 * 4 bytes), manager_ctx, deleter, flags
    ctypes.c_uint64.from_address(managed + 24).value |= 1
    return relayout.Buffer.from_dlpack(Capsule(capsule))


class OnGpu(Capsule):
    def __dlpack_device__(self):
        return 2, 0


def gpu_capsule():
    capsule = relayout.Buffer.from_dlpack(np.arange(6.0)).__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = pointer(capsule, b"dltensor")
    ctypes.c_int32.from_address(tensor + 8).value = 2  # data, device_type
    return capsule


def test_other_devices_are_refused():
    for take in (relayout.Buffer.from_dlpack, relayout.contiguous, lambda x: relayout.convert(x, "a", "a")):
        with pytest.raises(relayout.UnsupportedError, match="CUDA"):
            take(OnGpu(gpu_capsule()))


# ---- PyTorch ----


@needs_torch
def test_torch_shares_and_comes_back():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert relayout.contiguous(x) is x and relayout.contiguous(x, copy=False) is x
    y = relayout.contiguous(x.permute(2, 0, 1))
    assert type(y) is torch.Tensor and torch.equal(y, x.permute(2, 0, 1))
    assert address(relayout.Buffer.from_dlpack(x)) == address(x)
    assert address(torch.from_dlpack(relayout.Buffer.from_dlpack(x))) == address(x)
    out = np.zeros((4, 2, 3), "f4")
    relayout.copy(out, x.permute(2, 0, 1))
    assert np.array_equal(out, x.numpy().transpose(2, 0, 1))
    relayout.copy(x, np.ones((2, 3, 4), "f4"))
    assert torch.all(x == 1)
    blocked = relayout.convert(x, "abc", "Abc4a", dtype="bf16" if hasattr(torch, "bfloat16") else None)
    assert type(blocked) is torch.Tensor and blocked.dtype == torch.bfloat16 and blocked.shape == (1, 3, 4, 4)
    assert type(relayout.empty((2, 3), "f16", like=x)) is torch.Tensor
    with pytest.raises(relayout.NeedsCopyError):
        relayout.contiguous(x.permute(2, 0, 1), copy=False)


@needs_torch
@pytest.mark.parametrize("order", ["C", "F", "K", "ab"])
def test_torch_tensors_that_are_refused(order):
    needs_gradient = torch.zeros(3, 4, requires_grad=True)
    conjugated = torch.zeros(3, 4, dtype=torch.complex64).conj()
    negated = torch.zeros(3, 4, dtype=torch.complex64).conj().imag
    for x in (needs_gradient, conjugated, negated):
        with pytest.raises(relayout.InvalidArgumentError):
            relayout.contiguous(x, order)
        with pytest.raises(relayout.InvalidArgumentError):
            relayout.copy(torch.zeros(3, 4, dtype=x.dtype), x)
    with torch.no_grad():
        assert relayout.contiguous(needs_gradient.detach()).shape == (3, 4)
    for x in (torch.zeros(3, 4, device="meta"), torch.zeros(3, 4).to_sparse()):
        with pytest.raises(relayout.UnsupportedError):
            relayout.contiguous(x, order)


@needs_torch
def test_torch_tensors_that_are_refused_by_convert():
    for x in (torch.zeros(3, 4, requires_grad=True), torch.zeros(3, 4, device="meta"), torch.zeros(3, 4).to_sparse()):
        for call in (lambda: relayout.convert(x, "ab", "ba"), lambda: relayout.transpose(x),
                     lambda: relayout.reorder_in_place(x, "ab", "ba"), lambda: relayout.layout_of(x),
                     lambda: relayout.copy(x, torch.ones(3, 4)), lambda: relayout.copy(np.zeros((3, 4), "f4"), x)):
            if not x.is_sparse and "layout_of" in call.__code__.co_names:
                continue  # its strides are as good as any
            with pytest.raises((relayout.UnsupportedError, relayout.InvalidArgumentError)):
                call()


# ---- JAX ----


@needs_jax
def test_jax_shares_and_comes_back():
    x = jax.numpy.arange(24.0).reshape(2, 3, 4)
    assert relayout.contiguous(x) is x and relayout.contiguous(x, copy=False) is x
    assert relayout.transpose(x, (0, 1, 2)) is x
    assert address(relayout.Buffer.from_dlpack(x)) == address(x)
    buffer = relayout.Buffer.allocate(relayout.layout("ab", (3, 4)), "f32")
    np.asarray(buffer)[...] = 7
    assert address(jax.numpy.from_dlpack(buffer)) == address(buffer)
    for made in (relayout.transpose(x), relayout.convert(x, "abc", "Abc4a"), relayout.empty((2,), "f32", like=x)):
        assert isinstance(made, jax.Array)
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.copy(x, np.zeros((2, 3, 4), "f4"))
    with pytest.raises(relayout.InvalidArgumentError):
        relayout.reorder_in_place(x, "abc", "cba")
    with pytest.raises(relayout.NeedsCopyError):
        relayout.transpose(x, copy=False)
    with pytest.raises(relayout.UnsupportedError):
        relayout.contiguous(x, "F")


@needs_jax
def test_results_for_jax_are_not_copied_again():
    """The memory that convert() wrote is the memory that JAX has."""
    x = jax.numpy.zeros((64, 64))
    from relayout import _arrays
    assert address(relayout.convert(x, "ab", "ba")) % 64 == 0
    array = _arrays.aligned_empty((4, 4), np.dtype("f4"))
    assert address(_arrays._to_jax(array)) == address(array)


def test_modules_are_not_imported():
    """import relayout alone imports neither PyTorch nor JAX."""
    import subprocess
    code = "import relayout, sys; assert not {'torch', 'jax', 'ml_dtypes'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
