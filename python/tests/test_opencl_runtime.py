"""relayout.opencl: machines without a device, errors, threads, and how long things live."""
import gc
import os
import random
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest
import relayout
from opencl_cases import ACTIVATION, WAYS, cl, needs_device, numbers
from random_arrays import same_bits
from test_lifetime import resident_bytes
from test_threads import in_threads, steps_of_another_thread


def in_new_process(program, **environment):
    """What a program prints; also what it says on its way out."""
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=given,
                          timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


# ---- Without a device ----


def test_without_opencl():
    said = in_new_process("""
        import numpy as np, relayout, relayout.opencl as cl
        assert cl.devices() == []
        assert "RELAYOUT_OPENCL_LIBRARY" in cl.problem()
        x = np.zeros((1, 4, 2, 2), np.float32)
        for call in (cl.Runtime, lambda: cl.Image.from_array(x, "nh|Cw4c"), lambda: cl.Buffer.from_array(x, "nchw"),
                     lambda: cl.Image.empty("nh|Cw4c", x.shape), lambda: cl.Runtime.wrap(8, 8)):
            try:
                call()
            except relayout.UnsupportedError as error:
                assert error.code == "unsupported" and "RELAYOUT_OPENCL_LIBRARY" in str(error)
            else:
                raise AssertionError
        print("done")
        """, RELAYOUT_OPENCL_LIBRARY="")
    assert said == "done\n"


def test_a_library_that_is_not_there():
    said = in_new_process("import relayout.opencl as cl; print(cl.devices(), cl.problem())",
                          RELAYOUT_OPENCL_LIBRARY="/nowhere/libOpenCL.so.1")
    assert said.startswith("[] ") and "/nowhere/libOpenCL.so.1" in said


def test_opencl_is_loaded_when_a_device_is_asked_for():
    """import relayout takes no longer for it."""
    said = in_new_process("""
        import sys, relayout
        print("relayout.opencl" in sys.modules)
        import relayout.opencl
        def loaded(): return any("libOpenCL" in line for line in open("/proc/self/maps"))
        print(loaded(), "pyopencl" in sys.modules)
        """)
    assert said == "False\nFalse False\n"


def test_everything_public_has_words():
    for name in cl.__all__:
        thing = getattr(cl, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) and thing is not cl.Device else ():
            words = getattr(value, "__doc__", None) or getattr(getattr(value, "__func__", None), "__doc__", None)
            assert member.startswith("_") or words or member in ("runtime", "device"), (name, member)


def test_devices():
    assert isinstance(cl.problem(), str) and (cl.devices() or cl.problem())
    for number, device in enumerate(cl.devices()):
        assert device.number == number and device.name in repr(device)
        assert device.type in ("gpu", "accelerator", "cpu", "other")
        assert device.max_alloc_bytes > 0 and device.memory_bytes > 0
        assert set(device.channels) <= {"f32", "f16", "s32", "u32", "unorm8", "snorm8"}
        assert device.images == (device.max_image_width > 0 and device.max_image_height > 0)


# ---- Errors ----


@needs_device
def test_errors_of_runtimes():
    with pytest.raises(relayout.InvalidArgumentError) as caught:
        cl.Runtime(len(cl.devices()))
    assert caught.value.code == "invalid_argument" and caught.value.field == "device"
    for wrong in (0, -1, 2**64):
        with pytest.raises(relayout.InvalidArgumentError):
            cl.Runtime.wrap(wrong, wrong)
    for wrong in ("a", 1.5, None, True):
        with pytest.raises(TypeError):
            cl.Runtime.wrap(wrong, 1)
    with pytest.raises(TypeError):
        cl.Runtime("gpu")
    with pytest.raises(TypeError):
        cl.Image.from_array(np.zeros((1, 4, 2, 2), "f4"), ACTIVATION, runtime=1)
    assert cl.Runtime(cl.devices()[0]).device.name == cl.devices()[0].name


