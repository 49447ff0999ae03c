#!/usr/bin/env python3
"""Rules of packed weights (`relayout checkpoint convert --map 'GLOB: gptq -> marlin'`) against loops in NumPy.

    packed.py RELAYOUT

The loops pack codes as GPTQ, AWQ, Marlin, MLX and ggml publish it, a value at a time or by their own tables, and share
nothing with the library. Without NumPy the test is skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import shared

numpy = shared.skip_without("numpy")
from plain_files import expect, load, save  # noqa: E402

RELAYOUT = sys.argv[1]


def records(path):
    """What the file records of each tensor."""
    data = pathlib.Path(path).read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["relayout"])["tensors"]


def run(*words, folder, code=0):
    result = subprocess.run([RELAYOUT, "checkpoint", *map(str, words)], capture_output=True, text=True, cwd=folder)
    assert result.returncode == code, "%s: %d\n%s%s" % (words, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


# The packing loops.
def words_along_rows(codes):
    """Eight rows in a word, the first in the lowest bits."""
    out = numpy.zeros((codes.shape[0] // 8, codes.shape[1]), "u4")
    for i in range(8):
        out |= codes[i::8].astype("u4") << (4 * i)
    return out.view("i4")


def words_along_columns(codes, order=range(8)):
    out = numpy.zeros((codes.shape[0], codes.shape[1] // 8), "u4")
    for place, column in enumerate(order):
        out |= codes[:, column::8].astype("u4") << (4 * place)
    return out.view("i4")


def gptq(q, z, s, group):
    return {"qweight": words_along_rows(q), "qzeros": words_along_columns(z - 1), "scales": s,
            "g_idx": (numpy.arange(q.shape[0]) // group).astype("i4")}


def awq(q, z, s):
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return {"qweight": words_along_columns(q, order), "qzeros": words_along_columns(z, order), "scales": s}


def marlin(q, s):
    """Marlin's own tables of permutations."""
    perm = []
    for i in range(32):
        one, column = [], i // 4
        for block in (0, 1):
            for row in (2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1):
                one.append(16 * row + column + 8 * block)
        for j in range(4):
            perm.extend(p + 256 * j for p in one)
    perm = numpy.array(perm).reshape(-1, 8)[:, [0, 2, 4, 6, 1, 3, 5, 7]].ravel()
    scale_perm = [i + 8 * j for i in range(8) for j in range(8)]
    single = [2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)]
    k, n = q.shape
    order = scale_perm if len(s) > 1 else single
    scales = s.reshape(-1, len(order))[:, order].reshape(s.shape)
    tiles = q.reshape(k // 16, 16, n // 16, 16).transpose(0, 2, 1, 3).reshape(k // 16, n * 16)
    tiles = tiles.reshape(-1, len(perm))[:, perm].reshape(tiles.shape)
    out = numpy.zeros((k // 16, n * 2), "u4")
    for i in range(8):
        out |= tiles[:, i::8].astype("u4") << (4 * i)
    return {"B": out.view("i4"), "s": scales}


def behind(prefix, tensors):
    return {prefix + "." + name: array for name, array in tensors.items()}


def layer(rng, k, n, group, zero=None):
    q = rng.integers(0, 16, (k, n))
    z = rng.integers(1, 16, (k // group, n)) if zero is None else numpy.full((k // group, n), zero)
    s = (rng.integers(1, 2000, (k // group, n)) / 1024).astype("f2")
    return q, z, s


PLAIN = {"norm.weight": numpy.arange(5, dtype="f4"), "lm_head.weight": numpy.ones((3, 4), "f2")}


def gptq_awq_marlin(folder):
    """Through all three formats and back, each as its own loop packs it; a second run changes nothing."""
    rng = numpy.random.default_rng(1)
    shapes = {"l.0.q_proj": (256, 128, 128), "l.1.mlp.up": (512, 192, 64), "l.2.o": (128, 64, 128)}
    layers = {name: layer(rng, *shape, zero=8) + (shape[2],) for name, shape in shapes.items()}
    as_gptq, as_awq, as_marlin = dict(PLAIN), dict(PLAIN), dict(PLAIN)
    for name, (q, z, s, group) in layers.items():
        as_gptq.update(behind(name, gptq(q, z, s, group)))
        as_awq.update(behind(name, awq(q, z, s)))
        as_marlin.update(behind(name, marlin(q, s)))
    save(folder / "gptq.safetensors", as_gptq)
    for source, target, rule, want in (("gptq", "awq", "gptq -> awq", as_awq),
                                       ("awq", "marlin", "awq -> marlin", as_marlin),
                                       ("marlin", "back", "marlin -> gptq", as_gptq),
                                       ("gptq", "direct", "gptq -> marlin", as_marlin)):
        source, target = source + ".safetensors", target + ".safetensors"
        said = run("convert", source, target, "--map", "l.*: " + rule, "--verify", folder=folder)
        assert "converted, 2 copied" in said, said
        expect(load(folder / target), want)
        before = (folder / target).read_bytes()
        said = run("convert", target, target, "-f", "--strict", "--map", "l.*: " + rule, folder=folder)
        assert "nothing to do" in said and (folder / target).read_bytes() == before, said
        run("convert", source, "y.safetensors", "-f", "--map", "l.*: " + rule, "--max-memory", "16M", "--threads", 1,
            folder=folder)
        expect(load(folder / "y.safetensors"), want)
    record = records(folder / "direct.safetensors")["l.0.q_proj.B"]
    assert record == {"from": "gptq", "packed": "marlin", "packed_dims": [256, 128]}, record
    assert "equal: 14 tensors" in run("compare", "gptq.safetensors", "back.safetensors", folder=folder)
    # The shipped rules, and the derived way back.
    for rules, source, want in (("gptq-awq", as_gptq, as_awq), ("gptq-marlin", as_gptq, as_marlin),
                                ("awq-marlin", as_awq, as_marlin)):
        save(folder / "a.safetensors", source)
        run("convert", "a.safetensors", "b.safetensors", "-f", "--rules", rules, folder=folder)
        expect(load(folder / "b.safetensors"), want)
        run("convert", "b.safetensors", "c.safetensors", "-f", "--rules", rules, "--invert", "--strict", folder=folder)
        expect(load(folder / "c.safetensors"), source)


def other_files(folder):
    """A file without records (.npz), new names, tensors without a prefix, groups that one scale shares, zero points."""
    rng = numpy.random.default_rng(2)
    q, z, s = layer(rng, 128, 64, 128, zero=8)  # one group: Marlin has its scales in another order
    numpy.savez(folder / "a.npz", **behind("m.x", gptq(q, z, s, 128)))
    run("convert", "a.npz", "b.safetensors", "--map", "m.*: gptq -> marlin", folder=folder)
    expect(load(folder / "b.safetensors"), behind("m.x", marlin(q, s)))
    q, z, s = layer(rng, 192, 72, 64)
    save(folder / "c.safetensors", gptq(q, z, s, 64))
    run("convert", "c.safetensors", "d.safetensors", "--map", "*: gptq -> awq", folder=folder)
    expect(load(folder / "d.safetensors"), awq(q, z, s))
    (folder / "r.toml").write_text('[[rule]]\nmatch = "m.*"\nfrom = "gptq"\nto = "awq"\ngroup = 32\n'
                                   'rename = "new.{1}"\n')
    save(folder / "e.safetensors", behind("m.x", gptq(q, z, s, 64)))
    run("convert", "e.safetensors", "f.safetensors", "--rules", "r.toml", folder=folder)
    expect(load(folder / "f.safetensors"), behind("new.x", awq(q, z.repeat(2, 0), s.repeat(2, 0))))
    table = run("convert", "e.safetensors", "x.safetensors", "--map", "m.*: gptq -> awq", "--dry-run", folder=folder)
    assert "  m.x.qweight  awq s32 192x9  converted from" in table and "3 converted" in table, table


def values(folder):
    """To values as PyTorch's linear layers have them, with act-order too, and from values by rounding."""
    rng = numpy.random.default_rng(3)
    q, z, s = layer(rng, 128, 64, 32)
    for order in (numpy.arange(128) // 32, rng.permutation(numpy.arange(128) // 32)):
        tensors = gptq(q, z, s, 32)
        tensors["g_idx"] = order.astype("i4")
        want = ((q - z[order]).astype("f4") * s[order].astype("f4")).T
        save(folder / "a.safetensors", behind("x", tensors))
        for name, kind in (("f32", "f4"), ("f16", "f2")):
            run("convert", "a.safetensors", "b.safetensors", "-f", "--map", "*: gptq -> " + name, folder=folder)
            expect(load(folder / "b.safetensors"), {"x.weight": want.astype(kind)})
            said = run("convert", "b.safetensors", "b.safetensors", "-f", "--map", "*: gptq -> " + name, "--strict",
                       folder=folder)
            assert "nothing to do" in said, said
    said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: gptq -> awq", folder=folder, code=5)
    assert 'tensor "x.qweight", rule "*: gptq -> awq": its g_idx puts the rows in groups by the order' in said, said

    # ggml's q8_0: blocks of 32 values, their largest size as 127 steps; read again by a loop.
    w = rng.normal(size=(3, 4, 64)).astype("f4")
    save(folder / "w.safetensors", {"w": w, "b": w[0, 0]})
    said = run("convert", "w.safetensors", "w.gguf", "--map", "w: f32 -> ggml:q8_0", folder=folder)
    assert 'note: values of 1 matrix were rounded, those of "w" by up to 0.0' in said, said
    run("convert", "w.gguf", "v.safetensors", "--map", "*: f32", folder=folder)
    have = load(folder / "v.safetensors")
    assert have["w"].shape == w.shape and have["b"].tobytes() == w[0, 0].tobytes()
    step = numpy.abs(w.reshape(-1, 32)).max(1, keepdims=True) / 127
    assert (numpy.abs(have["w"] - w).reshape(-1, 32) <= 0.52 * step).all()
    run("convert", "w.gguf", "raw.safetensors", folder=folder)
    raw = load(folder / "raw.safetensors")["w"].reshape(-1, 34)
    scale = raw[:, :2].copy().view("f2").astype("f4")
    assert (raw[:, 2:].view("i1") * scale == have["w"].reshape(-1, 32)).all()
    assert "nothing to do" in run("convert", "raw.safetensors", "raw.safetensors", "-f", "--map", "w: f32 -> ggml:q8_0",
                                  folder=folder)


def mlx(folder):
    """GPTQ to MLX, whose minima are numbers of their own, and from q4_0 of ggml."""
    rng = numpy.random.default_rng(4)
    q, z, _ = layer(rng, 128, 64, 64)
    s = (2.0 ** rng.integers(-6, 3, (2, 64))).astype("f2")
    save(folder / "a.safetensors", behind("x", gptq(q, z, s, 64)))
    run("convert", "a.safetensors", "b.safetensors", "--map", "*: gptq -> mlx:affine", folder=folder)
    expect(load(folder / "b.safetensors"), {
        "x.weight": words_along_columns(q.T).view("u4"), "x.scales": s.T,
        "x.biases": (-z * s.astype("f4")).T.astype("f2")})
    q, z, s = layer(rng, 128, 64, 64)
    save(folder / "a.safetensors", behind("x", gptq(q, z, (s.astype("f4") * 1.001).astype("f2"), 64)))
    said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: gptq -> mlx:affine", folder=folder, code=5)
    assert 'tensor "x.qweight", rule "*: gptq -> mlx:affine": repack: mlx:affine.b (f16) cannot hold' in said, said
    assert not (folder / "x.safetensors").exists()
    run("convert", "a.safetensors", "c.safetensors", "--map", "*: gptq -> mlx:affine, requantise", folder=folder)
    have = load(folder / "c.safetensors")
    codes = numpy.stack([have["x.weight"] >> (4 * i) & 15 for i in range(8)], -1).reshape(64, 128)
    got = codes * have["x.scales"].astype("f4").repeat(64, 1) + have["x.biases"].astype("f4").repeat(64, 1)
    s = load(folder / "a.safetensors")["x.scales"].astype("f4")
    want = ((q - z.repeat(64, 0)) * s.repeat(64, 0)).T
    assert (numpy.abs(got - want) <= 0.55 * have["x.scales"].astype("f4").repeat(64, 1)).all()


def rows_of_blocks(folder):
    """Rows of ggml's blocks are cut, joined and put into another order, as bytes of rows."""
    rng = numpy.random.default_rng(5)
    raw = rng.integers(0, 256, (12, 4 * 18)).astype("u1")
    save(folder / "a.safetensors", {"qkv": raw}, {"relayout": json.dumps(
        {"version": 1, "tensors": {"qkv": {"packed": "ggml:q4_0", "packed_dims": [12, 128]}}})})
    (folder / "r.toml").write_text('[[rule]]\nmatch = "qkv"\nsplit = { dim = 0, into = ["q", "k", "v"], '
                                   'sizes = [6, 4, 2] }\n')
    run("convert", "a.safetensors", "b.gguf", "--rules", "r.toml", folder=folder)
    run("convert", "b.gguf", "c.safetensors", folder=folder)
    expect(load(folder / "c.safetensors"), {"q": raw[:6], "k": raw[6:10], "v": raw[10:]})
    assert records(folder / "c.safetensors")["k"]["packed_dims"] == [4, 128]
    run("convert", "b.gguf", "d.safetensors", "--rules", "r.toml", "--invert", folder=folder)
    expect(load(folder / "d.safetensors"), {"qkv": raw})
    (folder / "p.toml").write_text('[[rule]]\nmatch = "q"\npermute = { dim = 0, blocks = [2, 0, 1] }\n')
    run("convert", "b.gguf", "e.safetensors", "--rules", "p.toml", folder=folder)
    expect(load(folder / "e.safetensors"), {"q": raw[[4, 5, 0, 1, 2, 3]], "k": raw[6:10], "v": raw[10:]})
    (folder / "s.toml").write_text('[[rule]]\nmatch = "qkv"\nsplit = { dim = 1, into = ["x", "y"] }\n')
    said = run("convert", "a.safetensors", "x.safetensors", "--rules", "s.toml", folder=folder, code=5)
    assert "it holds blocks of ggml:q4_0 along its last dim, and only whole rows are moved" in said, said


def contradictions(folder):
    """Each is found before anything is written, and named."""
    rng = numpy.random.default_rng(6)
    q, z, s = layer(rng, 128, 64, 64)
    whole = behind("x", gptq(q, z, s, 64))
    without = {name: array for name, array in whole.items() if name != "x.scales"}
    bad_shape = dict(whole, **{"x.qzeros": whole["x.qzeros"][:, :7]})
    codes_lost = {name: array for name, array in whole.items() if name != "x.qweight"}
    for tensors, rule, code, said in (
            (without, "*: gptq -> awq", 3, 'tensor "x.qweight", rule "*: gptq -> awq": there is no "x.scales", and a '
                                           'matrix of gptq has qweight, qzeros, scales'),
            (codes_lost, "*: gptq -> awq", 3, 'there is no "x.qweight"'),
            (bad_shape, "*: gptq -> awq", 3, 'tensor "x.qzeros", rule "*: gptq -> awq": it is 2x7 of s32, and of gptq '
                                             'with dims 128x64 it is 2x8 of s32'),
            (dict(whole, **{"x.g_idx": numpy.zeros(5, "i4")}), "*: gptq -> awq", 3, 'tensor "x.g_idx"'),
            (whole, "*: gptq -> marlin", 5, 'tensor "x.qweight", rule "*: gptq -> marlin": repack: marlin has no field '
                                            'for the zero point, which is 8'),
            (whole, "*: gptq -> awx", 2, "no packed format is called awx"),
            (whole, "*: gptq -> gptq", 2, "both sides are gptq"),
            (whole, "*: gptq -> ggml:q4_K", 5, "is not written, as its coefficients are computed of several fields"),
            (whole, "*: gptq -> awq, groups 4", 2, 'behind the formats stand "group 64" and "requantise"'),
            (whole, "*: gptq -> ggml:q4_0, group 4", 2, "ggml:q4_0 has groups of its own"),
            (PLAIN, "norm*: f32 -> awq", 5, 'tensor "norm.weight", rule "norm*: f32 -> awq": it has 1 dim, and a '
                                            'matrix of awq has 2'),
            (PLAIN, "lm_head*: f32 -> ggml:q8_0", 3, "it is f16, and the rule converts f32 to ggml:q8_0"),
            (PLAIN, "lm_head*: f16 -> ggml:q8_0", 3, "ggml:q8_0.d: K = 4 is no multiple of the values that share one"),
            (PLAIN, "*: ggml -> ggml:q8_0", 2, "ggml is any of its formats, which become values")):
        save(folder / "a.safetensors", tensors)
        have = run("convert", "a.safetensors", "x.safetensors", "--map", rule, folder=folder, code=code)
        assert said in have, (rule, have)
        assert not (folder / "x.safetensors").exists(), rule
    save(folder / "a.safetensors", whole)
    said = run("convert", "a.safetensors", "x.safetensors", "--map", "*: gptq -> awq", "--strict", folder=folder,
               code=3)
    assert "its packed format is not recorded" in said, said
    run("convert", "a.safetensors", "b.safetensors", "--map", "*: gptq -> awq", folder=folder)
    said = run("convert", "b.safetensors", "x.safetensors", "--map", "*: gptq -> marlin", folder=folder, code=3)
    assert "it is recorded as awq, and the rule converts gptq to marlin" in said, said
    for rule, said in (("gptq -> f16", "the values of gptq would be rounded anew"), ("f16 -> awq", "rounds values"),
                       ("gptq -> mlx:affine, requantise", "requantise rounds values"),
                       ("gptq -> awq, group 32", "how many values shared a scale before")):
        have = run("convert", "a.safetensors", "x.safetensors", "--map", "*: " + rule, "--invert", folder=folder,
                   code=2)
        assert "invert: " in have and said in have, have


def killed(folder):
    """A run that is killed at any moment leaves no file or the whole one, and the next run goes on."""
    rng = numpy.random.default_rng(8)
    layers = {}
    for i in range(40):
        layers.update(behind("l.%d" % i, gptq(*layer(rng, 512, 512, 128, zero=8), 128)))
    save(folder / "a.safetensors", layers)
    command = ("convert", "a.safetensors", "b.safetensors", "--threads", "1", "--map", "*: gptq -> marlin")
    run(*command, folder=folder)
    want, resumed = (folder / "b.safetensors").read_bytes(), 0
    for questions in [int(2 ** (i / 2)) for i in range(8, 32)]:
        (folder / "b.safetensors").unlink()
        process = subprocess.Popen([RELAYOUT, "checkpoint", *command], cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        for _ in range(questions):  # so that no clock is read
            if process.poll() is not None:
                break
        process.kill()
        process.wait()
        if not (folder / "b.safetensors").exists():
            resumed += "had been written by a run that was ended" in run(*command, folder=folder)
        assert (folder / "b.safetensors").read_bytes() == want
        assert sorted(path.name for path in folder.iterdir()) == ["a.safetensors", "b.safetensors"], "left behind"
    for _ in range(50):  # until a run is ended between two of its tensors
        if resumed:
            break
        if shared.killed_half_way(command, folder / "b.safetensors"):
            resumed += "had been written by a run that was ended" in run(*command, folder=folder)
        assert (folder / "b.safetensors").read_bytes() == want
    print("killed: %d runs went on where another had stopped" % resumed)
    assert resumed > 0


def bounded_memory(folder):
    """A matrix larger than the bound, whose rows become columns."""
    k, n = 4096, 16384
    header, at = {}, 0
    shapes = {"x.qweight": ("I32", [k // 8, n]), "x.qzeros": ("I32", [k // 128, n // 8]),
              "x.scales": ("F16", [k // 128, n])}
    for name, (code, shape) in shapes.items():
        size = shape[0] * shape[1] * (2 if code == "F16" else 4)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    rng = numpy.random.default_rng(7)
    with open(folder / "a.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for row in range(k // 8):
            file.write(rng.integers(0, 1 << 32, n, "u4").tobytes())
        file.write(b"\x77" * (k // 128 * n // 2))
        for row in range(k // 128):
            file.write((2.0 ** rng.integers(-4, 4, n)).astype("f2").tobytes())
    for rule in ("*: gptq -> awq", "*: gptq -> mlx:affine", "*: gptq -> f16"):
        peak = shared.peak_memory(("convert", "a.safetensors", "b.safetensors", "-f", "--map", rule, "--max-memory",
                                   "16M"), folder)
        print("%s: %d MiB for a bound of 16 MiB" % (rule, peak))
        assert "ASAN_OPTIONS" in os.environ or peak < 16 + 64, peak


def main():
    for test in (bounded_memory, gptq_awq_marlin, other_files, values, mlx, rows_of_blocks, contradictions, killed):
        with tempfile.TemporaryDirectory(prefix="relayout-packed-") as folder:
            test(pathlib.Path(folder))
        print(test.__name__, "passed")


if __name__ == "__main__":
    main()
