#!/usr/bin/env python3
"""`relayout checkpoint convert` and `compare` against NumPy: random rules, the way back, a second run, killed runs.

    conversions.py RELAYOUT

Files are read and written here by a few lines, which share nothing with the library. With RELAYOUT_SLOW_TESTS=1 there
are ten times as many cases, and 200 runs are killed. Without NumPy the test is skipped.
"""
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

from plain_files import expect, load, save  # noqa: E402

RELAYOUT = sys.argv[1]
SLOW = os.environ.get("RELAYOUT_SLOW_TESTS", "0") not in ("", "0")


def run(*words, code=0, folder):
    result = subprocess.run([RELAYOUT, "checkpoint", *map(str, words)], capture_output=True, text=True, cwd=folder)
    assert result.returncode == code, "%s: %d\n%s%s" % (words, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


class Case:
    """Random tensors, rules for them in TOML, and what the rules make of them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.tensors, self.rules, self.want = {}, [], {}
        for i in range(self.rng.randint(1, 6)):
            getattr(self, self.rng.choice(["layout", "rename", "split", "stacked", "merge", "axes", "blocks", "type",
                                           "untouched"]))("t%d" % i)

    def array(self, *shape):
        values = numpy.random.default_rng(self.rng.randint(0, 1 << 30)).integers(0, 200, shape)
        return values.astype(self.rng.choice(["f4", "f2", "i4", "u1"]))

    def shape(self, least=1):
        return [self.rng.choice([1, 2, 3, 4, 5, 8]) for _ in range(self.rng.randint(least, 4))]

    def rule(self, *lines):
        self.rules.append("[[rule]]\n" + "\n".join(lines) + "\n")

    def add(self, name, array):
        self.tensors[name] = array
        return array

    def layout(self, name):
        x = self.add(name + ".weight", self.array(*self.shape(2)))
        letters = "abcd"[:x.ndim]
        source = "".join(self.rng.sample(letters, x.ndim))
        target = "".join(self.rng.sample(letters, x.ndim))
        self.rule('match = "%s.*"' % name, 'layout = "%s -> %s"' % (source, target))
        self.want[name + ".weight"] = x.transpose([source.index(letter) for letter in target])

    def rename(self, name):
        x = self.add("%s.7.weight" % name, self.array(*self.shape()))
        self.rule('match = "%s.#.*"' % name, 'rename = "new.{2}.{1}.%s"' % name)
        self.want["new.weight.7." + name] = x

    def split(self, name):
        shape = self.shape()
        dim, sizes = self.rng.randrange(len(shape)), [self.rng.randint(0, 4) for _ in range(3)]
        shape[dim] = sum(sizes)
        x = self.add(name + ".qkv", self.array(*shape))
        self.rule('match = "%s.qkv"' % name,
                  'split = { dim = %d, into = ["%s.q", "%s.k", "%s.v"], sizes = %s }' % (dim, name, name, name, sizes))
        for part, which in zip(numpy.split(x, numpy.cumsum(sizes)[:2], dim), "qkv"):
            self.want["%s.%s" % (name, which)] = part

    def stacked(self, name):
        shape = self.shape(2)
        dim = self.rng.randrange(len(shape))
        x = self.add("%s.all" % name, self.array(*shape))
        self.rule('match = "%s.all"' % name, 'split = { dim = %d, into = ["%s.{i}.one"], stack = true }' % (dim, name))
        for i in range(shape[dim]):
            self.want["%s.%d.one" % (name, i)] = x.take(i, dim)

    def merge(self, name):
        shape, count = self.shape(), self.rng.randint(1, 12)
        dim, stack = self.rng.randrange(len(shape)), self.rng.random() < 0.5
        kind = self.array(1).dtype
        order = list(range(count))
        self.rng.shuffle(order)
        parts = {i: self.array(*shape).astype(kind) for i in order}
        for i in order:
            self.add("%s.%d.w" % (name, i), parts[i])
        sizes = "" if stack else ", sizes = %s" % [shape[dim]] * 1 if count == 1 else ""
        self.rule('match = "%s.#.w"' % name, 'rename = "%s.w"' % name,
                  "merge = { dim = %d, stack = %s%s }" % (dim, str(stack).lower(), sizes))
        self.want[name + ".w"] = (numpy.stack if stack else numpy.concatenate)([parts[i] for i in range(count)], dim)

    def axes(self, name):
        shape, view = self.shape(), [self.rng.randint(1, 4) for _ in range(self.rng.randint(1, 3))]
        dim, order = self.rng.randrange(len(shape)), list(range(len(view)))
        self.rng.shuffle(order)
        shape[dim] = int(numpy.prod(view))
        x = self.add(name, self.array(*shape))
        said = list(view)
        if self.rng.random() < 0.5:
            said[self.rng.randrange(len(said))] = -1
        self.rule('match = "%s"' % name, "permute = { dim = %d, view = %s, order = %s }" % (dim, said, order))
        seen = x.reshape(shape[:dim] + view + shape[dim + 1:])
        places = list(range(dim)) + [dim + k for k in order] + list(range(dim + len(view), seen.ndim))
        self.want[name] = seen.transpose(places).reshape(shape)

    def blocks(self, name):
        shape, count = self.shape(), self.rng.randint(1, 5)
        dim, order = self.rng.randrange(len(shape)), list(range(count))
        self.rng.shuffle(order)
        shape[dim] = count * self.rng.randint(1, 3)
        x = self.add(name, self.array(*shape))
        self.rule('match = "%s"' % name, "permute = { dim = %d, blocks = %s }" % (dim, order))
        parts = numpy.split(x, count, dim)
        self.want[name] = numpy.concatenate([parts[k] for k in order], dim)

    def type(self, name):
        x = self.add(name + ".x", self.array(*self.shape()).astype("f2"))
        self.rule('match = "%s.x"' % name, 'type = "f16 -> f32"')
        self.want[name + ".x"] = x.astype("f4")

    def untouched(self, name):
        self.want[name] = self.add(name, self.array(*self.shape()))


def random_rules(folder):
    """Rules give what NumPy gives; the derived inverse gives the old bytes; a second run does nothing."""
    turned = 0
    for seed in range(3000 if SLOW else 150):
        case = Case(seed)
        save(folder / "a.safetensors", case.tensors)
        (folder / "r.toml").write_text("".join(case.rules))
        try:
            run("convert", "a.safetensors", "b.safetensors", "-f", "--rules", "r.toml", "--verify", folder=folder)
            expect(load(folder / "b.safetensors"), case.want)
            before = (folder / "b.safetensors").read_bytes()
            if case.rules:
                again = run("convert", "b.safetensors", "b.safetensors", "-f", "--rules", "r.toml", folder=folder)
                assert "nothing to do" in again and (folder / "b.safetensors").read_bytes() == before, again
            run("compare", "a.safetensors", "b.safetensors", "--rules", "r.toml", folder=folder)
            back = subprocess.run([RELAYOUT, "checkpoint", "convert", "b.safetensors", "c.safetensors", "-f", "--rules",
                                   "r.toml", "--invert"], capture_output=True, text=True, cwd=folder)
            if back.returncode != 0:
                assert "invert: " in back.stderr, back.stderr
                continue
            turned += 1
            expect(load(folder / "c.safetensors"), case.tensors)
        except AssertionError as error:
            raise AssertionError("seed %d: %s\n%s" % (seed, error, "".join(case.rules))) from error
    assert turned > 60, turned
    print("random rules: %d turned around" % turned)


def equal_dims(folder):
    """What guesses from shapes get wrong: all dims equal, kernels of extent 1, a file that was converted in part."""
    rng = numpy.random.default_rng(1)
    old = {"a.weight": rng.random((8, 3, 3, 3), "f4"), "b.weight": rng.random((3, 3, 3, 3), "f4"),
           "c.weight": rng.random((16, 8, 1, 1), "f4"), "c.bias": rng.random(16, "f4")}
    new = {name: x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for name, x in old.items()}
    rule = ("--map", "*.weight: oihw -> ohwi")
    save(folder / "a.safetensors", old)
    run("convert", "a.safetensors", "b.safetensors", *rule, folder=folder)
    expect(load(folder / "b.safetensors"), new)
    # An order is not changed twice, whatever other rules came in between, and not undone where it was not changed.
    save(folder / "p.safetensors", {"p": numpy.arange(8, dtype="f4")})
    (folder / "p.toml").write_text('[[rule]]\nmatch = "p"\n'
                                   "permute = { dim = 0, view = [2, 2, 2], order = [0, 2, 1] }\n")
    run("convert", "p.safetensors", "p1.safetensors", "--rules", "p.toml", folder=folder)
    run("convert", "p1.safetensors", "p2.safetensors", "--map", "*: f64", folder=folder)
    said = run("convert", "p2.safetensors", "p3.safetensors", "--rules", "p.toml", "--map", "zz: skip", folder=folder)
    assert "records that it was applied" in said, said
    expect(load(folder / "p3.safetensors"), {"p": numpy.array([0, 2, 1, 3, 4, 6, 5, 7], "f8")})
    run("convert", "p3.safetensors", "p4.safetensors", "--rules", "p.toml", "--invert", "--strict", folder=folder)
    run("convert", "p4.safetensors", "p5.safetensors", "--rules", "p.toml", folder=folder)
    expect(load(folder / "p5.safetensors"), load(folder / "p3.safetensors"))
    run("convert", "p.safetensors", "x.safetensors", "--rules", "p.toml", "--invert", "--strict", folder=folder, code=3)
    # Files in place of several take away the index that leads to those.
    run("convert", "a.safetensors", "m.safetensors", "--shard-size", "900", folder=folder)
    assert (folder / "m.safetensors.index.json").exists() and not (folder / "m.safetensors").exists()
    run("convert", "a.safetensors", "m.safetensors", *rule, folder=folder, code=4)
    run("convert", "a.safetensors", "m.safetensors", *rule, "-f", folder=folder)
    assert not (folder / "m.safetensors.index.json").exists()
    # Only one of the tensors, then all: the first is left as it is, as its record says that it is done.
    run("convert", "a.safetensors", "part.safetensors", "--map", "b.weight: oihw -> ohwi", folder=folder)
    said = run("convert", "part.safetensors", "whole.safetensors", *rule, folder=folder)
    assert "1 already" in said and "2 converted" in said, said
    expect(load(folder / "whole.safetensors"), new)
    said = run("convert", "part.safetensors", "x.safetensors", "--map", "*.weight: hwio -> oihw", folder=folder, code=3)
    assert 'tensor "b.weight"' in said and "is recorded as" in said and "hwio" in said, said
    said = run("convert", "a.safetensors", "x.safetensors", *rule, "--strict", folder=folder, code=3)
    assert "a.weight" in said and "--strict" in said, said
    assert not (folder / "x.safetensors").exists()
    run("compare", "a.safetensors", "b.safetensors", *rule, folder=folder)
    wrong = dict(new, **{"a.weight": new["a.weight"] + numpy.float32(0.5)})
    save(folder / "wrong.safetensors", wrong)
    said = run("compare", "a.safetensors", "wrong.safetensors", *rule, folder=folder, code=1)
    assert "216 of 216 elements" in said and "0.5 apart" in said, said


def contradictions(folder):
    """Each is found before anything is written, and named."""
    rng = numpy.random.default_rng(2)
    save(folder / "a.safetensors", {"a.0.w": rng.random((4, 6), "f4"), "a.1.w": rng.random((4, 5), "f4"),
                                    "b": rng.random((6, 6), "f4"), "n.0.w": rng.random(3, "f4"),
                                    "n.2.w": rng.random(3, "f4")})
    for rule, said in (
            ('match = "b"\nlayout = "abc -> acb"', 'tensor "b"'),
            ('match = "b"\nsplit = { dim = 0, into = ["x", "y"], sizes = [2, 3] }', "do not add up to extent 6"),
            ('match = "b"\nsplit = { dim = 0, into = ["x", "y", "z", "u"] }', "is not 4 equal parts"),
            ('match = "b"\nsplit = { dim = 0, into = ["x", "x"] }', 'split: two of its parts are called "x"'),
            ('match = "b"\nrename = "a.0.w"', 'both become "a.0.w"'),
            ('match = "a.#.w"\nrename = "a"\nmerge = { dim = 0 }', "cannot follow each other along dim 0"),
            ('match = ["b", "c"]\nrename = "a"\nmerge = { dim = 0 }', 'no tensor matches "c"'),
            ('match = "n.#.w"\nrename = "n"\nmerge = { dim = 0 }', 'no tensor of number 1 matches "n.#.w"'),
            ('match = "*.w"\nrename = "n"\nmerge = { dim = 0 }', "says in which order they stand"),
            ('match = "b"\ntype = "f16 -> bf16"', "it is f32, and the rule converts f16 to bf16"),
            ('match = "b"\npermute = { dim = 0, view = [4, -1], order = [1, 0] }', "of extent 6 is no array of [4,-1]"),
            ('match = "b"\npermute = { dim = 2, blocks = [1, 0] }', "there is no dim 2 among 2"),
            ('match = "b"\nrename = "x.{1}"', "captures only 0"),
            ('match = "b"\nlayot = "ab -> ba"', 'there is no "layot"'),
            ('match = "b"\nskip = true\nrename = "x"', "what is skipped has nothing else"),
            ('match = "/b(/"', "no regular expression"),
            ('match = "b"\nlayout = "ab -> ab"\n[[rule]\n', "line 4")):
        (folder / "r.toml").write_text("[[rule]]\n" + rule + "\n")
        command = [RELAYOUT, "checkpoint", "convert", "a.safetensors", "x.safetensors", "--rules", "r.toml"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        assert result.returncode in (2, 3) and said in result.stderr, (rule, said, result.stderr)
        assert not (folder / "x.safetensors").exists(), rule


def merged_into_blocks(folder):
    """Parts that end inside a block of the layout that they become."""
    x = numpy.arange(11 * 5, dtype="f4").reshape(11, 5)
    save(folder / "a.safetensors", {"w.0": x[:3], "w.1": x[3:]})
    (folder / "r.toml").write_text('[[rule]]\nmatch = "w.#"\nrename = "w"\nlayout = "ab -> Ab8a"\n'
                                   "merge = { dim = 0 }\n")
    run("convert", "a.safetensors", "b.safetensors", "--rules", "r.toml", "--verify", folder=folder)
    padded = numpy.zeros((16, 5), "f4")
    padded[:11] = x
    expect(load(folder / "b.safetensors"), {"w": padded.reshape(2, 8, 5).transpose(0, 2, 1)})


def recorded_in_part(folder):
    """A rule that some tensors had, of one file or of some files: no tensor is left out and none is permuted twice."""
    x, y = numpy.arange(8, dtype="f4").reshape(4, 2), 9 + numpy.arange(8, dtype="f4").reshape(4, 2)
    turned = {"a.w": x[[2, 3, 0, 1]], "b.w": y[[2, 3, 0, 1]]}
    rule = '[[rule]]\nmatch = "*.w"\npermute = { dim = 0, blocks = [1, 0] }\n'
    (folder / "all.toml").write_text(rule)
    (folder / "one.toml").write_text('[[rule]]\nmatch = "a.w"\n' + rule)
    save(folder / "s.safetensors", {"a.w": x, "b.w": y})
    run("convert", "s.safetensors", "m.safetensors", "--rules", "one.toml", folder=folder)
    expect(load(folder / "m.safetensors"), {"a.w": x, "b.w": turned["b.w"]})
    run("convert", "m.safetensors", "m.safetensors", "-f", "--rules", "one.toml", folder=folder)
    expect(load(folder / "m.safetensors"), {"a.w": x, "b.w": turned["b.w"]})
    for _ in range(2):
        run("convert", "m.safetensors", "m.safetensors", "-f", "--rules", "all.toml", folder=folder)
        expect(load(folder / "m.safetensors"), turned)
    # Of two files one was converted.
    run("convert", "s.safetensors", "cut.safetensors", "--shard-size", "32", folder=folder)
    first, index = "cut-00001-of-00002.safetensors", "cut.safetensors.index.json"
    run("convert", first, first, "-f", "--rules", "all.toml", folder=folder)
    for more in ((), ("--invert",)):
        said = run("convert", index, "out.safetensors", "--rules", "all.toml", *more, code=3, folder=folder)
        assert first in said and "record different rules" in said, said
    assert not (folder / "out.safetensors").exists()
    second = first.replace("1-of", "2-of")
    run("convert", second, second, "-f", "--rules", "all.toml", folder=folder)
    run("convert", index, "out.safetensors", "--rules", "all.toml", folder=folder)
    expect(load(folder / "out.safetensors"), turned)


def permuted_in_parts(folder):
    """Permuted dims that are cut into parts where their axes do not end."""
    x = numpy.arange(6 * 999983, dtype="i4").reshape(-1, 1)
    save(folder / "a.safetensors", {"a": x, "b": x.reshape(-1, 3), "c": x})
    (folder / "r.toml").write_text(
        '[[rule]]\nmatch = "a"\npermute = { dim = 0, view = [-1, 2], order = [1, 0] }\n'
        '[[rule]]\nmatch = "b"\npermute = { dim = 0, view = [2, -1], order = [1, 0] }\n'
        '[[rule]]\nmatch = "c"\npermute = { dim = 0, view = [3, -1, 2], order = [2, 0, 1] }\n')
    run("convert", "a.safetensors", "b.safetensors", "--rules", "r.toml", "--max-memory", "16M", "--verify",
        folder=folder)
    c = x.reshape(3, -1, 2).transpose(2, 0, 1).reshape(-1, 1)
    expect(load(folder / "b.safetensors"), {"a": numpy.concatenate([x[::2], x[1::2]]), "c": c,
                                            "b": x.reshape(2, -1, 3).transpose(1, 0, 2).reshape(-1, 3)})


def ranks(folder):
    """Tensor-parallel ranks merged and cut anew, with q, k and v in one tensor too."""
    rng = random.Random(6)
    for case in range(60 if SLOW else 12):
        counts = [rng.choice([1, 2, 4]) for _ in range(2)]
        parts = [4 * rng.randint(1, 3) for _ in range(3)]
        arrays = numpy.random.default_rng(case)
        whole = {"q.weight": arrays.random((8, 6), "f4"), "o.weight": arrays.random((6, 8), "f4"),
                 "qkv.weight": arrays.random((sum(parts), 5), "f4"), "norm": arrays.random(6, "f4")}

        def rank(k, count):
            qkv = numpy.split(whole["qkv.weight"], numpy.cumsum(parts)[:2])
            return {"q.weight": numpy.split(whole["q.weight"], count)[k],
                    "o.weight": numpy.split(whole["o.weight"], count, 1)[k],
                    "qkv.weight": numpy.concatenate([numpy.split(part, count)[k] for part in qkv]),
                    "norm": whole["norm"]}
        (folder / "r.toml").write_text('[[rule]]\nmatch = "q.weight"\nshard = { dim = 0 }\n'
                                       '[[rule]]\nmatch = "qkv.weight"\nshard = { dim = 0, parts = %s }\n' % parts)
        for k in range(counts[0]):
            save(folder / ("a-%d.safetensors" % k), rank(k, counts[0]))
        command = ("reshard", "a-{i}.safetensors", "b-{i}.safetensors", "--from", counts[0], "--to", counts[1], "-f",
                   "--rules", "r.toml")
        run(*command, "--map", "o.weight: shard 1", "--verify", folder=folder)
        for k in range(counts[1]):
            expect(load(folder / ("b-%d.safetensors" % k)), rank(k, counts[1]))
        if counts[0] > 1:
            said = run(*command, folder=folder, code=3)
            assert 'tensor "o.weight": no rule says along which dim it is cut' in said, said
    said = run("reshard", "b-0.safetensors", "x-{i}.safetensors", "--to", 5, "--map", "q.weight: shard 0",
               folder=folder, code=3)
    assert "is not 5 equal parts" in said and not (folder / "x-0.safetensors").exists(), said
    run("reshard", "b-0.safetensors", "x.safetensors", "--to", 2, folder=folder, code=2)


def killed(folder):
    """A run that is killed at any moment leaves no file or the whole one, and the next run goes on."""
    rng = numpy.random.default_rng(3)
    old = {"l.%d.weight" % i: rng.random((64, 64, 3, 3), "f4") for i in range(60)}
    save(folder / "a.safetensors", old)
    command = ("convert", "a.safetensors", "b.safetensors", "--threads", "1", "--map", "*.weight: oihw -> ohwi")
    run(*command, folder=folder)
    want, resumed = (folder / "b.safetensors").read_bytes(), 0
    moments = random.Random(4)
    for _ in range(200 if SLOW else 15):
        (folder / "b.safetensors").unlink()
        for _ in range(3):
            process = subprocess.Popen([RELAYOUT, "checkpoint", *command], cwd=folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            for _ in range(int(2 ** moments.uniform(0, 16))):  # questions, so that no clock is read
                if process.poll() is not None:
                    break
            process.kill()
            process.wait()
            if (folder / "b.safetensors").exists():
                break
        if (folder / "b.safetensors").exists():
            assert (folder / "b.safetensors").read_bytes() == want
            continue
        resumed += "had been written by a run that was ended" in run(*command, folder=folder)
        assert (folder / "b.safetensors").read_bytes() == want
        assert sorted(path.name for path in folder.iterdir()) == ["a.safetensors", "b.safetensors"], "left behind"
    print("killed: %d runs went on where another had stopped" % resumed)


def bounded_memory(folder):
    """Peak memory by the kernel's account, of a tensor much larger than the bound. A new process begins with the memory
    of this one, so that this one must be small."""
    planes, rows, columns = 2, 4096, 4096
    nbytes = planes * rows * columns * 4
    shape = [planes, rows, columns]
    header = json.dumps({"big": {"dtype": "I32", "shape": shape, "data_offsets": [0, nbytes]}}).encode()
    with open(folder / "a.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for row in range(planes * rows):
            file.write(numpy.arange(row * columns, (row + 1) * columns, dtype="i4").tobytes())
    run("convert", "a.safetensors", "b.safetensors", "--map", "big: abc -> cba", "--max-memory", "16M", folder=folder)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    have = load(folder / "b.safetensors")["big"]
    assert have.shape == (columns, rows, planes)
    assert (have == numpy.arange(planes * rows * columns, dtype="i4").reshape(planes, rows, columns).T).all()
    print("peak memory: %d MiB for a bound of 16 MiB" % peak)
    assert "ASAN_OPTIONS" in os.environ or peak < 16 + 64, peak


def main():
    for test in (bounded_memory, random_rules, equal_dims, contradictions, merged_into_blocks, recorded_in_part,
                 permuted_in_parts, ranks, killed):
        with tempfile.TemporaryDirectory(prefix="relayout-conversions-") as folder:
            test(pathlib.Path(folder))


if __name__ == "__main__":
    main()
