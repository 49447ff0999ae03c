#!/usr/bin/env python3
"""Checkpoints of many tensors and of many files: 1,000 tensors of several types in 8 files, and over 1,000 files where
a process may have 100 open.

    many.py RELAYOUT

A conversion by rules, the way back to the same bytes, a second run that changes nothing, and the peak memory by the
kernel's account. With RELAYOUT_SLOW_TESTS=1 the checkpoint has 4 GB and not 200 MB, and 200 runs are killed.
Without NumPy the test is skipped.
"""
import hashlib
import json
import os
import pathlib
import random
import resource
import subprocess
import sys

import shared

numpy = shared.skip_without("numpy")

RELAYOUT = sys.argv[1]
SLOW = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")
COUNT, FILES, KILLS = 1000, 8, 200 if SLOW else 5
# The bytes of each kind's tensors: the type of the file, the bytes of an element, and what is recorded.
KINDS = {"f16": ("F16", 2), "bf16": ("BF16", 2), "f8": ("F8_E4M3", 1), "q4_0": ("U8", 1)}
RULES = """
[[rule]]
match = "conv.*"
layout = "oihw -> ohwi"

[[rule]]
match = "f16.#.w"
rename = "half.{1}.weight"

[[rule]]
match = "bf16.#.w"
layout = "ab -> ba"

[[rule]]
match = "f8.#.w"
permute = { dim = 0, view = [-1, 2], order = [1, 0] }

[[rule]]
match = "q4_0.#.w"
rename = "packed.{1}"
"""