#: A call that is refused, its exception, and the field that the exception names.
X = np.zeros((1, 4, 2, 2), np.float32)
REFUSED = {
    "no image": (lambda: cl.Image.from_array(X, "nchw"), relayout.UnsupportedError, "layout"),
    "a view": (lambda: cl.Image.from_array(X, "nh|Cw4c.narrow(1,0,1)"), relayout.UnsupportedError, "layout"),
    "no expression": (lambda: cl.Image.from_array(X, "mace:in_out"), relayout.ParseError, None),
    "no elements": (lambda: cl.Image.from_array(X[:0], ACTIVATION), relayout.UnsupportedError, "dims[0]"),
    "rank": (lambda: cl.Image.from_array(X[0, 0], "mace:conv2d_filter"), relayout.InvalidArgumentError, None),
    "multiplier": (lambda: cl.Image.from_array(np.zeros((2, 4, 2, 2), "f4"), "mace:dw_conv2d_filter"),
                   relayout.UnsupportedError, None),
    "f64": (lambda: cl.Image.from_array(X.astype("f8"), ACTIVATION), relayout.UnsupportedError, "dtype"),
    "s8": (lambda: cl.Image.from_array(X.astype("i1"), ACTIVATION), relayout.UnsupportedError, "dtype"),
    "f32 in u32": (lambda: cl.Image.from_array(X, ACTIVATION, channel="u32"), relayout.UnsupportedError, "dtype"),
    "channel": (lambda: cl.Image.from_array(X, ACTIVATION, channel="f64"), relayout.ParseError, "channel"),
    "way": (lambda: cl.Image.from_array(X, ACTIVATION, way="fast"), relayout.InvalidArgumentError, "way"),
    "staged buffer": (lambda: cl.Buffer.from_array(X, "nchw", way="staged"), relayout.UnsupportedError, "way"),
    "fallback": (lambda: cl.Image.from_array(X, ACTIVATION, fallback="no"), relayout.InvalidArgumentError, "fallback"),
    "objects": (lambda: cl.Image.from_array(X.astype(object), ACTIVATION), relayout.UnsupportedError, "dtype"),
    "no array": (lambda: cl.Image.from_array("x", ACTIVATION), TypeError, None),
    "src": (lambda: cl.Image.from_array(X, ACTIVATION, src="nhwc", dims=X.shape), relayout.InvalidArgumentError,
            "shape"),
    "too large": (lambda: cl.Buffer.empty("a", (2**50,)), relayout.LimitError, "bytes"),
    "overlapping": (lambda: cl.Buffer.from_array(X, relayout.layout("strides:0,0,2,1", X.shape)),
                    relayout.NotInjectiveError, None),
    "4 bits": (lambda: cl.Buffer.from_array(X, "nchw").to_array("s4"), relayout.UnsupportedError, "dtype"),
    "4 bits by a kernel": (lambda: cl.Buffer.from_array(X, "nchw", dtype="s4", way="kernel"), relayout.UnsupportedError,
                           "way"),
    "shape": (lambda: image().upload(X[0]), relayout.InvalidArgumentError, "dims"),
    "out's shape": (lambda: image().to_array(out=np.zeros((1, 2, 2, 4), "f4")), relayout.InvalidArgumentError, "dims"),
    "out's type": (lambda: image().to_array(out=X.astype("i4")), relayout.UnsupportedError, "dtype"),
    "two types": (lambda: image().to_array("f16", out=X.copy()), relayout.InvalidArgumentError, "dtype"),
    "read-only": (lambda: image().to_array(out=np.broadcast_to(X, X.shape)), relayout.InvalidArgumentError, "out"),
    "repeated": (lambda: image().to_array(out=np.lib.stride_tricks.as_strided(X.copy(), X.shape, (0, 0, 0, 0))),
                 relayout.NotInjectiveError, None),
    "out of a layout": (lambda: image().to_array(layout="nhwc", out=np.zeros((1, 4, 2, 2), "f4")),
                        relayout.InvalidArgumentError, "shape"),
    "itself": (lambda: (lambda a: a.copy_to(a))(image()), relayout.OverlapError, "memory"),
    "a mapped copy": (lambda: image().copy_to(image(), "mapped"), relayout.UnsupportedError, "way"),
    "dims of a copy": (lambda: image().copy_to(cl.Buffer.empty("nchw", (1, 4, 2, 3))), relayout.InvalidArgumentError,
                       "dims"),
    "two contexts": (lambda: image().copy_to(cl.Buffer.empty("nchw", X.shape, runtime=cl.Runtime())),
                     relayout.InvalidArgumentError, "context"),
    "types of a copy": (lambda: image().copy_to(cl.Buffer.empty("nchw", X.shape, "s32")), relayout.UnsupportedError,
                        "dtype"),
    "wrapped kind": (lambda: (lambda a: cl.Buffer.wrap(a.runtime, a.int_ptr, "nchw", X.shape))(image()),
                     relayout.InvalidArgumentError, "memory"),
    "wrapped size": (lambda: (lambda a: cl.Image.wrap(a.runtime, a.int_ptr, ACTIVATION, (1, 4, 2, 3)))(image()),
                     relayout.InvalidArgumentError, "image"),
    "wrapped channels": (lambda: (lambda a: cl.Image.wrap(a.runtime, a.int_ptr, ACTIVATION, X.shape, "f16"))(image()),
                         relayout.InvalidArgumentError, "image"),
    "wrapped bytes": (lambda: (lambda a: cl.Buffer.wrap(a.runtime, a.int_ptr, "a", (17,)))(
        cl.Buffer.empty("a", (16,))), relayout.BufferTooSmallError, "memory"),
    "no maker": (lambda: cl.Image(), TypeError, None),
}


