"""What is wrong is said by an exception of the tree, with its fields, or by a TypeError, and never by a crash.

fuzz_calls.py makes thousands of random bad calls in a process of its own.
"""
import copy
import inspect
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import relayout

#: Each class, its code, the built-in exception that it also is, and a call that raises it (None: no argument does).
TREE = [
    (relayout.InvalidArgumentError, "invalid_argument", ValueError, lambda: relayout.layout("nchw", (1, 2))),
    (relayout.ParseError, "parse", ValueError, lambda: relayout.layout("n?hw", (1, 2, 3, 4))),
    (relayout.SizeOverflowError, "overflow", OverflowError, lambda: relayout.layout("ab", (2**62, 2**62))),
    (relayout.NeedsCopyError, "needs_copy", ValueError, lambda: relayout.contiguous(np.zeros((2, 3)).T, copy=False)),
    (relayout.NotInjectiveError, "not_injective", ValueError,
     lambda: relayout.copy(np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8)), np.zeros((2, 3)))),
    (relayout.BufferTooSmallError, "buffer_too_small", ValueError,
     lambda: relayout.convert(np.zeros(3), "ab", "ba", dims=(2, 3))),
    (relayout.OverlapError, "overlap", ValueError, lambda: relayout.convert(SHARED, "ab", "ba",
                                                                            out=SHARED.reshape(3, 2))),
    (relayout.MissingTensorError, "invalid_argument", KeyError, lambda: relayout.open(__file__)["w"]),
    (relayout.CorruptError, "corrupt", ValueError, lambda: relayout.load(TRUNCATED)),
    (relayout.FileError, "io", OSError, lambda: relayout.load("/" + "x" * 5000)),
    (relayout.MissingFileError, "io", FileNotFoundError, lambda: relayout.load("/nowhere/x.npy")),
    (relayout.LimitError, "limit", ValueError, lambda: relayout.contiguous(np.zeros((1,) * 13).T)),
    (relayout.UnsupportedError, "unsupported", NotImplementedError, lambda: relayout.contiguous(np.zeros(2, object))),
    (relayout.InternalError, "internal", RuntimeError, None),
    (relayout.StoppedError, "interrupted", RuntimeError, None),
]
SHARED = np.zeros((2, 3))
TRUNCATED = None


@pytest.fixture(autouse=True, scope="module")
def truncated(tmp_path_factory):
    global TRUNCATED
    TRUNCATED = str(tmp_path_factory.mktemp("files") / "x.npy")
    np.save(TRUNCATED, np.zeros(100))
    with open(TRUNCATED, "r+b") as file:
        file.truncate(200)


@pytest.mark.parametrize("kind, code, builtin, call", TREE, ids=[row[1] for row in TREE])
def test_the_tree(kind, code, builtin, call):
    assert issubclass(kind, relayout.Error) and issubclass(kind, builtin) and kind.code == code
    made = kind("a message", "dims[1]", "7", "4")
    for error in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert (str(error), error.code, error.field, error.value, error.limit) == ("a message", code, "dims[1]", "7",
                                                                                   "4")
        assert type(error) is kind
    assert kind("a message").field == kind("a message").value == kind("a message").limit == ""
    if call is None:
        return
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert type(error) is kind and str(error) and error.code == code
    assert all(isinstance(text, str) for text in (error.field, error.value, error.limit))


def test_every_class_is_tested():
    tested = {row[0] for row in TREE} | {relayout.Error}
    there = {thing for thing in vars(relayout).values() if isinstance(thing, type) and issubclass(thing,
                                                                                                  relayout.Error)}
    assert tested == there


def test_fields_say_what_the_message_says():
    with pytest.raises(relayout.BufferTooSmallError) as caught:
        relayout.convert(np.zeros(3), "ab", "ba", dims=(2, 3))
    assert caught.value.value == "24" and caught.value.limit == "48"
    with pytest.raises(relayout.ParseError) as caught:
        relayout.empty((2,), "f31")
    assert caught.value.field == "dtype" and caught.value.value == "f31" and "f32" in caught.value.limit
    with pytest.raises(relayout.ParseError) as caught:
        relayout.layout("nChw8q", (2, 17, 5, 4))
    assert "nChw8q" in str(caught.value) and "^" in str(caught.value)


