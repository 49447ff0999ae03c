"""relayout.opencl: images on the device, texel by texel against MACE's formulas, by every way, and buffers.

Without a device the tests are skipped, and say why.
"""
import random
import tracemalloc

import numpy as np
import pytest
import relayout
from mace_formulas import FORMULAS, extents_of, size_of, texels_of
from opencl_cases import ACTIVATION, PAIRS, WAYS, cl, lanes, needs_device, numbers, strided
from random_arrays import describe, same_bits

pytestmark = needs_device


def check_image(content, x, channel, way):
    """Uploads x one way, compares every texel, and downloads it the same way."""
    image = cl.Image.from_array(x, content, channel=channel, way=way)
    expected = texels_of(content, lanes(x, channel))
    assert image.is_image and (image.width, image.height) == size_of(content, x.shape)
    assert same_bits(image.texels(), expected), (content, channel, way, describe(x))
    assert image.unused_lanes == expected.size - x.size and image.bytes == expected.nbytes
    assert image.waste == pytest.approx(1 - x.size / expected.size)
    assert same_bits(image.to_array(x.dtype, way=way), lanes(x, channel).astype(x.dtype)), (content, channel, way)


# ---- Values ----


@pytest.mark.parametrize("content", FORMULAS)
def test_every_channel_type_of_a_content_type(content):
    rng = random.Random(content)
    for channel, dtype in PAIRS:
        for _ in range(6):
            check_image(content, numbers(rng, extents_of(rng, content), dtype, channel), channel, "mapped")


@pytest.mark.parametrize("way", ["kernel", "staged"])
def test_ways_of_the_device(way):
    """Each content type and each pair of types in some cases: a kernel is compiled for every shape."""
    rng = random.Random(way)
    for i, content in enumerate(FORMULAS):
        for j, (channel, dtype) in enumerate(PAIRS):
            if (i + j) % 5 == 0:
                check_image(content, numbers(rng, extents_of(rng, content), dtype, channel), channel, way)


def test_any_tag_with_a_row_break():
    x = numbers(0, (2, 6, 3, 5), "f4")
    image = cl.Image.from_array(x, "nh|Cw4c")
    assert same_bits(image.texels(), texels_of(ACTIVATION, x)) and image.format == "nh|Cw4c"
    other = cl.Image.from_array(x, "cw|Hn4h")
    assert (other.width, other.height) == (1 * 2, 6 * 5)
    assert same_bits(other.to_array(), x)


def test_strided_arrays():
    rng = random.Random(3)
    for n in range(60):
        channel, dtype = rng.choice(PAIRS)
        content = rng.choice([name for name in FORMULAS if name not in ("mace:argument", "mace:dw_conv2d_filter")])
        check_image(content, strided(rng, dtype), channel, "mapped" if n % 10 else rng.choice(WAYS))


@pytest.mark.parametrize("way", WAYS)
def test_arrays_that_are_not_aligned(way):
    raw = bytearray(np.random.default_rng(0).integers(0, 100, 4 * 16 * 9 + 3, np.uint8))
    x = np.frombuffer(raw, np.uint8)[3:].view("i4").reshape(1, 16, 3, 3)
    image = cl.Image.from_array(x, ACTIVATION, way=way)
    out = np.zeros(len(raw), np.uint8)
    image.to_array(out=out[3:].view("i4").reshape(x.shape), way=way)
    assert bytes(out[3:]) == bytes(raw[3:]) and not out[:3].any()


def test_no_copy_on_the_way_in():
    x = np.zeros((1, 64, 128, 128), np.float32)
    for view in (x, x.transpose(0, 1, 3, 2), x[:, ::-1], np.broadcast_to(x[:, :1], x.shape)):
        tracemalloc.start()
        try:
            cl.Image.from_array(view, ACTIVATION, channel="f16", way="mapped")
            assert tracemalloc.get_traced_memory()[1] < x.nbytes // 8
        finally:
            tracemalloc.stop()


