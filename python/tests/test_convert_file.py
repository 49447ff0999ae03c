"""convert_file(): the same as convert() of what the file holds, whole and in parts."""
import os

import numpy as np
import pytest
import relayout

X = np.arange(2 * 17 * 24 * 20, dtype=np.float32).reshape(2, 17, 24, 20)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)
    return path


@pytest.mark.parametrize("dst", ["nhwc", "nChw16c", "chwn", "abcd"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "s32"])
@pytest.mark.parametrize("max_memory", [None, 1 << 17, 1 << 30])
def test_it_is_what_convert_gives(source, tmp_path, dst, dtype, max_memory):
    out = tmp_path / "y.npy"
    relayout.convert_file(source, out, "nchw", dst, dtype=dtype, max_memory=max_memory)
    expected = relayout.convert(X, "nchw", dst, dtype=dtype)
    got = relayout.load(out)
    assert got.dtype == expected.dtype and np.array_equal(got, expected)


def test_little_memory_makes_many_parts(source, tmp_path):
    seen = []
    relayout.convert_file(source, tmp_path / "y.npy", "nchw", "nhwc", max_memory=1 << 16,
                          progress=lambda done, total: seen.append((done, total)))
    done = [each for each, total in seen]
    assert len(seen) > 3 and done == sorted(set(done)) and done[-1] == seen[0][1]
    with pytest.raises(relayout.LimitError, match="smallest part") as error:
        relayout.convert_file(source, tmp_path / "z.npy", "nchw", "nhwc", max_memory=1000)
    assert error.value.field == "max_memory" and not os.path.exists(tmp_path / "z.npy")
    for wrong in (0, -1):
        with pytest.raises(relayout.InvalidArgumentError):
            relayout.convert_file(source, tmp_path / "z.npy", "nchw", "nhwc", max_memory=wrong)


def test_attributes_a_channel_in_parts(tmp_path):
    photo = np.random.default_rng(1).integers(0, 255, (3, 40, 50, 3), np.uint8)
    np.save(tmp_path / "photo.npy", photo)
    how = dict(dtype="f32", mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])
    expected = relayout.convert(photo, "nhwc", "nchw", **how)
    for max_memory in (None, 1 << 17):
        relayout.convert_file(tmp_path / "photo.npy", tmp_path / "y.npy", "nhwc", "nchw", overwrite=True,
                              max_memory=max_memory, **how)
        assert np.array_equal(relayout.load(tmp_path / "y.npy"), expected)


def test_other_orders_of_bytes_and_dims(tmp_path):
    for name, x in {"big": X.astype(">f4"), "fortran": np.asfortranarray(X), "both": np.asfortranarray(X.astype(">f4")),
                    "none": X[:0]}.items():
        np.save(tmp_path / f"{name}.npy", x)
        for max_memory in (None, 1 << 20):
            relayout.convert_file(tmp_path / f"{name}.npy", tmp_path / "y.npy", "nchw", "nhwc", overwrite=True,
                                  max_memory=max_memory)
            assert np.array_equal(relayout.load(tmp_path / "y.npy"), x.transpose(0, 2, 3, 1)), (name, max_memory)


def test_raw_bytes_and_recorded_layouts(tmp_path):
    X.tofile(tmp_path / "x.bin")
    relayout.convert_file(tmp_path / "x.bin", tmp_path / "y.safetensors", "nchw", "nChw16c", dims=X.shape,
                          src_dtype="f32", name="w")
    # What the file records need not be said again.
    relayout.convert_file(tmp_path / "y.safetensors", tmp_path / "z.npy", None, "nchw", name="w")
    assert np.array_equal(relayout.load(tmp_path / "z.npy"), X)
    with pytest.raises(relayout.InvalidArgumentError, match="src_dtype"):
        relayout.convert_file(tmp_path / "x.bin", tmp_path / "z.bin", "nchw", "nhwc", dims=X.shape)
    with pytest.raises(relayout.BufferTooSmallError):
        relayout.convert_file(tmp_path / "x.bin", tmp_path / "z.bin", "nchw", "nhwc", dims=(9, *X.shape[1:]),
                              src_dtype="f32")


def test_layouts_that_end_in_views_are_recorded(source, tmp_path):
    part = relayout.layout("strides:9000,520,20,1.narrow(2,1,24)", (2, 17, 26, 20))
    for dst in ("nhwc.flip(1)", "chwn.permute(3,0,1,2).permute(1,2,3,0)", "ldigo;gates:zrh->rzh", part):
        x = np.arange(1 * 2 * 4 * 3 * 5, dtype=np.float32).reshape(1, 2, 4, 3, 5) if "gates" in str(dst) else X
        src = "ldigo" if "gates" in str(dst) else "nchw"
        np.save(source, x)
        for max_memory in (None, 1 << 18):
            relayout.convert_file(source, tmp_path / "y.safetensors", src, dst, overwrite=True, max_memory=max_memory)
            relayout.convert_file(tmp_path / "y.safetensors", tmp_path / "z.npy", None, src, overwrite=True,
                                  max_memory=max_memory)
            assert np.array_equal(relayout.load(tmp_path / "z.npy"), x), dst


