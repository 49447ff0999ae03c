#!/usr/bin/env python3
"""GGUF files against PyPI's package gguf, in both directions.

    against_gguf.py RELAYOUT CHECKPOINT_COPY

Without the package the test is skipped.
"""
import shared

gguf, numpy = shared.skip_without("gguf", "numpy")

QUANTISED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ2_XXS",
             "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0")
PLAIN = ("float32", "float16", "float64", "int8", "int16", "int32", "int64")


def arrays(rng):
    """Tensors by name: an array, and the type where the array is bytes of blocks."""
    out = {name: (rng.integers(-100, 100, (2, 3, 5)).astype(name), None) for name in PLAIN}
    for name in QUANTISED:
        if hasattr(gguf.GGMLQuantizationType, name):
            kind = gguf.GGMLQuantizationType[name]
            values, size = gguf.GGML_QUANT_SIZES[kind]
            out[name] = (rng.integers(0, 256, (3, 2 * size), dtype=numpy.uint8), kind)
    out["bf16"] = (rng.integers(0, 256, (4, 6), dtype=numpy.uint8), gguf.GGMLQuantizationType.BF16)
    out["vector"] = (numpy.arange(7, dtype=numpy.float32), None)
    return out


def write(path, tensors, alignment=None):
    writer = gguf.GGUFWriter(str(path), "llama")
    if alignment:
        writer.add_custom_alignment(alignment)
    writer.add_name("a model")
    writer.add_uint8("k.u8", 200)
    writer.add_int8("k.i8", -3)
    writer.add_uint16("k.u16", 60000)
    writer.add_int16("k.i16", -300)
    writer.add_uint64("k.u64", 2 ** 63)
    writer.add_int64("k.i64", -2 ** 40)
    writer.add_float64("k.f64", 0.1)
    writer.add_float32("k.f32", 0.5)
    writer.add_bool("k.bool", True)
    writer.add_array("k.texts", ["a", "é", ""])
    writer.add_array("k.numbers", [1, 2, 3])
    for name, (array, kind) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def values_of(reader):
    """Keys and values of a GGUFReader, without what it adds itself."""
    return {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}


def compare(path, tensors):
    said = shared.listed(path)
    assert list(said["tensors"]) == list(tensors), list(said["tensors"])
    for name, (array, kind) in tensors.items():
        entry = said["tensors"][name]
        dtype = "u2" if name == "bf16" else array.dtype
        numpy.testing.assert_array_equal(shared.array_of(path, entry, dtype), array.view(dtype), err_msg=name)
        if kind and name != "bf16":
            values, size = gguf.GGML_QUANT_SIZES[kind]
            assert entry["type_name"] == name
            if "packed" in entry:
                assert entry["packed_dims"] == [3, 2 * values], entry
    assert said["metadata"]["k.texts"] == ["a", "é", ""] and said["metadata"]["k.u64"] == 2 ** 63
    assert said["metadata"]["k.f64"] == 0.1 and said["metadata"]["k.bool"] is True


def reads_and_writes(folder):
    rng = numpy.random.default_rng(1)
    for alignment in (None, 64):
        tensors = arrays(rng)
        write(folder / "a.gguf", tensors, alignment)
        compare(folder / "a.gguf", tensors)
        shared.copy(folder / "a.gguf", folder / ("b%s.gguf" % alignment))
        before, after = (gguf.GGUFReader(str(folder / name)) for name in ("a.gguf", "b%s.gguf" % alignment))
        assert values_of(before) == values_of(after)
        assert [t.name for t in before.tensors] == [t.name for t in after.tensors]
        for old, new in zip(before.tensors, after.tensors):
            assert old.tensor_type == new.tensor_type and list(old.shape) == list(new.shape), old.name
            numpy.testing.assert_array_equal(old.data, new.data, err_msg=old.name)
            assert new.data_offset % (alignment or 32) == 0


if __name__ == "__main__":
    shared.main(reads_and_writes)