def image():
    return cl.Image.from_array(X, ACTIVATION)


@needs_device
@pytest.mark.parametrize("kind", REFUSED)
def test_errors(kind):
    call, expected, field = REFUSED[kind]
    with pytest.raises(expected) as caught:
        call()
    assert str(caught.value)
    if issubclass(expected, relayout.Error):
        assert caught.value.code == expected.code
        assert field is None or caught.value.field == field, caught.value.field


# ---- Threads ----


@needs_device
@pytest.mark.parametrize("way", ["automatic", "kernel"])
def test_threads_share_a_runtime(way):
    def work(i):
        rng = random.Random(i)
        mine = cl.Image.empty(ACTIVATION, (2, 6, 3, 5))
        for n in range(20):
            x = numbers(rng, (2, 6, 3, 5), "f4")
            image = mine if n % 2 else cl.Image.from_array(x, ACTIVATION, way=way)
            image.upload(x, way=way)
            assert same_bits(image.to_array(way=way), x)

    in_threads(work)


@needs_device
def test_a_runtime_for_each_thread():
    def work(i):
        runtime = cl.Runtime()
        x = numbers(i, (1, 6, 3, 5), "f4")
        for _ in range(5):
            assert same_bits(cl.Image.from_array(x, ACTIVATION, runtime=runtime).to_array(), x)

    in_threads(work)


@needs_device
def test_the_gil_is_released():
    x = np.zeros((1, 64, 128, 128), np.float32)
    held = cl.Image.empty(ACTIVATION, x.shape)
    out = np.empty_like(x)
    for way in WAYS[:2]:
        assert steps_of_another_thread(lambda: held.upload(x, way=way)) > 0
        assert steps_of_another_thread(lambda: held.to_array(out=out, way=way)) > 0


# ---- How long things live ----


@needs_device
@pytest.mark.parametrize("way", WAYS)
def test_the_array_may_go_before_the_image_is_read(way):
    x = numbers(1, (1, 64, 40, 40), "f4")
    expected, alive = x.copy(), weakref.ref(x)
    image = cl.Image.from_array(x, ACTIVATION, way=way)
    del x
    gc.collect()
    assert alive() is None
    np.full(expected.shape, np.nan, "f4")  # likely the same memory
    assert same_bits(image.to_array(), expected)


@needs_device
def test_the_runtime_may_go_before_the_image():
    runtime = cl.Runtime()
    x = numbers(2, (1, 6, 3, 5), "f4")
    image = cl.Image.from_array(x, ACTIVATION, runtime=runtime)
    buffer = cl.Buffer.empty("nhwc", x.shape, runtime=runtime)
    del runtime
    gc.collect()
    image.copy_to(buffer)
    del image
    gc.collect()
    assert same_bits(buffer.to_array(), x)


@needs_device
def test_memory_does_not_grow():
    x = np.zeros((1, 64, 64, 64), np.float32)  # 1 MiB
    def rounds(count):
        for _ in range(count):
            image = cl.Image.from_array(x, ACTIVATION, way="mapped")
            image.copy_to(cl.Buffer.empty("nhwc", x.shape))
            image.to_array(way="mapped")
            runtime = cl.Runtime()
            cl.Buffer.from_array(x, "nchw", runtime=runtime, way="mapped")
    rounds(20)
    gc.collect()
    before = resident_bytes()
    rounds(100)
    gc.collect()
    assert resident_bytes() - before < (32 << 20)


@needs_device
def test_nothing_is_left_at_the_end():
    """nanobind says what is left, and drivers crash where their library goes first."""
    said = in_new_process("""
        import numpy as np, relayout.opencl as cl
        x = np.zeros((1, 4, 2, 2), np.float32)
        image = cl.Image.from_array(x, "nh|Cw4c", way="kernel")
        own = cl.Image.from_array(x, "nh|Cw4c", runtime=cl.Runtime())
        circle = [own]
        circle.append(circle)
        print(image.to_array().shape)
        """)
    assert said == "(1, 4, 2, 2)\n"
