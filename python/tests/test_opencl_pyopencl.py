"""relayout.opencl and pyopencl on the same memory: kernels of pyopencl read images of relayout, and the other way."""
import gc

import numpy as np
import pytest
import relayout
from mace_formulas import FORMULAS, size_of, texels_of
from opencl_cases import ACTIVATION, cl, needs_device, numbers
from random_arrays import same_bits

pyopencl = pytest.importorskip("pyopencl")
pytestmark = needs_device

#: MACE's formulas in OpenCL C, of dims a, b, c, d.
SAMPLE = """
__constant sampler_t texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
float lane(float4 texel, int k) { return k == 0 ? texel.x : k == 1 ? texel.y : k == 2 ? texel.z : texel.w; }
__kernel void sample(__read_only image2d_t image, __global float* out, int A, int B, int C, int D) {
  const int i = get_global_id(0), d = i % D, c = i / D % C, b = i / D / C % B, a = i / D / C / B;
#ifdef FILTER
  const int2 at = (int2)(b, (a / 4 * C + c) * D + d), k = a % 4;    // o, i, h, w
#else
  const int2 at = (int2)(b / 4 * D + d, a * C + c), k = b % 4;      // n, c, h, w
#endif
  out[i] = lane(read_imagef(image, texels, at), k.x);
}
"""


@pytest.fixture(scope="module")
def queue():
    """pyopencl's queue on a device that relayout also has."""
    names = {device.name for device in cl.devices()}
    found = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()
             if device.name.strip() in names]
    if not found:
        pytest.skip("pyopencl's loader finds none of these devices: OCL_ICD_VENDORS=/etc/OpenCL/vendors may help")
    return pyopencl.CommandQueue(pyopencl.Context(found[:1]))


@pytest.fixture(scope="module")
def runtime(queue):
    return cl.Runtime.wrap(queue.context, queue)


def sampled(queue, image, shape, options=()):
    """The elements of a pyopencl.Image, by the kernel above."""
    program = pyopencl.Program(queue.context, SAMPLE).build(options=list(options))
    out = pyopencl.Buffer(queue.context, pyopencl.mem_flags.WRITE_ONLY, 4 * int(np.prod(shape)))
    program.sample(queue, (int(np.prod(shape)),), None, image, out, *map(np.int32, shape))
    host = np.empty(shape, np.float32)
    pyopencl.enqueue_copy(queue, host, out)
    return host


@pytest.mark.parametrize("channel", ["f32", "f16"])
@pytest.mark.parametrize("content, options", [(ACTIVATION, ()), ("mace:conv2d_filter", ("-DFILTER",))])
def test_a_kernel_of_pyopencl_samples_an_image(queue, runtime, content, options, channel):
    x = numbers(1, (3, 6, 4, 5), "f4", channel)
    image = cl.Image.from_array(x, content, channel=channel, runtime=runtime)
    theirs = image.to_pyopencl()
    assert isinstance(theirs, pyopencl.Image) and theirs.int_ptr == image.int_ptr
    assert (theirs.width, theirs.height) == (image.width, image.height)
    expected = x if channel == "f32" else x.astype("f2").astype("f4")
    assert same_bits(sampled(queue, theirs, x.shape, options), expected)


@pytest.mark.parametrize("content", FORMULAS)
def test_images_of_pyopencl_are_read(queue, runtime, content):
    shape = (7,) if content == "mace:argument" else (1, 6, 4, 5) if "dw" in content else (3, 6, 4, 5)
    x = numbers(2, shape, "f4")
    form = pyopencl.ImageFormat(pyopencl.channel_order.RGBA, pyopencl.channel_type.FLOAT)
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    create = getattr(pyopencl, "create_image", pyopencl.Image)  # its older name
    theirs = create(queue.context, flags, form, size_of(content, shape), hostbuf=texels_of(content, x))
    image = cl.Image.wrap(runtime, theirs, content, shape)
    assert same_bits(image.to_array(way="mapped"), x)
    other = numbers(3, shape, "f4")
    image.upload(other, way="mapped")
    host = np.empty((image.height, image.width, 4), np.float32)
    pyopencl.enqueue_copy(queue, host, theirs, origin=(0, 0), region=(image.width, image.height))
    assert same_bits(host, texels_of(content, other))


def test_buffers(queue, runtime):
    x = numbers(4, (2, 6, 3, 5), "f4")
    blocked = relayout.convert(x, "nchw", "nChw4c")
    buffer = cl.Buffer.from_array(x, "nChw4c", runtime=runtime)
    host = np.empty_like(blocked)
    theirs = buffer.to_pyopencl()
    assert isinstance(theirs, pyopencl.Buffer) and theirs.size == buffer.bytes
    pyopencl.enqueue_copy(queue, host, theirs)
    assert same_bits(host, blocked)
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    made = pyopencl.Buffer(queue.context, flags, hostbuf=blocked)
    assert same_bits(cl.Buffer.wrap(runtime, made, "nChw4c", x.shape).to_array(), x)
    assert same_bits(cl.Buffer.wrap(runtime, made.int_ptr, relayout.layout("nChw4c", x.shape)).to_array(), x)
    with pytest.raises(relayout.BufferTooSmallError):
        cl.Buffer.wrap(runtime, made, "nChw16c", x.shape)
    with pytest.raises(relayout.InvalidArgumentError):
        cl.Image.wrap(runtime, made, ACTIVATION, x.shape)


def test_each_holds_the_memory():
    """Of the runtime, the image and pyopencl's objects any may go first."""
    x = numbers(5, (2, 6, 3, 5), "f4")
    runtime = cl.Runtime()
    image = cl.Image.from_array(x, ACTIVATION, runtime=runtime)
    theirs, (context, queue) = image.to_pyopencl(), runtime.to_pyopencl()
    assert runtime.queue_int_ptr == queue.int_ptr and runtime.context_int_ptr == context.int_ptr
    size = (image.width, image.height)
    del image, runtime
    gc.collect()
    host = np.empty((size[1], size[0], 4), np.float32)
    pyopencl.enqueue_copy(queue, host, theirs, origin=(0, 0), region=size)
    assert same_bits(host, texels_of(ACTIVATION, x))
    again = cl.Image.wrap(cl.Runtime.wrap(context, queue), theirs, ACTIVATION, x.shape)
    del theirs, context, queue
    gc.collect()
    assert same_bits(again.to_array(), x)


def test_a_queue_of_the_programs_own(queue):
    runtime = cl.Runtime.wrap(queue.context.int_ptr, queue.int_ptr)
    assert runtime.device.number == -1 and runtime.device.name in {device.name for device in cl.devices()}
    runtime.finish()
    out_of_order = pyopencl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    if queue.device.get_info(pyopencl.device_info.QUEUE_PROPERTIES) & out_of_order:
        with pytest.raises(relayout.UnsupportedError) as caught:
            cl.Runtime.wrap(queue.context, pyopencl.CommandQueue(queue.context, properties=out_of_order))
        assert caught.value.field == "queue"