# ---- One wrong argument after the other ----

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
LAYOUT = relayout.layout("nChw16c", (2, 17, 5, 4))
PLAN = relayout.plan_conversion(X, "abc", "cab")

@pytest.mark.parametrize("thing", [None, 3, 1.5, "text", [1, 2], (), {}, object(), np.ndarray, len, Ellipsis])
def test_no_array(thing, tmp_path):
    for call in (relayout.contiguous, relayout.transpose, relayout.layout_of, relayout.Buffer.from_dlpack,
                 lambda x: relayout.contiguous(x, "K"), lambda x: relayout.copy(x, X), lambda x: relayout.copy(X, x),
                 lambda x: relayout.convert(x, "a", "a"), lambda x: relayout.plan_conversion(x, "a", "a"),
                 lambda x: relayout.reorder_in_place(x, "a", "a"), lambda x: PLAN.run(x, X),
                 lambda x: PLAN.run(X, x) if x is not None else 1 / 0,
                 lambda x: relayout.convert(X, "abc", "cab", out=x) if x is not None else 1 / 0,
                 lambda x: relayout.transpose(X, out=x) if x is not None else 1 / 0,
                 lambda x: relayout.save(tmp_path / "x.npy", x)):
        with pytest.raises((TypeError, relayout.Error, ZeroDivisionError)):
            call(thing)


