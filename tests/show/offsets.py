#!/usr/bin/env python3
"""Compares what pages compute with the library: the offset of every index, padding included, and what lies at every
offset, for all names of layouts that `relayout tags` lists and for images, swizzles, broadcasts, flips and records.

    offsets.py RELAYOUT

The page computes by its script from the digits that `relayout show --json` writes; the library is asked by `relayout
offset` and `relayout index`. Exit status 77 where there is no browser.
"""
import itertools
import math
import sys

from browser import Command, start

# Few elements, and extents that leave padding in blocks.
EXTENTS = {1: ((5,), (17,)), 2: ((5, 3), (17, 9)), 3: ((5, 3, 2), (1, 9, 4)), 4: ((2, 5, 3, 2), (3, 4, 1, 2)),
           5: ((2, 3, 2, 3, 2), (1, 5, 2, 1, 3)), 6: ((2, 2, 3, 2, 1, 2), (1, 3, 2, 2, 2, 1))}
MOST_CELLS = 4096
BY_HAND = [
    ("nChw16c", (2, 17, 2, 2)), ("OIhw4i16o4i", (17, 5, 1, 2)), ("nChw8c", (1, 9, 3, 4)), ("aBc8b", (2, 11, 3)),
    ("strides:15,1,5,1", (2, 3, 5, 1)), ("strides:-8,1@24", (4, 6)), ("strides:0,1", (3, 4)),
    ("strides:1,0,-12@24", (3, 5, 3)), ("strides:7", (9,)), ("strides:2,3", (4, 4)), ("nchw.flip(2)", (1, 2, 3, 4)),
    ("nchw.narrow(1,1,2)", (2, 5, 2, 2)), ("ab;swizzle=3,3,3", (16, 64)), ("ab;swizzle=2,3,3", (8, 32)),
    ("ab;swizzle=2,1,-3", (8, 32)), ("ba;swizzle=1,4,2", (16, 16)), ("cute:((2,4),(3,5)):((1,12),(4,48))", None),
    ("cute:Sw<2,2,3>o0o(8,16):(16,1)", None), ("mace:in_out_channel", (2, 6, 3, 2)), ("mace:argument", (9,)),
    ("mace:conv2d_filter", (5, 6, 2, 2)), ("mace:in_out_width", (2, 6, 3, 5)), ("mace:in_out_height", (2, 6, 5, 3)),
    ("nh|Cw4c;pitch=8", (1, 6, 3, 2)), ("tvm:NCHW4c", (1, 6, 2, 3)), ("xla:{1,0:T(4,8)}", (5, 9)),
    ("digits:(3,2)(2,40)|(4,7)", (5, 4)), ("nchw", (1, 0, 2, 2)), ("a", (1,)),
]
RECORDS = [("ggml:q4_0", "2,64"), ("ggml:q4_K", "1,256"), ("ggml:q6_K", "1,256"), ("ggml:q8_0", "2,32"),
           ("record{x:f32,y:u8,z:f16;aligned}", "5"), ("record{a:u8[3],b:u8,c:u16}", "2,2")]


def dims_text(dims):
    return ",".join(map(str, dims))


def tensors(command):
    """(expression, dims as text, whether it is a name that may not take the dims) of all layouts."""
    names = [row for rows in command.json("tags").values() for row in rows if isinstance(row, dict)]
    for row in names:
        for dims in EXTENTS.get(row.get("rank"), ()):
            yield row["name"], dims_text(dims), True
    for expression, dims in BY_HAND:
        yield expression, dims and dims_text(dims), False
    for record, dims in RECORDS:
        for field in command.json("record", record, "--dims", dims)["fields"]:
            yield field["layout"], dims_text(field["dims"]), False


def check(browser, command, expression, dims):
    """Compares one layout; the number of its indices, or None where it is left out."""
    arguments = [expression] + (["--dims", dims] if dims is not None else [])
    view = command.json("show", *arguments)["views"][0]
    indices = list(itertools.product(*map(range, view["padded"])))
    if math.prod(view["dims"]) == 0:
        indices = []
    if len(indices) > MOST_CELLS or view["span"] > MOST_CELLS:
        return None
    computed = browser.execute_script("const view = arguments[0]; return arguments[1].map((i) => offsetOf(view, i));",
                                      view, indices)
    asked = [word for index in indices for word in ("--index", dims_text(index))]
    known = [row["offset"] for row in command.json("offset", *arguments, *asked)] if indices else []
    assert computed == known, f"{expression} {dims}: offsets"
    offsets = list(range(view["span"] + 2))
    lies = browser.execute_script(
        "const view = arguments[0]; return arguments[1].map((o) => indexAt(view, o));", view, offsets)
    asked = [word for offset in offsets for word in ("--offset", str(offset))]
    for offset, there, row in zip(offsets, lies, command.json("index", *arguments, *asked)):
        assert there["slot"] == row["slot"], f"{expression} {dims}: {row['slot']} at offset {offset}, not {there}"
        # Of several indices at one offset each side may name another.
        if there["slot"] != "gap":
            position = indices.index(tuple(there["index"]))
            assert known[position] == offset, f"{expression} {dims}: {there} is not at offset {offset}"
    return len(indices)


def main():
    command = Command(sys.argv[1])
    browser = start()
    try:
        browser.get(command.page("x.html", "ab", "--dims", "2,3"))
        done = {}
        for expression, dims, named in tensors(command):
            if (expression, dims) in done:
                continue
            try:
                done[expression, dims] = check(browser, command, expression, dims)
            except RuntimeError as error:
                # Some names take other extents only, as those of a depthwise filter.
                assert named, error
                done[expression, dims] = None
    finally:
        browser.quit()
        command.remove()
    compared = [cells for cells in done.values() if cells is not None]
    left_out = len(done) - len(compared)
    print(f"{len(compared)} layouts, {sum(compared)} indices; {left_out} left out as too large or refused")
    assert len(compared) >= 300, "too few layouts were compared"


if __name__ == "__main__":
    main()
