#!/usr/bin/env python3
"""`relayout checkpoint which` against weights that are made here in known layouts.

    which.py RELAYOUT

What is certain is compared with NumPy's transpositions, of which each is tried here too. What is probable must be right
where the evidence is there, and must not be said where it is not. Without NumPy the test is skipped.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

from plain_files import save  # noqa: E402

RELAYOUT = sys.argv[1]


def which(folder, *words):
    result = subprocess.run([RELAYOUT, "checkpoint", "which", *words, "--json"], capture_output=True, text=True,
                            cwd=folder)
    assert result.returncode == 0, result.stderr
    return {tensor["name"]: tensor for tensor in json.loads(result.stdout)["tensors"]}


def said(finding):
    return finding["certainty"], finding["layouts"]


def evidence(finding, kind):
    return next(one for one in finding["evidence"] if one["kind"] == kind)


def smooth(rng, shape, spatial):
    """Kernels whose neighbours are alike: noise, summed over a window of three along the spatial dims."""
    out = rng.normal(size=shape)
    for dim in spatial:
        out = out + numpy.roll(out, 1, dim) + numpy.roll(out, -1, dim)
    return out.astype("f4")


def in_layout(weight, layout):
    """A weight (o, i, h, w) in another order."""
    return weight.transpose(["oihw".index(letter) for letter in layout])


def shapes_and_names(folder):
    rng = numpy.random.default_rng(1)
    noise = rng.normal(size=(64, 3, 7, 7)).astype("f4")
    all_equal = rng.normal(size=(3, 3, 3, 3)).astype("f4")
    tensors = {"torch.weight": noise, "mlx.weight": in_layout(noise, "ohwi"), "keras/kernel": in_layout(noise, "hwio"),
               "any": in_layout(noise, "hwio"), "equal": all_equal, "equal.weight": all_equal,
               "small.weight": rng.normal(size=(20, 3, 3, 3)).astype("f4"),
               "up.weight": rng.normal(size=(3, 20, 5, 5)).astype("f4"), "up.bias": numpy.ones(20, "f4"),
               "fc.weight": rng.normal(size=(10, 20)).astype("f4"), "fc.bias": numpy.ones(10, "f4"),
               "old.weight": rng.normal(size=(10, 20)).astype("f4"), "old.bias": numpy.ones(20, "f4"),
               "dense/kernel": rng.normal(size=(10, 20)).astype("f4"), "x": rng.normal(size=(10, 20)).astype("f4"),
               "token_embedding.weight": rng.normal(size=(10, 20)).astype("f4"),
               "experts": rng.normal(size=(8, 20, 30)).astype("f4"),
               "audio.weight": rng.normal(size=(8, 20, 3)).astype("f4"),
               "wide.weight": rng.normal(size=(40, 50, 33, 34)).astype("f4"), "seven": numpy.ones((2,) * 7, "f4")}
    save(folder / "a.safetensors", tensors)
    have = which(folder, "a.safetensors")
    for name, want in (("torch.weight", ("probably", ["oihw"])), ("mlx.weight", ("probably", ["ohwi"])),
                       ("keras/kernel", ("probably", ["hwio"])), ("any", ("probably", ["hwio"])),
                       # All extents equal: the shape allows everything, and the name two layouts.
                       ("equal", ("cannot tell", ["oihw", "ohwi", "hwio"])),
                       ("equal.weight", ("cannot tell", ["oihw", "ohwi"])),
                       ("small.weight", ("cannot tell", ["oihw", "ohwi"])),
                       # The bias says which dim is the output: a transposed convolution.
                       ("up.weight", ("probably", ["iohw"])),
                       ("fc.weight", ("probably", ["oi"])), ("old.weight", ("probably", ["io"])),
                       ("dense/kernel", ("probably", ["io"])), ("x", ("cannot tell", [])),
                       ("token_embedding.weight", ("cannot tell", [])), ("experts", ("cannot tell", [])),
                       ("audio.weight", ("probably", ["oiw"])), ("wide.weight", ("cannot tell", ["oihw", "ohwi"])),
                       ("seven", ("cannot tell", []))):
        assert said(have[name]) == want, (name, have[name])
    assert "contradicts the rest" in evidence(have["old.weight"], "name")["text"]
    assert "fc.bias" not in have
    assert "of one dim" in subprocess.run([RELAYOUT, "checkpoint", "which", "a.safetensors"], capture_output=True,
                                          text=True, cwd=folder).stdout


def values_tell(folder):
    """Where shapes say nothing, neighbours do: many seeds, and no wrong answer; noise is told nothing of."""
    rng = numpy.random.default_rng(2)
    for layout in ("oihw", "ohwi", "hwio"):
        spatial = [layout.index("h"), layout.index("w")]
        tensors = {"s.%d" % i: smooth(rng, (16, 16, 16, 16), spatial) for i in range(5)}
        tensors.update({"n.%d" % i: rng.normal(size=(5, 5, 5, 5)).astype("f4") for i in range(20)})
        save(folder / "a.safetensors", tensors)
        for name, finding in which(folder, "a.safetensors").items():
            want = ("probably", [layout]) if name[0] == "s" else ("cannot tell", ["oihw", "ohwi", "hwio"])
            assert said(finding) == want, (layout, finding)
            likeness = evidence(finding, "values")["text"].split("by ")[1].split(" along")[0].split(", ")
            x = tensors[name].astype("f8") - tensors[name].mean()
            for d, number in enumerate(likeness):
                n = x.shape[d]
                left, right = x.take(range(n - 1), d), x.take(range(1, n), d)
                assert abs(float(number) - (left * right).mean() / (x * x).mean()) < 0.0051, (name, d, likeness)


def against(folder):
    """The orders of dims that NumPy finds, each tried."""
    rng = numpy.random.default_rng(3)
    theirs, ours, orders = {}, {}, {}
    for i in range(120):
        rank = int(rng.integers(1, 6))
        shape = [int(rng.choice([1, 2, 3, 3, 4])) for _ in range(rank)]
        x = rng.integers(0, 2 if i % 5 == 0 else 1000, shape).astype(rng.choice(["f4", "f2", "i4"]))
        order = list(rng.permutation(rank))
        name = "t.%d" % i
        ours[name], theirs[name] = x, x.transpose(order)
        if i % 7 == 0:
            theirs[name] = theirs[name] + theirs[name].dtype.type(1)
        orders[name] = ["".join("abcdef"[d] for d in each) for each in itertools.permutations(range(rank))
                        if x.transpose(each).shape == theirs[name].shape
                        and (x.transpose(each) == theirs[name]).all()]
    save(folder / "a.safetensors", ours)
    save(folder / "b.safetensors", theirs)
    have = which(folder, "a.safetensors", "--against", "b.safetensors")
    kinds = set()
    for name, want in orders.items():
        finding = have[name]
        kinds.add((min(len(want), 2), finding["certainty"]))
        assert finding["layouts"] == want, (name, want, finding)
        assert finding["certainty"] == ("certain" if len(want) < 2 else "cannot tell"), finding
    assert kinds == {(0, "certain"), (1, "certain"), (2, "cannot tell")}, kinds


def against_known(folder):
    """What shapes cannot tell is certain against the other file, also under other names and in another type."""
    rng = numpy.random.default_rng(4)
    weight = rng.normal(size=(3, 3, 3, 3)).astype("f2")
    save(folder / "torch.safetensors", {"conv.weight": weight, "big": rng.normal(size=(300, 500)).astype("f4")})
    save(folder / "mlx.safetensors", {"other.name": in_layout(weight, "ohwi").astype("f4") * numpy.float32(1.00001),
                                      "zeros": numpy.zeros((3, 3, 3, 3), "f4")})
    assert said(which(folder, "mlx.safetensors")["other.name"])[0] == "cannot tell"
    have = which(folder, "mlx.safetensors", "--against", "torch.safetensors")
    assert said(have["other.name"]) == ("certain", ["adbc"]), have
    text = evidence(have["other.name"], "other")["text"]
    assert text == 'its dims in the order adbc are "conv.weight", rounded to f16: oihw there is ohwi here', text
    assert said(have["zeros"]) == ("certain", []), have["zeros"]
    # And the rule that follows makes the one of the other.
    result = subprocess.run([RELAYOUT, "checkpoint", "convert", "mlx.safetensors", "new.safetensors", "--no-records",
                             "--map", "other.name: abcd -> adbc"], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    have = which(folder, "new.safetensors", "--against", "torch.safetensors")
    assert said(have["other.name"]) == ("certain", ["abcd"]), have
    # A tensor larger than what is compared at once, which differs in its last value.
    big = numpy.arange(1500 * 2000, dtype="f4").reshape(1500, 2000)
    wrong = big.T.copy()
    wrong[-1, -1] += 1
    save(folder / "a.safetensors", {"x": big, "y": big})
    save(folder / "b.safetensors", {"x": big.T, "y": wrong})
    have = which(folder, "a.safetensors", "--against", "b.safetensors")
    assert said(have["x"]) == ("certain", ["ba"]) and said(have["y"]) == ("certain", []), have


def recorded(folder):
    rng = numpy.random.default_rng(5)
    save(folder / "a.safetensors", {"c.weight": rng.normal(size=(8, 3, 3, 3)).astype("f4")})
    subprocess.run([RELAYOUT, "checkpoint", "convert", "a.safetensors", "b.safetensors", "--map",
                    "c.weight: oihw -> ohwi"], cwd=folder, check=True, capture_output=True)
    finding = which(folder, "b.safetensors")["c.weight"]
    assert said(finding) == ("certain", ["acdb"]), finding
    assert evidence(finding, "record")["text"] == "acdb of 8x3x3x3, from abcd", finding


def whole_numbers(folder):
    """Values that are rounded to whole numbers are not the same weights; whole numbers of another type are."""
    rng = numpy.random.default_rng(8)
    near = rng.uniform(-0.4, 0.4, (2, 3, 4, 5)).astype("f4")
    save(folder / "a.safetensors", {"w": near, "v": numpy.arange(24, dtype="f4").reshape(2, 3, 4)})
    save(folder / "b.safetensors", {"w": numpy.zeros((2, 3, 4, 5), "u1"),
                                    "v": numpy.arange(24, dtype="u1").reshape(2, 3, 4).transpose(2, 0, 1)})
    found = which(folder, "a.safetensors", "--against", "b.safetensors")
    assert "in no order" in evidence(found["w"], "other")["text"], found
    assert found["v"]["certainty"] == "certain" and found["v"]["layouts"], found


def main():
    for test in (shapes_and_names, values_tell, against, against_known, recorded, whole_numbers):
        with tempfile.TemporaryDirectory(prefix="relayout-which-") as folder:
            test(pathlib.Path(folder))
        print(test.__name__, "passed")


if __name__ == "__main__":
    main()