def test_what_ends_it_leaves_nothing(source, tmp_path):
    before = sorted(os.listdir(tmp_path))

    def stop(done, total):
        raise KeyboardInterrupt

    for max_memory in (None, 1 << 17):
        with pytest.raises(KeyboardInterrupt):
            relayout.convert_file(source, tmp_path / "y.npy", "nchw", "nhwc", max_memory=max_memory, progress=stop)
        assert sorted(os.listdir(tmp_path)) == before
    (tmp_path / "y.npy").write_bytes(b"kept")
    with pytest.raises(KeyboardInterrupt):
        relayout.convert_file(source, tmp_path / "y.npy", "nchw", "nhwc", overwrite=True, progress=stop)
    assert (tmp_path / "y.npy").read_bytes() == b"kept"
    with pytest.raises(relayout.FileError):
        relayout.convert_file(source, tmp_path / "y.npy", "nchw", "nhwc")


@pytest.mark.parametrize("max_memory", [None, 1 << 17])
def test_a_source_that_is_written_meanwhile(source, tmp_path, max_memory):
    before = sorted(os.listdir(tmp_path))

    def write(done, total):
        with open(source, "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"new!")
        os.utime(source, ns=(1, 1))  # another time of writing than before, whatever the clock's steps

    with pytest.raises(relayout.CorruptError, match="was written while it was read"):
        relayout.convert_file(source, tmp_path / "y.npy", "nchw", "nhwc", max_memory=max_memory, progress=write)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("max_memory", [None, 1 << 17])
def test_orders_of_gates_that_are_no_layout(tmp_path, max_memory):
    onnx = np.random.default_rng(2).standard_normal((1, 2, 3, 4, 5), dtype=np.float32)
    ours = relayout.permute_gates(onnx, "iofc", "ifco", dim=3)
    scale = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 1, 4, 1)
    np.save(tmp_path / "x.npy", onnx)
    convert = lambda a, b, *how, **more: relayout.convert_file(  # noqa: E731
        tmp_path / a, tmp_path / b, *how, overwrite=True, max_memory=max_memory, **more)
    convert("x.npy", "y.npy", "ldigo;gates:iofc->ifco", "ldigo", scale=scale)
    assert np.array_equal(relayout.load(tmp_path / "y.npy"), ours * scale)
    convert("x.npy", "y.safetensors", "ldigo;gates:iofc->ifco", "ldgoi;gates:cofi->ifco")
    assert relayout.open(tmp_path / "y.safetensors")["tensor"].layout == "ldgoi;gates:cofi->ifco"
    convert("y.safetensors", "z.npy", None, "ldigo")
    assert np.array_equal(relayout.load(tmp_path / "z.npy"), ours)
    # Gates and outputs as one axis, whose dims follow from the order.
    np.save(tmp_path / "w.npy", np.arange(24, dtype=np.float32).reshape(1, 8, 3))
    convert("w.npy", "v.npy", "ldgoi;gates:iofc->ifco", "ldgoi")
    joined = relayout.permute_gates(relayout.load(tmp_path / "w.npy"), "iofc", "ifco", dim=1)
    assert np.array_equal(relayout.load(tmp_path / "v.npy").ravel(), joined.ravel())


def test_dims_may_not_contradict_the_files(tmp_path):
    x = np.arange(680, dtype=np.float32).reshape(2, 17, 5, 4)
    blocked = relayout.convert(x, "nchw", "nChw8c")
    relayout.save(tmp_path / "x.safetensors", blocked, name="w", layout="nChw8c", dims=x.shape)
    for src in (None, "nChw8c"):
        with pytest.raises(relayout.InvalidArgumentError, match="2x18x5x4 .* 2x17x5x4") as error:
            relayout.convert_file(tmp_path / "x.safetensors", tmp_path / "y.npy", src, "nchw", dims=(2, 18, 5, 4))
        assert error.value.field == "dims" and not (tmp_path / "y.npy").exists()
        relayout.convert_file(tmp_path / "x.safetensors", tmp_path / "y.npy", src, "nchw", dims=x.shape, overwrite=True)
        assert np.array_equal(relayout.load(tmp_path / "y.npy"), x)
        (tmp_path / "y.npy").unlink()