@pytest.mark.parametrize("call", [
    lambda: relayout.contiguous(X, "CF"), lambda: relayout.contiguous(X, "abcd"), lambda: relayout.contiguous(X, ""),
    lambda: relayout.contiguous(X, "aBc2b"), lambda: relayout.contiguous(X, "abc3c"),
    lambda: relayout.contiguous(X, (0, 1)),
    lambda: relayout.contiguous(X, (0, 1, 1)), lambda: relayout.contiguous(X, (0, 1, -2)),
    lambda: relayout.contiguous(X, "channels_last"), lambda: relayout.contiguous(X, "\0"),
    lambda: relayout.transpose(X, (0, 1)), lambda: relayout.transpose(X, (0, 1, 3)),
    lambda: relayout.transpose(X, (2, 1, -1)),
    lambda: relayout.transpose(X, out=np.zeros((2, 3, 4))), lambda: relayout.transpose(X,
                                                                                       out=np.zeros((2, 4, 3, 2),
                                                                                                    "f4")),
    lambda: relayout.copy(X, np.zeros((2, 3, 5))), lambda: relayout.copy(X[0], X),
    lambda: relayout.copy(X, np.zeros(2, "f4")),
    lambda: relayout.copy(X, np.zeros((2, 3, 4), "M8[s]")), lambda: relayout.copy(X, np.zeros((2, 3, 4), "c8")),
    lambda: relayout.copy(np.zeros(3, "S3"), np.zeros(3, "U3")),
    lambda: relayout.convert(X, "ab", "ba"), lambda: relayout.convert(X, "abc", "abd"),
    lambda: relayout.convert(X, "", ""),
    lambda: relayout.convert(X, "abc", "cab", dims=(2, 3)), lambda: relayout.convert(X, "abc", "cab", dims=(2, 3, 5)),
    lambda: relayout.convert(X, "abc", "cab", dims=(-2, 3, 4)),
    lambda: relayout.convert(X, "abc", "cab", dims=(2**63, 3, 4)),
    lambda: relayout.convert(X, "abc", "cab", dtype="f31"), lambda: relayout.convert(X, "abc", "cab", dtype=object),
    lambda: relayout.convert(X, "abc", "cab", dtype="c8"), lambda: relayout.convert(X, "abc", "cab", src_dtype="f64"),
    lambda: relayout.convert(X, "abc", "cab", dtype="("), lambda: relayout.convert(X, "abc", "cab", dtype="f4 f4 ("),
    lambda: relayout.convert(X, "abc", "cab", out=np.zeros((4, 2, 3), "f8")),
    lambda: relayout.convert(X, "abc", "cab", out=np.zeros((4, 2, 3), "i4")),
    lambda: relayout.convert(X, "abc", "cab", out=np.zeros((4, 3, 2), "f4")),
    lambda: relayout.convert(X, "abc", "cab", out=np.zeros((4, 2, 6), "f4")[:, :, ::2][:3]),
    lambda: relayout.convert(X, "abc", "cab", out=np.zeros(23, "f4")),
    lambda: relayout.convert(X, "abc", "cab", beta=1.0), lambda: relayout.convert(X, "abc", "cab", beta=float("nan")),
    lambda: relayout.convert(X, "abc", "cab", scale=float("nan")),
    lambda: relayout.convert(X, "abc", "cab", scale=float("inf")),
    lambda: relayout.convert(X, "abc", "cab", dst_scale=0.0), lambda: relayout.convert(X, "abc", "cab", scale=10**400),
    lambda: relayout.convert(X, "abc", "cab", scale=1e300), lambda: relayout.convert(X, "abc", "cab", mean=1e300),
    lambda: relayout.convert(X, "abc", "cab", std=0), lambda: relayout.convert(X, "abc", "cab", std=1, dst_scale=1),
    lambda: relayout.convert(X, "abc", "cab", scale=[1, 2, 3]), lambda: relayout.convert(X, "abc", "cab", scale=[]),
    lambda: relayout.convert(X, "abc", "cab", scale=np.ones((3, 2, 1))),
    lambda: relayout.convert(X, "abc", "cab", scale=np.ones((2, 3, 4, 1))),
    lambda: relayout.convert(X, "abc", "cab", dtype="u8", dst_zero_point=1.5),
    lambda: relayout.convert(X, "abc", "cab", dtype="u8", dst_zero_point=2**40),
    lambda: relayout.convert(X, "abc", "cab", zero_point=2**40 + 1),
    lambda: relayout.convert(np.zeros(3), "a", "a", zero_point=2**63 + 1),
    lambda: relayout.convert(X, "abc", "Cab4c", dtype="u8", padding=300),
    lambda: relayout.convert(X, "abc", "Cab4c", dtype="u8", padding=-1),
    lambda: relayout.convert(X, "abc", "Cab4c", dtype="u8", padding=1.5),
    lambda: relayout.convert(X, "abc", "Cab4c", dtype="u8", padding=float("nan")),
    lambda: relayout.convert(X, "abc", "Cab4c", dtype="s64", padding=1e300),
    lambda: relayout.convert(X, "abc", "Cab4c", padding=16777217),
    lambda: relayout.convert(X, "abc", "Cab4c", padding=1e39),
    lambda: relayout.transpose(X, out=np.zeros(X.shape[::-1], np.int8)),
    lambda: relayout.rearrange("a b c -> c b a", X, out=np.zeros(X.shape[::-1], np.int8)),
    lambda: relayout.plan_conversion(X, "ab", "ba"), lambda: PLAN.run(X.astype("f8"), np.zeros((4, 2, 3), "f4")),
    lambda: PLAN.run(X[:, ::-1], np.zeros((4, 2, 3), "f4")), lambda: PLAN.run(X, np.zeros((4, 2, 3), "f2")),
    lambda: PLAN.run(X, np.broadcast_to(np.float32(0), (4, 2, 3))),
    lambda: relayout.reorder_in_place(X.T, "abc", "cab"), lambda: relayout.reorder_in_place(X, "abc", "Abc16a"),
    lambda: relayout.reorder_in_place(X, "ab", "ba"), lambda: relayout.reorder_in_place(X, "abc", "cab", dtype="f16"),
    lambda: relayout.empty((-1,)), lambda: relayout.empty((2**62, 2**62)), lambda: relayout.empty((2, 3), "f31"),
    lambda: relayout.layout("nchw"), lambda: relayout.layout("nchw", (1, 2, 3)),
    lambda: relayout.layout("nchw", (-1, 2, 3, 4)),
    lambda: relayout.layout("nchw", (2**63, 1, 1, 1)), lambda: relayout.layout("n\xffhw", (1, 2, 3)),
    lambda: relayout.layout("a", range(13)), lambda: relayout.layout("a" * 10000, (1,)),
    lambda: relayout.layout("aB" + "2b" * 100, (1, 2)), lambda: LAYOUT.offset(1), lambda: LAYOUT.offset(0, 99, 0, 0),
    lambda: LAYOUT.offset(-1, 0, 0, 0), lambda: LAYOUT.permute(0, 0, 1, 2), lambda: LAYOUT.permute(0, 1),
    lambda: LAYOUT.view(7), lambda: LAYOUT.view(-1, -1), lambda: LAYOUT.flip(9), lambda: LAYOUT.narrow(0, 1, 5),
    lambda: LAYOUT.select(0, 2), lambda: LAYOUT.squeeze(0), lambda: LAYOUT.expand(3), lambda: LAYOUT.split(1, (4, 4)),
    lambda: LAYOUT.merge(3, 1), lambda: LAYOUT.unfold(0, 5, 1), lambda: LAYOUT.unfold(0, 1, 0),
    lambda: LAYOUT.diagonal(0, 1, 1),
    lambda: LAYOUT.as_("numpy"), lambda: LAYOUT.as_("nothing"), lambda: LAYOUT.span_bytes("f31"),
    lambda: relayout.set_isa("z80"), lambda: relayout.load("/"), lambda: relayout.load("a\0b"),
    lambda: relayout.load(b"\xff"),
    lambda: relayout.load("\udcff"), lambda: relayout.save("/nowhere/x.npy", X), lambda: relayout.save("x.txt", X),
    lambda: relayout.save("/tmp/x.npy", {"a": X}), lambda: relayout.plan("/nowhere.onnx"),
    lambda: relayout.plan("a\0b"),
    lambda: relayout.interop.from_xla("f32[2"), lambda: relayout.interop.from_cute("(4,2):(1"),
    lambda: relayout.interop.from_pytorch((2, 3), (1,)), lambda: relayout.interop.from_mace("no", (1, 2, 3, 4)),
    lambda: relayout.interop.from_cudnn((1,) * 9, (1,) * 9), lambda: relayout.interop.scale_factors("fp1", 1, 1),
])
def test_wrong_arguments(call):
    with pytest.raises(relayout.Error) as caught:
        call()
    assert not isinstance(caught.value, relayout.InternalError) and str(caught.value)


