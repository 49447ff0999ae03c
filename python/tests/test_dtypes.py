"""Types by the names that people type, wherever a function takes a type."""
import numpy as np
import pytest
import relayout
from relayout._dtypes import name_of

MEANINGS = {
    "f64": ["f64", "float64", "double", "fp64", "<f8", np.float64, np.dtype("f8"), float, np.double],
    "f32": ["f32", "float32", "fp32", "single", "Float32", "<f4", "torch.float", np.float32, np.dtype("=f4")],
    "f16": ["f16", "float16", "half", "fp16", "<f2", "torch.float16", np.half],
    "bf16": ["bf16", "bfloat16", "torch.bfloat16", "ml_dtypes.bfloat16"],
    "f8_e4m3": ["f8_e4m3", "fp8_e4m3", "float8_e4m3fn", "F8_E4M3", "torch.float8_e4m3fn"],
    "f8_e5m2": ["f8_e5m2", "fp8_e5m2", "float8_e5m2"],
    "s64": ["s64", "int64", "i64", "long", "<i8", np.int64],
    "s32": ["s32", "int32", "i32", "torch.int", "<i4", np.int32, np.dtype("i4")],
    "u8": ["u8", "uint8", "ubyte", "|u1", np.uint8],
    "s4": ["s4", "int4"],
    "u4": ["u4", "uint4"],
    "u1": ["u1", "uint1", "bit"],
    "f4_e2m1": ["f4_e2m1", "float4_e2m1fn", "e2m1"],
    "f8_e8m0": ["f8_e8m0", "float8_e8m0fnu", "torch.float8_e8m0fnu", "F8_E8M0"],
    "bool": ["bool", "bool_", "boolean", "|b1", np.bool_, bool],
}


@pytest.mark.parametrize("ours", MEANINGS)
def test_names_of_every_library_are_understood(ours):
    for said in MEANINGS[ours]:
        assert name_of(said) == ours, said


def test_types_of_ml_dtypes_and_pytorch_are_understood():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert name_of(ml_dtypes.bfloat16) == name_of(np.dtype(ml_dtypes.bfloat16)) == "bf16"
    assert name_of(ml_dtypes.float8_e4m3fn) == "f8_e4m3" and name_of(ml_dtypes.float8_e5m2) == "f8_e5m2"
    torch = pytest.importorskip("torch")
    assert name_of(torch.half) == "f16" and name_of(torch.float) == "f32" and name_of(str(torch.long)) == "s64"


@pytest.mark.parametrize("text, both", [("i4", ("s4", "s32")), ("i8", ("s8", "s64")), ("float", ("f32", "f64")),
                                        ("int", ("s32", "s64")), ("byte", ("s8", "u8"))])
def test_a_name_of_two_types_is_refused_with_both(text, both):
    with pytest.raises(relayout.ParseError) as error:
        relayout.convert(np.zeros(3, np.float32), "a", "a", dtype=text)
    assert error.value.field == "dtype" and error.value.value == text
    behind = str(error.value).partition("u1; ")[2]
    assert all(name in behind for name in both)


def test_a_misspelt_name_is_refused_with_the_nearest():
    with pytest.raises(relayout.ParseError, match="did you mean f32?"):
        relayout.empty((2,), "f33")


def test_every_function_takes_every_kind_of_type():
    layout = relayout.layout("ab", (2, 3))
    for half in ("half", "fp16", np.float16, np.dtype("<f2")):
        assert relayout.empty((2,), half).dtype == np.float16
        assert relayout.convert(np.ones((2, 3)), "ab", "ba", dtype=half).dtype == np.float16
        assert relayout.convert(np.ones((2, 3), np.uint16), "ab", "ba", src_dtype=half, dtype="f32").dtype == np.float32
        assert layout.span_bytes(half) == 12 and layout.strides_bytes(half) == (6, 2)
        assert "F16" in layout.as_("directml", half) or "16" in layout.as_("directml", half)
        assert relayout.Buffer.allocate(layout, half).dtype == "f16"
        assert relayout.interop.to_directml(layout, half) == relayout.interop.to_directml(layout, "f16")


def test_four_bits_are_bytes_of_two():
    assert relayout.convert(np.float32([1, -2, 3]), "a", "a", dtype="int4").tolist() == [0xe1, 0x03]


def types_of_numpy_alone():
    """In another order of bytes; and of 4 bits, as types and as classes, where ml_dtypes is installed."""
    out = [np.dtype(t) for t in (">i2", ">i4", ">i8", ">u2", ">f2", ">f4", ">f8")]
    try:
        import ml_dtypes
    except ImportError:
        return out
    return [*out, np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4), ml_dtypes.int4]


@pytest.mark.parametrize("dtype", types_of_numpy_alone(), ids=str)
def test_pytorch_has_no_result_of_a_type_of_numpy_alone(dtype):
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for call in (relayout.convert, relayout.plan_conversion):
        with pytest.raises(relayout.UnsupportedError) as caught:
            call(x, "ab", "ba", dtype=dtype)
        assert caught.value.field == "dtype" and caught.value.value == str(np.dtype(dtype))
    with pytest.raises(relayout.UnsupportedError):
        relayout.empty((2, 3), dtype, like=x)
    out = np.zeros((3, 2), dtype)  # an array of NumPy's has these types
    assert relayout.convert(x, "ab", "ba", dtype=dtype, out=out) is out
    assert (out.astype("f4") == x.numpy().T).all()
    relayout.copy(out, x.T + 1)
    assert (out.astype("f4") == x.numpy().T + 1).all()
