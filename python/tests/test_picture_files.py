"""load() of .png and .jpeg, against what the pictures were made of, and against Pillow where it is installed."""
import io

import numpy as np
import pytest
import relayout
from pictures import jpeg, png

RNG = np.random.default_rng(3)


def loaded(path, data):
    path.write_bytes(data)
    try:
        return relayout.load(path)
    except relayout.UnsupportedError as error:
        if "which this build lacks" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_is_pixels(tmp_path, channels, interlaced):
    pixels = RNG.integers(0, 256, (13, 21, channels), np.uint8)
    got = loaded(tmp_path / "x.png", png(pixels, interlaced=interlaced))
    assert got.shape == (1, 13, 21, channels) and got.dtype == np.uint8 and np.array_equal(got[0], pixels)
    tensor = relayout.open(tmp_path / "x.png")[""]
    assert (tensor.shape, tensor.layout, tensor.dims, tensor.dtype) == (got.shape, "nhwc", (1, channels, 13, 21), "u8")
    assert np.array_equal(relayout.convert(tensor, "nhwc", "nchw"), pixels.transpose(2, 0, 1)[None])


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_a_png_of_small_samples_is_stretched_to_bytes(tmp_path, bits):
    samples = RNG.integers(0, 1 << bits, (5, 11, 1), np.uint8)
    got = loaded(tmp_path / "x.png", png(samples, bits))
    assert np.array_equal(got[0], samples * (255 // ((1 << bits) - 1)))


def test_a_png_of_16_bits_is_rounded_to_bytes(tmp_path):
    samples = RNG.integers(0, 1 << 16, (5, 7, 3), np.uint16)
    got = loaded(tmp_path / "x.png", png(samples, 16))
    assert np.array_equal(got[0], np.round(samples * (255 / 65535)).astype(np.uint8))


def test_a_png_with_a_palette_is_colors(tmp_path):
    palette = RNG.integers(0, 256, (16, 3), np.uint8)
    indices = RNG.integers(0, 16, (6, 9, 1), np.uint8)
    got = loaded(tmp_path / "x.png", png(indices, 4, 3, palette))
    assert np.array_equal(got[0], palette[indices[..., 0]])


@pytest.mark.parametrize("progressive", [False, True])
def test_a_gray_jpeg_is_pixels(tmp_path, progressive):
    blocks = RNG.integers(0, 256, (3, 5, 1), np.uint8)
    got = loaded(tmp_path / "x.jpg", jpeg(blocks, progressive))
    assert got.shape == (1, 24, 40, 1) and got.dtype == np.uint8
    assert np.array_equal(got[0], blocks.repeat(8, 0).repeat(8, 1))
    assert relayout.open(tmp_path / "x.jpg").format == "jpeg"
    assert relayout.open(tmp_path / "x.jpg")[""].dims == (1, 1, 24, 40)


@pytest.mark.parametrize("progressive", [False, True])
def test_a_jpeg_is_colors(tmp_path, progressive):
    blocks = RNG.integers(60, 200, (4, 6, 3), np.uint8)
    got = loaded(tmp_path / "x.jpeg", jpeg(blocks, progressive))
    y, cb, cr = (blocks[..., c].astype(float) - (0, 128, 128)[c] for c in range(3))
    wanted = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1).clip(0, 255)
    assert got.shape == (1, 32, 48, 3)
    assert np.abs(got[0, ::8, ::8].astype(float) - wanted).max() < 1.01
    assert np.array_equal(got[0], got[0, ::8, ::8].repeat(8, 0).repeat(8, 1))


def test_a_damaged_picture_is_an_error(tmp_path):
    pixels = RNG.integers(0, 256, (9, 9, 3), np.uint8)
    for name, data in (("x.png", png(pixels)), ("x.jpg", jpeg(pixels))):
        loaded(tmp_path / name, data)
        for length in (len(data) // 2, len(data) - 20):
            (tmp_path / name).write_bytes(data[:length])
            with pytest.raises(relayout.CorruptError):
                relayout.load(tmp_path / name)


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.bmp"])
def test_pictures_of_pillow(tmp_path, name):
    image = pytest.importorskip("PIL.Image")
    y, x = np.mgrid[:37, :53]
    pixels = np.stack([x * 4, y * 6, (x + y) * 2], -1).astype(np.uint8)
    file = io.BytesIO()
    image.fromarray(pixels).save(file, {"x.png": "PNG", "x.jpg": "JPEG", "x.bmp": "BMP"}[name])
    got = loaded(tmp_path / name, file.getvalue())
    wanted = np.asarray(image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    # libjpeg-turbo may be another version in Pillow, whose sums may be rounded otherwise.
    assert np.abs(got[0].astype(int) - wanted).max() <= (3 if name == "x.jpg" else 0)