def test_dims_are_promoted_as_mace_does_it():
    for content, shape, dims in ((ACTIVATION, (6,), (1, 6, 1, 1)), (ACTIVATION, (2, 6), (2, 6, 1, 1)),
                                 (ACTIVATION, (), (1, 1, 1, 1)), ("mace:in_out_height", (2, 5, 3), (2, 1, 5, 3)),
                                 ("mace:in_out_width", (2, 5, 3), (2, 1, 5, 3)), ("mace:argument", (7, 1, 1), (7,))):
        x = numbers(1, shape, "f4")
        for way in WAYS[:1] if len(shape) != 3 else WAYS[:2]:
            image = cl.Image.from_array(x, content, way=way)
            assert image.dims == dims and image.shape == shape
            assert same_bits(image.texels(), texels_of(content, x.reshape(dims)))
            assert same_bits(image.to_array(way=way), x)


# ---- Arrays of the host ----


def test_results_in_other_layouts_and_types():
    x = numbers(5, (2, 6, 3, 5), "f2")
    image = cl.Image.from_array(x, ACTIVATION)
    assert image.channel == "f16" and image.dtype == "f16" and image.to_array().dtype == np.float16
    assert same_bits(image.to_array("f32"), x.astype("f4"))
    assert same_bits(image.to_array(layout="nhwc"), x.transpose(0, 2, 3, 1).copy())
    assert same_bits(image.to_array(layout="nChw4c"), relayout.convert(x, "nchw", "nChw4c"))
    assert same_bits(image.to_array(layout=ACTIVATION), image.texels())
    flat = image.to_array(layout=relayout.layout("nhwc", x.shape))
    assert same_bits(flat, x.transpose(0, 2, 3, 1).copy())
    for src, given in (("nhwc", x.transpose(0, 2, 3, 1)), ("nChw4c", relayout.convert(x, "nchw", "nChw4c"))):
        again = cl.Image.from_array(given, ACTIVATION, src=src, dims=x.shape)
        assert same_bits(again.texels(), image.texels()) and again.shape == x.shape
        again = cl.Buffer.from_array(given, "nchw", src=src, dims=x.shape)
        assert same_bits(again.to_array(), x)
    assert same_bits(cl.Image.from_array(x.transpose(0, 2, 3, 1), ACTIVATION, src="nhwc").to_array(), x)


@pytest.mark.parametrize("way", ["mapped", "kernel"])
def test_out_of_any_strides(way):
    x = numbers(6, (2, 6, 3, 5), "f4")
    image = cl.Image.from_array(x, ACTIVATION)
    memory = np.full((5, 3, 12, 2), 7, np.float32)
    out = memory[:, :, ::2].transpose(3, 2, 1, 0)[:, ::-1]
    assert image.to_array(out=out, way=way) is out
    assert np.array_equal(out, x) and (memory[:, :, 1::2] == 7).all()
    blocked = np.empty((2, 2, 3, 5, 4), np.float32)
    assert image.to_array(layout="nChw4c", out=blocked, way=way) is blocked
    assert same_bits(blocked, relayout.convert(x, "nchw", "nChw4c"))
    held = relayout.Buffer.allocate(relayout.layout("nChw4c", x.shape), "f32")
    image.to_array(out=held, way=way)
    assert same_bits(cl.Image.from_array(held, ACTIVATION, way=way).texels(), image.texels())


def test_upload_into_an_image_that_is_there():
    rng = random.Random(8)
    image = cl.Image.empty("mace:conv2d_filter", (5, 3, 2, 2), "f16")
    for way in [*WAYS, "automatic", "automatic"]:
        x = numbers(rng, (5, 3, 2, 2), "f4", "f16")
        assert image.upload(x, way=way) in ([way] if way != "automatic" else WAYS)
        assert same_bits(image.texels(), texels_of("mace:conv2d_filter", x.astype("f2")))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries(library):
    module = pytest.importorskip(library)
    x = numbers(9, (2, 6, 3, 5), "f4")
    theirs = module.asarray(x)
    image = cl.Image.from_array(theirs, ACTIVATION)
    assert same_bits(image.texels(), texels_of(ACTIVATION, x)) and same_bits(image.to_array(), x)
    if library == "torch":
        image = cl.Image.from_array(theirs.permute(0, 1, 3, 2), ACTIVATION, channel="f16")
        out = module.empty((2, 6, 5, 3), dtype=module.float16)
        assert image.to_array(out=out) is out and same_bits(out.numpy(), x.transpose(0, 1, 3, 2).astype("f2"))
    else:
        with pytest.raises(relayout.InvalidArgumentError):
            image.to_array(out=theirs)


