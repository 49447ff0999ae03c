#!/usr/bin/env python3
"""What `relayout checkpoint` says beside the files that it writes, against NumPy: values that a type cannot hold, what
a kind of file does not keep, files that are left, digests, and what --dry-run finds.

    told.py RELAYOUT

Without NumPy the test is skipped.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

RELAYOUT = sys.argv[1]


def run(*words, code=0):
    """What is printed; with code None the error of a run that fails."""
    result = subprocess.run([RELAYOUT, "checkpoint", *map(str, words)], capture_output=True, text=True)
    good = result.returncode == code or code is None and result.returncode > 0
    assert good, (words, result.returncode, result.stdout, result.stderr)
    return result.stdout if code == 0 else result.stderr


def converted(*words):
    return json.loads(run("convert", *words, "--json"))


def values_that_types_cannot_hold(folder):
    random = numpy.random.default_rng(3)
    for dtype, kind in (("f16", "f2"), ("s8", "i1"), ("u8", "u1")):
        large = random.normal(0, 200 if dtype != "f16" else 40000, (64, 33, 5)).astype("f4")
        large[0, 0, 0], large[1, 0, 0] = numpy.inf, numpy.nan
        numpy.savez(folder / "in.npz", w=large, small=numpy.ones((3, 4), "f4"))
        notes = converted(folder / "in.npz", folder / "out.safetensors", "-f", "--map", f"*: f32 -> {dtype}")["notes"]
        finite = large[numpy.isfinite(large)].astype("f8")
        if dtype == "f16":
            beyond = numpy.count_nonzero(numpy.abs(finite) >= 65520)
        else:
            limits = numpy.iinfo(kind)
            beyond = numpy.count_nonzero((finite >= limits.max + 0.5) | (finite < limits.min - 0.5)) + 2  # inf, nan
        assert beyond > 100
        expected = f'{beyond} values are beyond the range of {dtype} and became what stands for such: "w"'
        assert expected in notes, (expected, notes)
    numpy.savez(folder / "few.npz", w=numpy.array([1, numpy.nan, -3], "f4"))
    assert '1 value is beyond the range of s8 and became what stands for such: "w"' in converted(
        folder / "few.npz", folder / "out.safetensors", "-f", "--map", "*: f32 -> s8")["notes"]
    # As many where the layout changes with the type.
    numpy.savez(folder / "in.npz", w=large)
    (folder / "r.toml").write_text('[[rule]]\nmatch = "w"\nlayout = "abc -> cab"\ntype = "u8"\n')
    notes = converted(folder / "in.npz", folder / "out.safetensors", "-f", "--rules", folder / "r.toml")["notes"]
    assert expected in notes, (expected, notes)


def what_kinds_of_files_keep(folder):
    big = numpy.arange(60, dtype=">f4").reshape(3, 4, 5)
    numpy.savez(folder / "big.npz", a=big, b=numpy.asfortranarray(big.astype("f8")), c=numpy.ones(2, "c8"))
    numpy.savez_compressed(folder / "small.npz", a=big.astype("<f4"), b=big.astype(">f8"), c=numpy.ones(2, "c8"))
    for end in ("safetensors", "npz", "pt"):
        for source in ("big", "small"):
            run("convert", folder / f"{source}.npz", folder / f"{source}.{end}x.{end}", "-f")
            said = run("compare", folder / f"{source}.npz", folder / f"{source}.{end}x.{end}")
            assert "equal: 3 tensors" in said, said
        said = run("compare", folder / f"big.{end}x.{end}", folder / f"small.{end}x.{end}")
        assert "equal: 3 tensors" in said, said
    back = numpy.load(folder / "big.npzx.npz")
    assert back["a"].dtype == numpy.dtype("<f4") and numpy.array_equal(back["a"], big)
    run("convert", folder / "big.npz", folder / "rules.safetensors", "--map", "a: abc -> cab")
    notes = converted(folder / "rules.safetensors", folder / "rules.npz")["notes"]
    assert any("so these are left out of it: \"relayout.rules\"" in note for note in notes), notes
    # Layouts that a file cannot keep are said, before and after.
    words = (folder / "big.npz", folder / "turned.npz", "--map", "a: abc -> cab")
    expected = 'a file of npz keeps no metadata, so the layouts are not recorded of "a"'
    assert expected in converted(*words, "--dry-run")["notes"]
    assert not (folder / "turned.npz").exists()
    assert expected in converted(*words)["notes"]


def dry_runs_ask_the_writer(folder):
    numpy.savez(folder / "in.npz", w=numpy.ones((4, 4), "u4"))
    for out, words in (("no/such/out.safetensors", "there is no folder"), ("out.gguf", "u32"),
                       ("in.npz.safetensors", "exists")):
        (folder / "in.npz.safetensors").write_bytes(b"")
        said = [run("convert", folder / "in.npz", folder / out, *more, code=None) for more in ((), ("--dry-run",))]
        assert words in said[0] and said[0] == said[1], said
        assert not (folder / "out.gguf").exists()


def files_that_are_left(folder):
    numpy.savez(folder / "in.npz", **{f"t{i}": numpy.full((64, 64), i, "f4") for i in range(4)})
    run("convert", folder / "in.npz", folder / "cut.safetensors", "--shard-size", "20K")
    notes = converted(folder / "in.npz", folder / "cut.safetensors", "-f")["notes"]
    left = [note for note in notes if note.startswith("files of the checkpoint that was there before are left: ")]
    assert len(left) == 1 and "cut-00001-of-00004.safetensors" in left[0] and "and 1 more" in left[0], notes
    assert not (folder / "cut.safetensors.index.json").exists()
    notes = converted(folder / "in.npz", folder / "cut.safetensors", "-f")["notes"]
    assert not any("are left" in note for note in notes), notes


def an_index_in_the_way(folder):
    """An index of another checkpoint is found before a byte is written, and nothing is left."""
    numpy.savez(folder / "in.npz", w=numpy.ones((4, 4), "f4"))
    (folder / "out.safetensors.index.json").write_text("{}")
    before = sorted(path.name for path in folder.iterdir())
    words = ("convert", folder / "in.npz", folder / "out.safetensors")
    said = [run(*words, *more, code=None) for more in ((), ("--dry-run",))]
    assert "leads to other files" in said[0] and said[0] == said[1], said
    assert sorted(path.name for path in folder.iterdir()) == before


def digests(folder):
    arrays = {"a": numpy.arange(35, dtype="f4").reshape(5, 7), "e": numpy.zeros((0, 3), "f8"),
              "f": numpy.asfortranarray(numpy.arange(12, dtype="i2").reshape(3, 4)), "c": numpy.ones(3, "c8")}
    numpy.savez(folder / "d.npz", **arrays)
    numpy.savez_compressed(folder / "p.npz", **arrays)
    run("convert", folder / "d.npz", folder / "d.safetensors")
    for name in ("d.npz", "p.npz", "d.safetensors"):
        for one in json.loads(run("list", folder / name, "--sha256", "--json"))["tensors"]:
            expected = hashlib.sha256(numpy.ascontiguousarray(arrays[one["name"]]).tobytes()).hexdigest()
            assert one["sha256"] == expected, (name, one)
            assert expected in run("list", folder / name, "--sha256")


def main():
    os.environ.pop("RELAYOUT_ISA", None)
    for test in (values_that_types_cannot_hold, what_kinds_of_files_keep, dry_runs_ask_the_writer, an_index_in_the_way,
                 files_that_are_left, digests):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
        print(test.__name__.replace("_", " "))


main()
