"""describe, offset and index, against model.py."""
import json
import math
import random

import model
import tensors
from shared import comma, expect


def offsets(command):
    """offset and index over whole small tensors, against model.py."""
    rng = random.Random(2)
    for tag, rank in model.TAGS:
        dims = [rng.choice((1, 2, 3) if rank > 5 else (1, 2, 5, 17, 3)) for _ in range(rank)]
        every = list(model.indices(dims))
        chosen = rng.sample(every, min(len(every), 200))
        arguments = [part for index in chosen for part in ("--index", comma(index))]
        found = [int(line) for line in command.ok("offset", tag, "--dims", comma(dims), *arguments).split()]
        expect(found, [model.offset(tag, dims, index) for index in chosen], "offset %s %s" % (tag, dims))
        back = {model.offset(tag, dims, index): comma(index) for index in every}
        size = math.prod(model.physical_shape(tag, dims))
        asked = rng.sample(range(size), min(size, 200)) + [size, -1]
        arguments = [part for one in asked for part in ("--offset", str(one))]
        lines = command.ok("index", tag, "--dims", comma(dims), *arguments).splitlines()
        wanted = [back.get(one, "padding") for one in asked[:-2]] + ["gap", "gap"]
        expect(lines, wanted, "index %s %s" % (tag, dims))


def descriptions(command):
    """describe --json against model.py."""
    rng = random.Random(3)
    for tag, rank in model.TAGS:
        dims = [rng.choice((2, 3) if rank > 5 else (2, 5, 17, 3)) for _ in range(rank)]
        about = json.loads(command.ok("describe", tag, "--dims", comma(dims), "--dtype", "f16", "--json"))
        outer, blocks = model.parse(tag)
        shape = model.physical_shape(tag, dims)
        padded = [shape[outer.index(d)] * math.prod(s for e, s in blocks if e == d) for d in range(rank)]
        strides = [math.prod(shape[outer.index(d) + 1:]) for d in range(rank)]
        total = math.prod(shape)
        expect(about["dims"], dims, tag)
        expect(about["padded_dims"], padded, tag + " padded_dims")
        expect(about["strides"], strides, tag + " strides")
        expect(about["inner_blocks"], [{"dim": d, "size": s} for d, s in blocks], tag + " inner_blocks")
        expect(about["size_bytes"], 2 * total, tag + " size_bytes")
        expect(about["span_elements"], total, tag + " span_elements")
        expect(about["logical_bytes"], 2 * math.prod(dims), tag + " logical_bytes")
        expect(about["padding_elements"], total - math.prod(dims), tag + " padding_elements")
        expect((about["injective"], about["dense"], about["offset0"]), (True, total == math.prod(dims), 0), tag)
        assert about["tag"] is not None, tag
        same = [model.offset(about["tag"], dims, i) for i in list(model.indices(dims))[:300]]
        expect(same, [model.offset(tag, dims, i) for i in list(model.indices(dims))[:300]], tag + " " + about["tag"])


def images(command):
    """Every element of MACE's images, against the published formulas, and files of them."""
    for name, (extent, pixel) in model.IMAGES.items():
        dims = (1, 5, 3, 6) if "dw" in name else (2, 5, 3, 6)
        width, height = extent(*dims)
        about = json.loads(command.ok("describe", name, "--dims", comma(dims), "--json"))
        expect((about["image"]["width"], about["image"]["height"]), (width, height), name)
        every = list(model.indices(dims))
        for pitch in (width, width + 3):
            layout = name if pitch == width else "%s;pitch=%d" % (name, pitch)
            arguments = [part for index in every for part in ("--index", comma(index))]
            found = [int(line) for line in command.ok("offset", layout, "--dims", comma(dims), *arguments).split()]
            wanted = [(lambda x, y, k: (y * pitch + x) * 4 + k)(*pixel(*dims, *index)) for index in every]
            expect(found, wanted, layout)
            texels = command.ok("offset", layout, "--dims", comma(dims), *arguments, "--texel").split()
            expect(texels, [comma(pixel(*dims, *index)) for index in every], layout + " --texel")
            asked = [part for texel in texels for part in ("--texel", texel)]
            back = command.ok("index", layout, "--dims", comma(dims), *asked).split()
            expect(back, [comma(index) for index in every], layout + " index --texel")
        tensors.write_npy(command.path("x.npy"), dims, values=range(1, 1 + len(every)))
        command.ok("convert", "x.npy", "image.npy", "--to", name, "-f")
        _, _, shape, values = tensors.read_npy(command.path("image.npy"))
        expect(shape, (height, width, 4), name + " shape")
        flat = [0.0] * (height * width * 4)
        for number, where in enumerate(command.ok("offset", name, "--dims", comma(dims), *arguments).split()):
            flat[int(where)] = number + 1.0
        expect(values, flat, name + " values")


ALL = [offsets, descriptions, images]