@pytest.mark.parametrize("call", [
    lambda: relayout.contiguous(X, None), lambda: relayout.contiguous(X, 5),
    lambda: relayout.contiguous(X, (0.5, 1, 2)),
    lambda: relayout.contiguous(X, ("a", "b", "c")), lambda: relayout.contiguous(X, copy="no"),
    lambda: relayout.contiguous(X.T, threads="two"), lambda: relayout.contiguous(),
    lambda: relayout.contiguous(X, sort=True),
    lambda: relayout.transpose(X, 1), lambda: relayout.transpose(X, "abc"), lambda: relayout.transpose(X, (None, 1, 2)),
    lambda: relayout.convert(X, None, "abc"), lambda: relayout.convert(X, "abc", 7),
    lambda: relayout.convert(X, "abc", ["abc"]),
    lambda: relayout.convert(X, b"abc", "cab"), lambda: relayout.convert(X, "abc", "cab", dims="abc"),
    lambda: relayout.convert(X, "abc", "cab", dims=3.5), lambda: relayout.convert(X, "abc", "cab", dtype=[1]),
    lambda: relayout.convert(X, "abc", "cab", scale=1j), lambda: relayout.convert(X, "abc", "cab", scale=[None]),
    lambda: relayout.convert(X, "abc", "cab", beta="x"), lambda: relayout.convert(X, "abc", "cab", padding="x"),
    lambda: relayout.layout(None), lambda: relayout.layout(3), lambda: relayout.layout("ab", "cd"),
    lambda: relayout.layout("ab", (1.5, 2)), lambda: relayout.layout("ab", {1, 2}), lambda: LAYOUT.offset("a"),
    lambda: LAYOUT.permute("ab"), lambda: LAYOUT.difference(3), lambda: LAYOUT.as_(3), lambda: relayout.Layout(),
    lambda: relayout.Layout.__new__(relayout.Layout).dims, lambda: relayout.Conversion(1), lambda: relayout.Buffer(),
    lambda: relayout.contiguous(relayout.Buffer.__new__(relayout.Buffer)),
    lambda: relayout.convert(X, relayout.Layout.__new__(relayout.Layout), "abc"),
    lambda: relayout.load(None), lambda: relayout.load(3.5), lambda: relayout.save(None, X),
    lambda: relayout.save("/tmp/x.npz", {1: X}), lambda: relayout.plan(None), lambda: relayout.set_isa(None),
    lambda: relayout.interop.from_numpy(None), lambda: relayout.interop.from_onednn({"dims": "x"}),
])
@pytest.mark.filterwarnings("ignore:nanobind")
def test_wrong_types(call):
    with pytest.raises(TypeError) as caught:
        call()
    # Of an object that was never made, even a property fails, and in nanobind's words.
    assert "incompatible function arguments" not in str(caught.value) or "__new__" in inspect.getsource(call)


