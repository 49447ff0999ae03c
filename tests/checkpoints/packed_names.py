#!/usr/bin/env python3
"""What rules of packed weights make of names and shapes that are unusual or hostile: tensors whose names mean one
matrix, names that other rules have changed before, tables of groups that a format does not have, codes without the dim
of their pieces, and extents whose product overflows.

    packed_names.py RELAYOUT

Without NumPy the test is skipped.
"""
import json

import shared

numpy = shared.skip_without("numpy")

import packed  # noqa: E402, its loops and files
from packed import run  # noqa: E402
from plain_files import expect, load, save  # noqa: E402


def one_matrix_two_names(folder):
    """Every tensor becomes another one, or the names are refused; none is lost."""
    rng = numpy.random.default_rng(1)
    tensors = {name: rng.normal(size=(32, 32)).astype("f4") for name in ("a", "a.weight", "b")}
    save(folder / "a.safetensors", tensors)
    run("convert", "a.safetensors", "b.safetensors", "--map", "*: f32 -> ggml:q8_0", folder=folder)
    have = load(folder / "b.safetensors")
    assert set(have) == set(tensors), sorted(have)
    for name, values in tensors.items():
        blocks = have[name].reshape(-1, 34)
        read = blocks[:, :2].copy().view("f2").astype("f4") * blocks[:, 2:].view("i1")
        step = numpy.abs(values).max(1, keepdims=True) / 127
        assert (numpy.abs(read - values) <= 1.01 * step).all(), name
    q, z, s = packed.layer(rng, 64, 64, 32)
    save(folder / "a.safetensors", {"a": numpy.ones((64, 64), "f2"), "a.weight": numpy.ones((64, 64), "f2")})
    said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: f16 -> mlx:affine, group 32", folder=folder,
               code=3)
    assert 'tensors "a" and "a.weight" both become "a.' in said, said


def renamed_before(folder):
    """A rule that goes on gives the names that the next rule matches and writes."""
    q, z, s = packed.layer(numpy.random.default_rng(2), 128, 64, 64)
    save(folder / "a.safetensors", packed.behind("old.x", packed.gptq(q, z, s, 64)))
    first = '[[rule]]\nmatch = "old.*"\nrename = "new.{1}"\ngo_on = true\n'
    want = packed.behind("new.x", packed.awq(q, z, s))
    for match, rename, made in (("new.*", "", want),
                                ("*", "", want),
                                ("new.*", 'rename = "other.{1}"\n', packed.behind("other.x", packed.awq(q, z, s)))):
        (folder / "r.toml").write_text('%s[[rule]]\nmatch = "%s"\nfrom = "gptq"\nto = "awq"\n%s' %
                                       (first, match, rename))
        run("convert", "a.safetensors", "b.safetensors", "-f", "--rules", "r.toml", folder=folder)
        expect(load(folder / "b.safetensors"), made)
    run("convert", "a.safetensors", "b.safetensors", "-f", "--rules", "r.toml", folder=folder)
    # The old name is no longer there to be matched, so the tensors are only renamed.
    (folder / "r.toml").write_text(first + '[[rule]]\nmatch = "old.*"\nfrom = "gptq"\nto = "awq"\n')
    run("convert", "a.safetensors", "c.safetensors", "--rules", "r.toml", folder=folder)
    expect(load(folder / "c.safetensors"), packed.behind("new.x", packed.gptq(q, z, s, 64)))
    # Values, whose tensors have names of their own.
    w = (numpy.arange(64 * 32) % 255 - 127).reshape(64, 32).astype("f4")
    save(folder / "w.safetensors", {"old.w": w})
    (folder / "r.toml").write_text(first + '[[rule]]\nmatch = "new.*"\nfrom = "f32"\nto = "ggml:q8_0"\n')
    run("convert", "w.safetensors", "d.safetensors", "--rules", "r.toml", folder=folder)
    assert set(load(folder / "d.safetensors")) == {"new.w"}


