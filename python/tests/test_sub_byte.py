"""Elements of fewer than 8 bits and f8_e8m0: every value of every type of up to 16 bits to each of them and back,
against the package ml_dtypes; packed bytes against a loop over bits; files."""
import itertools

import numpy as np
import pytest

import relayout

ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = {"f4_e2m1": "float4_e2m1fn", "f6_e3m2": "float6_e3m2fn", "f6_e2m3": "float6_e2m3fn",
          "f8_e8m0": "float8_e8m0fnu"}
INTEGERS = {"s4": "int4", "u4": "uint4", "s2": "int2", "u2": "uint2", "u1": "uint1"}
BITS = {"f4_e2m1": 4, "f6_e3m2": 6, "f6_e2m3": 6, "f8_e8m0": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "u1": 1}
FROM = ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int16", "uint16", "int8", "uint8", "bool"]


def theirs(name):
    found = getattr(ml_dtypes, name, None)
    if found is None and not hasattr(np, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    return np.dtype(found if found is not None else name)


def every_value(dtype):
    """All values of a type of NumPy or ml_dtypes of up to 16 bits."""
    ours = next((name for name, other in {**FLOATS, **INTEGERS}.items() if other == dtype.name), None)
    if dtype == bool:
        return np.array([False, True])
    if ours in INTEGERS:
        low = -(1 << BITS[ours] - 1) if ours[0] == "s" else 0
        return np.arange(low, low + (1 << BITS[ours])).astype(np.int8).astype(dtype)
    count = 1 << (BITS[ours] if ours else 8 * dtype.itemsize)
    return np.arange(count).astype(np.uint16 if dtype.itemsize == 2 else np.uint8).view(dtype)


def saturated(values, name):
    """The values as integers of a type: NaN is 0, and what is beyond the range its end."""
    low = -(1 << BITS[name] - 1) if name[0] == "s" else 0
    numbers = np.nan_to_num(values.astype(np.float64), nan=0, posinf=1e9, neginf=-1e9)
    return np.rint(np.clip(numbers, low, low + (1 << BITS[name]) - 1)).astype(np.int64)


def packed(codes, bits):
    """Elements' bits as bytes, bit by bit."""
    whole = 0
    for at, code in enumerate(codes):
        whole |= (int(code) & (1 << bits) - 1) << bits * at
    return np.frombuffer(whole.to_bytes((bits * len(codes) + 7) // 8, "little"), np.uint8)


@pytest.mark.parametrize("source", FROM + list(FLOATS.values()) + list(INTEGERS.values()))
@pytest.mark.parametrize("to", list(FLOATS) + list(INTEGERS))
def test_every_value_of_small_types(source, to):
    x = every_value(theirs(source))
    if source == theirs({**FLOATS, **INTEGERS}[to]).name:
        return
    if to in FLOATS:
        expected = x.astype(np.float32).astype(theirs(FLOATS[to]))
        codes = expected.view(np.uint8).copy()
        if to == "f8_e8m0":  # ml_dtypes rounds the lowest exponent up as soon as there is more; 0 is the nearest
            numbers = x.astype(np.float64)
            codes[(numbers > 2.0**-127) & (numbers < 1.5 * 2.0**-127)] = 0
    else:
        codes = saturated(x, to)
    got = np.asarray(relayout.convert(x, "a", "a", dtype=to)).view(np.uint8)
    assert got.tolist() == (codes if BITS[to] == 8 else packed(codes, BITS[to])).tolist()


@pytest.mark.parametrize("source", list(FLOATS) + list(INTEGERS))
@pytest.mark.parametrize("to", ["float32", "float64", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_every_value_of_a_type_as_a_float(source, to):
    dtype = theirs({**FLOATS, **INTEGERS}[source])
    x = every_value(dtype)
    expected = x.astype(np.float32).astype(theirs(to))
    raw = x.view(np.uint8)
    bits = raw if BITS[source] == 8 else packed(raw, BITS[source])
    got = relayout.convert(bits, "a", "a", dims=(x.size,), src_dtype=source, dtype=theirs(to))
    assert np.array_equal(got.astype(np.float64), expected.astype(np.float64), equal_nan=True)
    assert np.array_equal(np.signbit(got.astype(np.float64)), np.signbit(expected.astype(np.float64)))


@pytest.mark.parametrize("name", list(FLOATS) + list(INTEGERS))
def test_layouts_and_arrays_of_one_element_a_byte(name):
    dtype = theirs({**FLOATS, **INTEGERS}[name])
    values = every_value(dtype)
    x = values[np.arange(3 * 5 * 7) * 11 % values.size].reshape(3, 5, 7)
    got = relayout.convert(x, "abc", "cba")
    assert got.dtype == dtype and np.array_equal(got.view(np.uint8), x.view(np.uint8).transpose(2, 1, 0))
    bytes_of_it = relayout.convert(x, "abc", "bac", dtype=name)
    codes = x.view(np.uint8).transpose(1, 0, 2).reshape(-1)
    want = codes if BITS[name] == 8 else packed(codes, BITS[name])
    assert np.asarray(bytes_of_it).view(np.uint8).reshape(-1).tolist() == want.tolist()


@pytest.mark.parametrize("name, extension",
                         list(itertools.product(list(FLOATS) + list(INTEGERS), [".npy", ".safetensors"])))
def test_files(name, extension, tmp_path):
    dtype = theirs({**FLOATS, **INTEGERS}[name])
    values = every_value(dtype)
    for shape in ((3, 5), (4, 8)):
        x = values[np.arange(np.prod(shape)) * 7 % values.size].reshape(shape)
        path = tmp_path / f"x{shape[0]}{extension}"
        relayout.save(path, x if extension == ".npy" else {"x": x})
        loaded = relayout.load(path)
        got = loaded if extension == ".npy" else loaded["x"]
        assert got.dtype == dtype and np.array_equal(got.view(np.uint8) & (1 << BITS[name]) - 1,
                                                     x.view(np.uint8) & (1 << BITS[name]) - 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", [name for name in BITS if BITS[name] < 8])
def test_files_that_numpy_writes_have_an_element_a_byte(name, order, tmp_path):
    dtype = theirs({**FLOATS, **INTEGERS}[name])
    values = every_value(dtype)
    x = np.asarray(values[np.arange(3 * 5) * 7 % values.size].reshape(3, 5), order=order)
    path, out = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(path, x)
    loaded = relayout.load(path, dtype=name)
    assert loaded.dtype == dtype and np.array_equal(loaded.view(np.uint8), x.view(np.uint8))
    relayout.convert_file(path, out, "ab", "ba", src_dtype=name, dtype="f32")
    assert np.array_equal(np.load(out), x.astype(np.float32).T)