# ---- Buffers, and copies on the device ----


def test_buffers():
    rng = random.Random(10)
    for n in range(40):
        x = strided(rng, rng.choice(["f4", "f2", "i4", "u1", "f8", "i8", "?"]))
        expression = rng.choice(["nchw", "nhwc", "nChw4c", "NChw16n16c", "nh|Cw4c", "nhwc;align=16"])
        layout = expression if n % 3 else relayout.layout(expression, x.shape)
        way = rng.choice(["mapped", "automatic"]) if n % 10 else "kernel"
        buffer = cl.Buffer.from_array(x, layout, way=way)
        assert same_bits(buffer.to_array(way=way), np.ascontiguousarray(x)), (layout, describe(x))
        assert buffer.shape == buffer.dims == x.shape and not buffer.is_image
        assert buffer.layout == relayout.layout(expression, x.shape)
        assert buffer.bytes == buffer.layout.span_bytes(buffer.dtype)


def test_buffers_of_other_types():
    x = numbers(3, (2, 6, 3, 5), "f4", "f16")
    buffer = cl.Buffer.from_array(x, "nChw4c", dtype="f16")
    assert buffer.dtype == "f16" and same_bits(buffer.to_array(), x.astype("f2"))
    memory = cl.Buffer.wrap(buffer.runtime, buffer.int_ptr, "abcde", (2, 2, 3, 5, 4), "f16")
    assert same_bits(memory.to_array(), relayout.convert(x.astype("f2"), "nchw", "nChw4c"))
    buffer = cl.Buffer.from_array(x, "nhwc", dtype="s8")  # the CPU converts
    assert same_bits(buffer.to_array(), relayout.convert(x, "nchw", "nchw", dtype="s8"))
    x = np.arange(-8, 8, dtype=np.int8).reshape(2, 2, 2, 2)
    buffer = cl.Buffer.from_array(x, "nhwc", dtype="s4")
    assert buffer.bytes == 8 and same_bits(buffer.to_array("s8"), x)
    for shape in ((0, 3, 2, 2), (2, 0, 1, 1)):
        empty = cl.Buffer.from_array(np.zeros(shape, "f4"), "nchw")
        assert empty.to_array().shape == shape


@pytest.mark.parametrize("way", ["kernel", "staged"])
def test_copies_on_the_device(way):
    x = numbers(4, (2, 6, 3, 5), "f4")
    image = cl.Image.from_array(x, ACTIVATION)
    buffer = cl.Buffer.empty("nhwc", x.shape)
    image.copy_to(buffer, way)
    assert same_bits(buffer.to_array(), x)
    other = cl.Image.empty("mace:in_out_height", x.shape, "f16")
    cl.copy(buffer, other, way)
    assert same_bits(other.texels(), texels_of("mace:in_out_height", x.astype("f2")))
    third = cl.Image.empty("mace:in_out_width", x.shape)
    other.copy_to(third, way)
    assert same_bits(third.texels(), texels_of("mace:in_out_width", x.astype("f2").astype("f4")))


# ---- What the device does not take ----


def test_a_buffer_in_place_of_an_image():
    device = cl.devices()[0]
    x = numbers(5, (1, 4, 1, device.max_image_width + 1), "f4")
    with pytest.raises(relayout.LimitError) as caught:
        cl.Image.from_array(x, ACTIVATION)
    assert caught.value.field == "width" and str(device.max_image_width) in caught.value.limit
    for way in ("mapped", "kernel"):
        image = cl.Image.from_array(x, ACTIVATION, fallback="buffer", way=way)
        assert not image.is_image and image.width == device.max_image_width + 1
        assert same_bits(image.texels(), texels_of(ACTIVATION, x)) and same_bits(image.to_array(way=way), x)
    assert cl.Image.from_array(x[..., :3], ACTIVATION, fallback="buffer").is_image