def test_a_refused_call_changes_nothing():
    before = X.copy()
    for change in (lambda: relayout.reorder_in_place(X, "abc", "Abc16a"),
                   lambda: relayout.convert(X, "abc", "cab", out=X),
                   lambda: relayout.copy(X, np.zeros((2, 3, 5))), lambda: relayout.reorder_in_place(X, "abc", "?")):
        with pytest.raises(relayout.Error):
            change()
        assert np.array_equal(X, before)


# ---- Objects that lie ----


class Gives:
    """An object whose __dlpack__ gives or raises anything."""

    def __init__(self, result):
        self.result = result

    def __dlpack__(self, **ignored):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result() if callable(self.result) else self.result


@pytest.mark.parametrize("result", [None, 3, "dltensor", object(), b"", (), RuntimeError("no"), KeyError(1),
                                    TypeError("no"),
                                    BufferError("no"), MemoryError()])
def test_rubbish_from_dlpack(result):
    expected = type(result) if isinstance(result, BaseException) else TypeError
    for take in (relayout.contiguous, relayout.Buffer.from_dlpack, relayout.layout_of,
                 lambda x: relayout.convert(x, "a", "a"), lambda x: relayout.copy(X, x)):
        with pytest.raises(expected):
            take(Gives(result))


def test_capsules_of_others():
    import ctypes
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for name in (b"other", b"used_dltensor", b"", None):
        with pytest.raises(TypeError):
            relayout.Buffer.from_dlpack(Gives(lambda: new(1, name, None)))


def capsule_with(offset, kind, value):
    """A capsule of a tensor of 2 x 3 doubles with one field of its DLTensor overwritten."""
    import ctypes
    capsule = relayout.Buffer.from_dlpack(np.arange(6.0).reshape(2, 3).copy()).__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    kind.from_address(pointer(capsule, b"dltensor") + offset).value = value
    return capsule


def test_fields_of_dlpack_that_contradict_each_other():
    import ctypes
    # Where the fields of DLTensor lie: data 0, device_type 8, device_id 12, ndim 16, the type's code 20, bits 21 and
    # lanes 22, shape 24, strides 32, byte_offset 40.
    for offset, kind, value in ((16, ctypes.c_int32, -1), (16, ctypes.c_int32, 1000), (20, ctypes.c_uint8, 77),
                                (21, ctypes.c_uint8, 0), (21, ctypes.c_uint8, 3), (22, ctypes.c_uint16, 0),
                                (22, ctypes.c_uint16, 4), (24, ctypes.c_uint64, 0), (8, ctypes.c_int32, 2),
                                (8, ctypes.c_int32, 99), (0, ctypes.c_uint64, 0)):
        with pytest.raises(relayout.Error):
            relayout.Buffer.from_dlpack(Gives(lambda: capsule_with(offset, kind, value)))


class Strange:
    """An object whose attributes raise."""

    def __getattr__(self, name):
        raise RuntimeError(name)


class NoClass:
    @property
    def __class__(self):
        raise RuntimeError("__class__")


@pytest.mark.parametrize("kind", [Strange, NoClass])
def test_objects_whose_attributes_raise(kind):
    for call in (relayout.contiguous, relayout.layout_of, lambda x: relayout.copy(X, x),
                 lambda x: relayout.layout("ab", x),
                 lambda x: LAYOUT == x and 1 / 0 or relayout.contiguous(x)):
        with pytest.raises((RuntimeError, TypeError)):
            call(kind())


# ---- Thousands of bad calls ----


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_do_not_crash(seed, tmp_path):
    script = os.path.join(os.path.dirname(__file__), "fuzz_calls.py")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONFAULTHANDLER="1")
    done = subprocess.run([sys.executable, "-W", "ignore", script, str(seed), "1500"], capture_output=True, text=True,
                          cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-4000:])