def run(*words, folder, code=0, limit=None):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    result = subprocess.run([RELAYOUT, "checkpoint", *map(str, words)], capture_output=True, text=True, cwd=folder,
                            preexec_fn=lower if limit else None)
    assert result.returncode == code, "%s: %d\n%s%s" % (words, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


def shape_of(kind, rows):
    return [rows, 18] if kind == "q4_0" else [rows, 32]


def write_model(folder):
    """Tensors dealt to files, with an index; a kernel whose dims are all equal too. The bytes come from a seed."""
    each = (4 << 30 if SLOW else 200 << 20) // COUNT
    names = {}
    for i in range(COUNT - 1):
        kind = list(KINDS)[i % len(KINDS)]
        width = 18 if kind == "q4_0" else 32 * KINDS[kind][1]
        names["%s.%d.w" % (kind, i)] = (kind, shape_of(kind, each // width // 2 * 2))
    names["conv.weight"] = ("f16", [3, 3, 3, 3])
    index = {}
    for number in range(FILES):
        mine = list(names)[number::FILES]
        header, at, records = {}, 0, {}
        for name in mine:
            kind, shape = names[name]
            code, width = KINDS[kind]
            nbytes = int(numpy.prod(shape)) * width
            header[name] = {"dtype": code, "shape": shape, "data_offsets": [at, at + nbytes]}
            at += nbytes
            index[name] = "a-%d.safetensors" % number
            if kind == "q4_0":
                records[name] = {"packed": "ggml:q4_0", "packed_dims": [shape[0], 32]}
        header["__metadata__"] = {"relayout": json.dumps({"version": 1, "tensors": records})}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        rng = numpy.random.default_rng(number)
        with open(folder / ("a-%d.safetensors" % number), "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name in mine:
                begin, end = header[name]["data_offsets"]
                # 0x77 is in every type a number, so that f8 has no NaN whose bits might change.
                file.write((rng.integers(0, 256, end - begin, numpy.uint8) & 0x77).tobytes())
    (folder / "a.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return names


def digests(path):
    """Of each tensor of one or several files, the digest of its bytes: the file is read a tensor at a time."""
    out = {}
    paths = sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
    for one in paths:
        with open(one, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            for name, said in header.items():
                if name != "__metadata__":
                    file.seek(8 + size + said["data_offsets"][0])
                    data = file.read(said["data_offsets"][1] - said["data_offsets"][0])
                    out[name] = (said["dtype"], tuple(said["shape"]), hashlib.sha256(data).hexdigest())
    return out


def converted_sample(folder, names):
    """A tensor of each rule, against NumPy."""
    def array(path, name, kind):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            said = json.loads(file.read(size))[name]
            file.seek(8 + size + said["data_offsets"][0])
            data = file.read(said["data_offsets"][1] - said["data_offsets"][0])
        return numpy.frombuffer(data, kind).reshape(said["shape"])
    index = json.loads((folder / "a.safetensors.index.json").read_text())["weight_map"]

    def both(old, new, kind):
        return array(folder / index[old], old, kind), array(folder / "b.safetensors", new, kind)
    old, new = both("conv.weight", "conv.weight", "u2")
    assert (new == old.transpose(0, 2, 3, 1)).all()
    first = {kind: next(name for name in names if name.startswith(kind + ".")) for kind in KINDS}
    old, new = both(first["bf16"], first["bf16"], "u2")
    assert (new == old.T).all()
    old, new = both(first["f8"], first["f8"], "u1")
    assert (new == numpy.concatenate([old[::2], old[1::2]])).all()
    old, new = both(first["q4_0"], "packed.%s" % first["q4_0"].split(".")[1], "u1")
    assert (new == old).all()


def many_tensors(folder):
    """In a bound of 16 MiB."""
    names = write_model(folder)
    (folder / "r.toml").write_text(RULES)
    command = ("convert", "a.safetensors.index.json", "b.safetensors", "--rules", "r.toml", "--max-memory", "16M",
               "--threads", "2")
    peak = shared.peak_memory(command, folder)
    converted_sample(folder, names)
    said = run(*command[:1], "b.safetensors", *command[2:], "-f", folder=folder)
    assert "nothing to do" in said, said
    size = sum(path.stat().st_size for path in folder.glob("a-*")) // FILES
    back = ("convert", "b.safetensors", "c.safetensors", "--rules", "r.toml", "--invert", "--max-memory", "16M",
            "--shard-size", size, "--threads", "2")
    peak = max(peak, shared.peak_memory(back, folder))
    before = digests(folder / "a-*.safetensors")
    assert len(before) == COUNT and digests(folder / "c-*.safetensors") == before
    assert len(list(folder.glob("c-*.safetensors"))) >= FILES
    print("peak memory: %d MiB for a bound of 16 MiB" % peak)
    assert "ASAN_OPTIONS" in os.environ or peak < 16 + 48, peak
    killed(folder, command)


def killed(folder, command):
    """Runs that are killed leave nothing or all under the new name, and the next one goes on."""
    want, moments, resumed = digests(folder / "b.safetensors"), random.Random(1), 0
    for _ in range(KILLS):
        (folder / "b.safetensors").unlink(missing_ok=True)
        process = subprocess.Popen([RELAYOUT, "checkpoint", *command], cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        for _ in range(int(2 ** moments.uniform(10, 24 if SLOW else 19))):  # questions, so that no clock is read
            if process.poll() is not None:
                break
        process.kill()
        process.wait()
        if not (folder / "b.safetensors").exists():
            resumed += "had been written by a run that was ended" in run(*command, folder=folder)
        assert digests(folder / "b.safetensors") == want
    for _ in range(50):  # until a run is ended between two of its tensors
        if resumed:
            break
        if shared.killed_half_way(command, folder / "b.safetensors"):
            resumed += "had been written by a run that was ended" in run(*command, folder=folder)
        assert digests(folder / "b.safetensors") == want
    assert resumed > 0, "no run went on"
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")], "left behind"
    print("killed: %d of %d runs went on where another had stopped" % (resumed, KILLS))


def many_files(folder):
    """1,050 files, written and read where a process may have 100 open; also by a run that goes on, in their place."""
    count = 1050
    header = {"t.%d" % i: {"dtype": "F32", "shape": [2, 3], "data_offsets": [24 * i, 24 * i + 24]}
              for i in range(count)}
    text = json.dumps(header).encode()
    data = numpy.arange(6 * count, dtype="f4").tobytes()
    (folder / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    command = ("convert", "a.safetensors", "b.safetensors", "--map", "t.#: ab -> ba", "--shard-size", 24)
    said = run(*command, "--verify", folder=folder, limit=100)
    assert "1051 files" in said, said
    run("compare", "a.safetensors", "b.safetensors.index.json", "--map", "t.#: ab -> ba", folder=folder, limit=100)
    run("convert", "b.safetensors.index.json", "c.safetensors", "--map", "t.#: ab -> ba", "--invert", folder=folder,
        limit=100)
    assert digests(folder / "c.safetensors") == digests(folder / "a.safetensors")
    process = subprocess.Popen([RELAYOUT, "checkpoint", *map(str, command), "-f"], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(folder.glob(".b-00*")):
        pass
    process.kill()
    process.wait()
    run(*command, "-f", folder=folder, limit=100)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")], "left behind"
    assert len(digests(folder / "b-*.safetensors")) == count


if __name__ == "__main__":
    shared.main(many_tensors, many_files)