E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], "f4")


def floating(codes):
    """Codes of 4-bit floats, the first in the low nibble."""
    return E2M1[numpy.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1)]


def tables_of_other_formats(folder):
    """NVFP4 has groups of its own: a table of groups beside it is a tensor as others are."""
    rng = numpy.random.default_rng(3)
    codes = rng.integers(0, 256, (32, 32)).astype("u1")
    table = numpy.zeros(64, "i4")
    save(folder / "a.safetensors", {"x.weight": codes, "x.weight_scale": numpy.full((32, 4), 0x38, "u1"),
                                    "x.weight_scale_2": numpy.array(2, "f4"), "x.weight_g_idx": table,
                                    "x.g_idx": table})
    run("convert", "a.safetensors", "b.safetensors", "--map", "*: nvfp4 -> f32", folder=folder)
    expect(load(folder / "b.safetensors"), {"x.weight": 2 * floating(codes), "x.weight_g_idx": table,
                                            "x.g_idx": table})


def undivided_codes(folder):
    """MXFP4 as compressed-tensors and others have it: rows of codes are not cut into pieces of 16 bytes."""
    rng = numpy.random.default_rng(4)
    for shape in ((24, 48), (3, 8, 48)):
        codes = rng.integers(0, 256, shape).astype("u1")
        powers = rng.integers(120, 134, shape[:-1] + (3,)).astype("u1")
        rows = floating(codes.reshape(24, 48)) * (2.0 ** (powers.reshape(24, 3).repeat(32, 1) - 127.0)).astype("f4")
        for name in ("weight", "weight_packed"):
            save(folder / "a.safetensors", {"x." + name: codes, "x.weight_scale": powers})
            run("convert", "a.safetensors", "b.safetensors", "-f", "--map", "*: mxfp4 -> f32", folder=folder)
            expect(load(folder / "b.safetensors"), {"x.weight": rows.reshape(shape[:-1] + (96,))})
        save(folder / "a.safetensors", {"x.blocks": codes.reshape(shape[:-1] + (3, 16)), "x.scales": powers})
        run("convert", "a.safetensors", "b.safetensors", "-f", "--map", "*: mxfp4 -> f32", folder=folder)
        expect(load(folder / "b.safetensors"), {"x.weight": rows.reshape(shape[:-1] + (96,))})
    save(folder / "a.safetensors", {"x.weight": codes.reshape(24, 48)[:23], "x.weight_scale": powers})
    said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: mxfp4 -> f32", folder=folder, code=3)
    assert 'tensor "x.weight_scale"' in said, said


def write_header(path, tensors):
    text = json.dumps({name: {"dtype": kind, "shape": shape, "data_offsets": [0, 0]}
                       for name, (kind, shape) in tensors.items()}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)


def extents_that_overflow(folder):
    """Tensors without bytes may have any other extents."""
    most = 1 << 62
    for rule, tensors in (("gptq -> awq", {"x.qweight": ("I32", [0, most]), "x.qzeros": ("I32", [0, most]),
                                           "x.scales": ("F16", [0, most])}),
                          ("gptq -> awq", {"x.qweight": ("I32", [most, 0]), "x.qzeros": ("I32", [0, 0]),
                                           "x.scales": ("F16", [0, 0])}),
                          ("mlx:affine -> f16", {"x.weight": ("U32", [most, most, 0]), "x.scales": ("F16", [0, 0, 0]),
                                                 "x.biases": ("F16", [0, 0, 0])}),
                          ("f32 -> ggml:q8_0", {"x.weight": ("F32", [most, most, 0])})):
        write_header(folder / "a.safetensors", tensors)
        said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: " + rule, folder=folder, code=3)
        assert "overflow" in said, (rule, said)
        assert not (folder / "x.safetensors").exists()


if __name__ == "__main__":
    shared.main(one_matrix_two_names, renamed_before, tables_of_other_formats, undivided_codes, extents_that_overflow)
