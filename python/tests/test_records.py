"""Records against NumPy's structured arrays, and values of packed weights against PyPI's gguf and against loops."""
import random

import numpy as np
import pytest

import relayout

_TYPES = ["u1", "i1", "?", "<u2", "<i2", "<f2", "<u4", "<i4", "<f4", "<u8", "<i8", "<f8"]


def _random_dtype(rng, depth=0):
    """A random structured type: members with shapes, structs in structs, aligned or packed, with gaps or not."""
    members = []
    for k in range(rng.randint(1, 4)):
        kind = _random_dtype(rng, depth + 1) if depth < 2 and rng.random() < 0.15 else rng.choice(_TYPES)
        shape = tuple(rng.randint(1, 3) for _ in range(rng.choice((0, 0, 1, 2))))
        members.append((f"m{k}", kind, shape) if shape else (f"m{k}", kind))
    dtype = np.dtype(members, align=rng.random() < 0.7)
    if rng.random() < 0.3:  # with gaps at other places, and at the end
        offsets, at = [], 0
        for name in dtype.names:
            part = dtype.fields[name][0]
            at = -(-at // part.alignment) * part.alignment + rng.choice((0, part.alignment))
            offsets.append(at)
            at += part.itemsize
        dtype = np.dtype({"names": dtype.names, "formats": [dtype.fields[n][0] for n in dtype.names],
                          "offsets": offsets, "itemsize": at + rng.choice((0, 8))})
    return dtype


def _leaves(array, prefix=""):
    """The fields of an array that are no structs, by their joined names."""
    for name in array.dtype.names:
        part = array[name]
        if part.dtype.names:
            yield from _leaves(part, prefix + name + ".")
        else:
            yield prefix + name, part


def _is_aligned(array, part):
    item = part.dtype.itemsize
    begin = part.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    steps = [stride for stride, extent in zip(part.strides, part.shape) if extent > 1]
    return all(number % item == 0 for number in [begin, *steps])


def test_two_thousand_structured_types_lie_where_numpy_has_them():
    rng = random.Random(4)
    taken = refused = 0
    for _ in range(2000):
        dtype = _random_dtype(rng)
        shape = tuple(rng.randint(1, 3) for _ in range(rng.choice((0, 1, 2))))
        array = np.zeros(shape, dtype)
        leaves = list(_leaves(array))
        misaligned = [name for name, part in leaves if not _is_aligned(array, part)]
        if misaligned:
            with pytest.raises(relayout.InvalidArgumentError) as error:
                relayout.Record(dtype, shape)
            assert any(f"field {name} " in str(error.value) for name in misaligned)
            refused += 1
            continue
        record = relayout.Record(dtype, shape)
        taken += 1
        assert record.bytes == array.nbytes
        assert list(record.fields) == [name for name, _ in leaves]
        base = array.__array_interface__["data"][0]
        for name, part in leaves:
            field = record.fields[name]
            assert field.layout.dims == part.shape
            begin = part.__array_interface__["data"][0] - base
            for index in [tuple(rng.randrange(extent) for extent in part.shape) for _ in range(3)]:
                expected = begin + sum(i * step for i, step in zip(index, part.strides))
                assert field.layout.offset(index) * part.dtype.itemsize == expected
        assert relayout.Record(record.expression) == record
        assert relayout.Record(record.to_dict()) == record
    assert taken > 500 and refused > 200


def test_fields_are_taken_and_put():
    dtype = np.dtype([("id", "u1"), ("xy", "<f4", (2,)), ("on", "?")], align=True)
    array = np.zeros((3, 4), dtype)
    array["xy"] = np.random.default_rng(1).normal(size=(3, 4, 2))
    array["id"] = np.arange(12).reshape(3, 4)
    record = relayout.Record(dtype, (3, 4))
    assert (record.take(array, "xy") == array["xy"]).all()
    record.put(array, "id", 2 * np.arange(12, dtype=np.uint8).reshape(3, 4))
    assert (array["id"] == 2 * np.arange(12).reshape(3, 4)).all()
    assert (record.take(array, "xy") == array["xy"]).all()
    assert record.at_byte(0)[0].field == "id" and record.at_byte(1) == []
    assert record.free_bits == 12 * 8 * (dtype.itemsize - 10)
    with pytest.raises(relayout.InvalidArgumentError, match="there are id, xy, on"):
        record.take(array, "z")
    text = relayout.Record("record{id:u8, xy:f32[2], on:bool;aligned}", (3, 4))
    assert text == record and text.numpy_dtype() == dtype and "float xy[2];" in text.c()


def test_nibbles_are_taken_and_put_with_a_value_a_byte():
    record = relayout.Record("ggml:q4_0", (2, 64))
    raw = np.random.default_rng(2).integers(0, 256, record.bytes, dtype=np.uint8)
    codes = record.take(raw, "q")
    blocks = raw.reshape(2, 2, 18)[:, :, 2:]
    assert (codes.reshape(2, 2, 2, 16)[:, :, 0] == blocks % 16).all()
    assert (codes.reshape(2, 2, 2, 16)[:, :, 1] == blocks // 16).all()
    copy = raw.copy()
    record.put(copy, "q", 15 - codes)
    assert (record.take(copy, "q") == 15 - codes).all()
    assert (record.take(copy, "d").view(np.uint16) == record.take(raw, "d").view(np.uint16)).all()


def test_a_record_is_described_field_by_field():
    assert str(relayout.Record("record{a:u8, x:f32[3];aligned}", (2,))) == (
        "32 bytes, of which 48 bits are in no field\n"
        "a  u8  2  digits:(2,16)\n"
        "x  f32  2x3  digits:(2,4)|(3,1)@1")


def test_overlaps_are_refused_with_both_names():
    with pytest.raises(relayout.NotInjectiveError, match=r"a\(3\) and b\(0\) share bit 0 of byte 7"):
        relayout.Record("record{a:f16[4] = contiguous, b:u8[2] = contiguous@7}")


def _ggml_types():
    return [name for name in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K",
                              "tq2_0")
            if _known(f"ggml:{name}")]


def _known(name):
    try:
        relayout._native._packed_format(name)
    except relayout.Error:
        return False
    return True


@pytest.mark.parametrize("name", _ggml_types())
def test_a_thousand_random_blocks_have_ggufs_values(name):
    gguf = pytest.importorskip("gguf")
    from gguf import quants
    kind = gguf.GGMLQuantizationType[name.upper()]
    values, size = gguf.GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(3).integers(0, 256, (40, 25 * size), dtype=np.uint8)
    with np.errstate(all="ignore"):
        expected = quants.dequantize(raw, kind)
    found = relayout.dequantize(f"ggml:{name}", raw, (40, 25 * values))
    same = found.view(np.uint32) == expected.view(np.uint32)
    assert (same | (np.isnan(found) & np.isnan(expected))).all()
    half = relayout.dequantize(f"ggml:{name}", raw, (40, 25 * values), dtype="f16")
    with np.errstate(all="ignore"):
        assert np.array_equal(half, expected.astype(np.float16), equal_nan=True)


@pytest.mark.parametrize("name, scale_bytes, limit", [("mxfp4", 1, 255), ("nvfp4", 4, 127)])
def test_small_floats_of_gguf_have_its_values(name, scale_bytes, limit):
    gguf = pytest.importorskip("gguf")
    from gguf import quants
    kind = getattr(gguf.GGMLQuantizationType, name.upper(), None)
    if kind is None or not hasattr(quants, name.upper()):
        pytest.skip(f"this version of gguf has no {name}")
    values, size = gguf.GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(6).integers(0, 256, (40, 25, size), dtype=np.uint8)
    raw[:, :, :scale_bytes] %= limit  # the scales above are NaN in the formats, and numbers in ggml
    raw = raw.reshape(40, 25 * size)
    assert (relayout.dequantize(f"ggml:{name}", raw, (40, 25 * values)) == quants.dequantize(raw, kind)).all()


def _random_codes(rng, shape):
    return rng.integers(0, 16, shape, dtype=np.uint32)


def test_gptqs_and_awqs_checkpoints_have_the_values_of_their_loops():
    rng = np.random.default_rng(5)
    k, n, group = 256, 64, 64
    w, z = _random_codes(rng, (k, n)), _random_codes(rng, (k // group, n))
    s = rng.normal(size=(k // group, n)).astype(np.float16)
    scale = s.astype(np.float32).repeat(group, 0)
    zero = z.astype(np.float32).repeat(group, 0)
    words = sum(w[i::8] << (4 * i) for i in range(8)).astype(np.uint32)
    zeros = sum(z[:, i::8] << (4 * i) for i in range(8)).astype(np.uint32)
    found = relayout.dequantize("gptq", {"qweight": words, "qzeros": zeros, "scales": s}, (k, n))
    assert (found == scale * (w.astype(np.float32) - (zero + 1))).all()
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    words = sum(w[:, order[i]::8] << (4 * i) for i in range(8)).astype(np.uint32)
    zeros = sum(z[:, order[i]::8] << (4 * i) for i in range(8)).astype(np.uint32)
    found = relayout.dequantize("awq", {"qweight": words, "qzeros": zeros, "scales": s}, (k, n))
    assert (found == scale * (w.astype(np.float32) - zero)).all()
    found = relayout.dequantize("awq", {"qweight": words, "qzeros": zeros, "scales": s.astype(np.float32)}, (k, n))
    assert (found == scale * (w.astype(np.float32) - zero)).all()


def _gptq(rng, k, n, group, zero=7):
    w = _random_codes(rng, (k, n))
    z = np.full((k // group, n), zero, np.uint32)
    s = rng.normal(size=(k // group, n)).astype(np.float16)
    words = sum(w[i::8] << (4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
    zeros = sum(z[:, i::8] << (4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
    return {"qweight": words, "qzeros": zeros, "scales": s}


@pytest.mark.parametrize("group", [64, 256])
def test_repacked_weights_have_the_same_values_and_the_loaders_shapes(group):
    k, n = 256, 64
    gptq = _gptq(np.random.default_rng(8), k, n, group)
    values = relayout.dequantize("gptq", gptq, (k, n))
    awq = relayout.repack("gptq", gptq, (k, n), "awq")
    assert awq.exact and awq.shape == (k, n) and list(awq.buffers) == ["qweight", "qzeros", "scales"]
    assert awq.buffers["qweight"].dtype == np.int32 and awq.buffers["qweight"].shape == (k, n // 8)
    marlin = relayout.repack("awq", awq.buffers, (k, n), "marlin")
    assert marlin.buffers["B"].shape == (k // 16, 2 * n) and marlin.buffers["s"].shape == (k // group, n)
    assert (relayout.dequantize("marlin", marlin.buffers, (k, n)) == values).all()
    named = {"qweight": marlin.buffers["B"], "scales": marlin.buffers["s"]}  # as other programs call them
    assert (relayout.dequantize("marlin", named, (k, n)) == values).all()
    back = relayout.repack("marlin", named, (k, n), "gptq")
    assert all((back.buffers[name] == gptq[name]).all() for name in gptq)
    # The zero point is 8, and a minimum of -8 scales is a number of f16, as one of -7 scales is not.
    mlx = relayout.repack("gptq", gptq, (k, n), "mlx:affine")
    assert mlx.exact and (relayout.dequantize("mlx:affine", mlx.buffers, (n, k)).T == values).all()
    gptq = _gptq(np.random.default_rng(8), k, n, group, zero=6)
    values = relayout.dequantize("gptq", gptq, (k, n))
    with pytest.raises(relayout.UnsupportedError, match="cannot hold .* the minimum of group"):
        relayout.repack("gptq", gptq, (k, n), "mlx:affine")
    mlx = relayout.repack("gptq", gptq, (k, n), "mlx:affine", to_group=64, requantise=True)
    assert mlx.shape == (n, k) and not mlx.exact and mlx.buffers["weight"].dtype == np.uint32
    found = relayout.dequantize("mlx:affine", mlx.buffers, (n, k))
    assert abs(np.abs(found.T - values).max() - mlx.largest_error) < 1e-6


def test_blocks_are_one_array_and_dims_are_written():
    raw = np.random.default_rng(9).integers(0, 256, (2, 44), dtype=np.uint8)
    made = relayout.repack("ggml:q5_0", raw, (2, 64), "ggml:q8_0")
    assert made.exact and made.buffers.shape == (2, 68) and made.buffers.dtype == np.uint8
    assert np.array_equal(relayout.dequantize("ggml:q8_0", made.buffers, (2, 64)),
                          relayout.dequantize("ggml:q5_0", raw, (2, 64)), equal_nan=True)
    gptq = _gptq(np.random.default_rng(8), 256, 64, 64)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    stored = relayout.repack("gptq", gptq, (256, 64), "compressed-tensors:pack-quantized", requantise=True).buffers
    assert stored["weight_shape"].tolist() == [64, 256] and stored["weight_scale"].dtype == ml_dtypes.bfloat16
    with pytest.raises(relayout.InvalidArgumentError, match="has groups of its own"):
        relayout.repack("gptq", gptq, (256, 64), "ggml:q4_0", to_group=64)


def test_values_are_stored_in_any_type():
    raw = np.random.default_rng(10).integers(0, 60, (2, 36), dtype=np.uint8)
    values = relayout.dequantize("ggml:q4_0", raw, (2, 64))
    assert (relayout.dequantize("ggml:q4_0", raw, (2, 64), dtype="f64") == values).all()
    assert (relayout.dequantize("ggml:q4_0", raw, (2, 64), dtype="s16") == np.rint(values)).all()


def test_a_buffer_of_a_packed_format_is_a_record():
    zeros = relayout.Record("gptq", (256, 64), buffer="qzeros", group=32)
    assert zeros.fields["z"].layout.dims == (8, 64) and zeros.bytes == 256
    with pytest.raises(relayout.InvalidArgumentError, match="buffer and group are of a packed format"):
        relayout.Record({"fields": [], "bytes": 0}, buffer="x")


def test_what_is_missing_is_named():
    with pytest.raises(relayout.InvalidArgumentError, match="tensor qzeros, which is not given"):
        relayout.dequantize("gptq", {"qweight": np.zeros((16, 8), np.uint32), "scales": np.zeros((1, 8), np.float16)},
                            (128, 8))
    with pytest.raises(relayout.UnsupportedError, match="codebook"):
        relayout.dequantize("ggml:iq2_xs", np.zeros(74, np.uint8), (1, 256))
    with pytest.raises(relayout.InvalidArgumentError, match="no packed format is called"):
        relayout.dequantize("ggml:q9_9", np.zeros(74, np.uint8), (1, 256))


def test_values_in_the_order_of_activations():
    rows, columns, group = 64, 24, 16
    rng = np.random.default_rng(5)
    q, z = rng.integers(0, 16, (rows, columns)), rng.integers(0, 16, (rows // group, columns))
    s = rng.integers(1, 100, (rows // group, columns)).astype(np.float16) / 64
    g_idx = rng.permutation(rows) % (rows // group)
    words = (q.reshape(rows // 8, 8, columns).astype(np.uint32) << (4 * np.arange(8, dtype=np.uint32))[:, None]).sum(
        1, dtype=np.uint32)
    zeros = (z.reshape(rows // group, columns // 8, 8).astype(np.uint32) << (4 * np.arange(8, dtype=np.uint32))).sum(
        2, dtype=np.uint32)
    buffers = {"qweight": words, "qzeros": zeros, "scales": s, "g_idx": g_idx.astype(np.int32)}
    values = relayout.dequantize("gptq:v2", buffers, (rows, columns))
    assert (values == s[g_idx].astype(np.float32) * (q - z[g_idx]).astype(np.float32)).all()
    with pytest.raises(relayout.InvalidArgumentError, match="puts index 3 in group 9"):
        relayout.dequantize("gptq:v2", {**buffers, "g_idx": np.where(np.arange(rows) == 3, 9, g_idx)}, (rows, columns))
    with pytest.raises(relayout.UnsupportedError, match="order of activations"):
        relayout.repack("gptq:v2", buffers, (rows, columns), "awq")
    in_order = {**buffers, "g_idx": np.arange(rows) // group}
    assert set(relayout.repack("gptq:v2", in_order, (rows, columns), "awq").buffers) == {"qweight", "qzeros", "scales"}
