"""The pictures that a notebook shows of a layout: what is in them, and that it can be read."""
import re
import xml.etree.ElementTree

import pytest
import relayout
from layouts import ALL

SVG = "{http://www.w3.org/2000/svg}"
NOT_SHOWN = re.compile(r"\.\.\. offsets (\d+) to (\d+) are not shown")
# What once left its cells or could not be told apart: long indices, many dims, blocks, padding, gaps and images.
NAMED = [("nchw", (2, 3, 4, 5)), ("nhwc", (2, 3, 4, 5)), ("nChw16c", (2, 17, 4, 4)),
         ("OIhw4i16o4i", (32, 32, 1, 1)), ("mace:in_out_channel", (1, 6, 2, 5)),
         ("cute:((2,4),(3,5)):((1,12),(4,48))", None),
         ("abcdefghijkl", (2,) * 12), ("abcdefghijkl", (12, 2) * 6), ("nchw", (1, 1, 1, 1)), ("nchw", (2, 0, 4, 5)),
         ("strides:-8,1@24", (4, 6)), ("strides:12,2", (3, 6)), ("ab", (100, 100)), ("ba", (100, 1000)), ("a", (300,)),
         ("ab", (1_000_000, 1_000_000))]
LAYOUTS = [relayout.layout(text, dims) for text, dims in NAMED] + ALL


def drawn(layout):
    return xml.etree.ElementTree.fromstring(layout._repr_html_())


def cells(root):
    """(title, rectangle, label or None) of each cell of memory."""
    for group in root.iter(SVG + "g"):
        text = group.find(SVG + "text")
        yield group.find(SVG + "title").text, group.find(SVG + "rect"), text


def words(root):
    return [text.text for text in root.iter(SVG + "text")]


def width_of(text):
    return 0.6 * float(text.get("font-size")) * len(text.text)


def by_name(name, dims):
    return drawn(relayout.layout(name, dims))


def test_each_cell_says_what_lies_there():
    for layout in LAYOUTS:
        root = drawn(layout)
        offsets = []
        for title, _, label in cells(root):
            offset, kind, index = re.fullmatch(r"offset (\d+): (\w+)(?: (.*))?", title).groups()
            offsets.append(int(offset))
            slot, expected = layout.index(int(offset))
            assert kind == slot
            if slot != "gap":
                named = zip(layout.names, expected)
                assert (index or "") == ", ".join(f"{name} = {i}" for name, i in named)
            assert (label is not None and label.text != "") == (slot == "element" and layout.ndim > 0), title
        left_out = [tuple(map(int, found.groups())) for text in words(root) if (found := NOT_SHOWN.match(text))]
        leading = [re.search(r"; offsets 0 to (\d+) are a gap", text) for text in words(root)]
        for last in (int(found[1]) for found in leading if found):
            offsets += range(last + 1)
            assert all(layout.index(offset) == ("gap", None) for offset in range(last + 1))
        for first, last in left_out:
            offsets += range(first, last + 1) if last - first < 1000 else [first, last]
        assert len(left_out) <= 1
        assert min(offsets, default=0) == 0 and max(offsets, default=-1) == layout.span_elements - 1
        assert len(set(offsets)) == len(offsets)
        if not left_out or left_out[0][1] - left_out[0][0] < 1000:
            assert len(offsets) == layout.span_elements


def test_texts_fit_their_cells_and_the_picture():
    for layout in LAYOUTS:
        root = drawn(layout)
        _, _, width, height = map(float, root.get("viewBox").split())
        assert width <= 1000 and height <= 500, repr(layout)
        for _, box, label in cells(root):
            if label is not None:
                assert float(label.get("font-size")) >= 10
                assert width_of(label) <= float(box.get("width")) - 2, (repr(layout), label.text)
        for text in root.iter(SVG + "text"):
            anchored = {"middle": 0.5, "end": 1}.get(text.get("text-anchor"), 0)
            left = float(text.get("x")) - anchored * width_of(text)
            assert left >= 0 and left + width_of(text) <= width, (repr(layout), text.text)


def test_labels_name_their_dims():
    for layout in LAYOUTS:
        root = drawn(layout)
        labels = [(title, label.text) for title, _, label in cells(root) if label is not None]
        found = [re.match("in each cell the index ([^;]*)", text) for text in words(root)]
        dims = next((match[1].split(",") for match in found if match), None)
        if dims is None:
            assert not labels
        for title, label in labels:
            index = dict(pair.split(" = ") for pair in title.split(": ")[1].split(" ", 1)[1].split(", "))
            assert label == ",".join(index[name] for name in dims)


def test_what_does_not_change_is_left_out_and_said():
    texts = words(by_name("abcdefghijkl", (2,) * 12))
    assert "in each cell the index f,g,h,i,j,k,l; a,b,c,d,e = 0,0,0,0,0 at first" in texts
    assert "... offsets 80 to 4055 are not shown; below a,b,c,d,e = 1,1,1,1,1" in texts
    assert "in each cell the index o,i; h,w = 0,0 everywhere" in words(by_name("OIhw4i16o4i", (32, 32, 1, 1)))
    assert "no elements" in words(by_name("nchw", (2, 0, 4, 5)))
    assert "in each cell the index b; the same for every a" in words(by_name("strides:0,1", (3, 4)))
    assert "in each cell the index a,b; offsets 0 to 39 are a gap" in words(by_name("strides:8,1@40", (3, 8)))


def fills(name, dims):
    return [box.get("fill") for _, box, _ in cells(by_name(name, dims))]


@pytest.mark.parametrize("name, dims, run", [("nchw", (2, 3, 4, 5), 5), ("nhwc", (2, 3, 4, 5), 3),
                                             ("nChw16c", (1, 16, 4, 4), 16), ("OIhw4i16o4i", (16, 16, 1, 1), 4)])
def test_a_run_has_one_colour_and_the_next_another(name, dims, run):
    shown = fills(name, dims)
    runs = [shown[at:at + run] for at in range(0, 80, run)]
    assert all(len(set(colours)) == 1 for colours in runs)
    assert all(one[0] != other[0] for one, other in zip(runs, runs[1:]))


@pytest.mark.parametrize("name, dims, said", [
    ("nChw16c", (2, 17, 4, 4), "a block of 16c"), ("nChw16c", (2, 3, 4, 4), "a block of 16c"),
    ("OIhw4i16o4i", (32, 32, 1, 1), "a block of 4i16o4i"), ("mace:in_out_channel", (1, 6, 2, 5), "a block of 4c"),
    ("nchw", (2, 3, 4, 5), "all h,w of one c"), ("nhwc", (2, 3, 4, 5), "all w,c of one h")])
def test_the_legend_says_what_a_frame_is(name, dims, said):
    root = by_name(name, dims)
    assert said in words(root)
    assert any(path.get("stroke-width") == "2" and path.get("d") for path in root.iter(SVG + "path"))


def test_a_frame_is_around_each_block():
    """Between the columns of blocks of 4 in a row of 20 are 4 lines, and one at each end."""
    root = by_name("mace:in_out_channel", (1, 6, 2, 5))
    (frames,) = [path.get("d") for path in root.iter(SVG + "path") if path.get("stroke-width") == "2"]
    lefts = {float(x) for x in re.findall(r"M([\d.]+) [\d.]+v", frames)}
    width = float(next(cells(root))[1].get("width")) + 1
    assert sorted(round((left - min(lefts)) / width) for left in lefts) == [0, 4, 8, 12, 16, 20]


def test_padding_and_gaps_look_different_and_are_in_the_legend():
    looks = {}
    for name, dims in (("strides:-8,1@24", (4, 6)), ("nChw16c", (2, 17, 4, 4)), ("strides:12,2", (3, 6))):
        root = by_name(name, dims)
        kinds = set()
        for title, box, _ in cells(root):
            kind = title.split(": ")[1].split()[0]
            kinds.add(kind)
            looks.setdefault(kind, set()).add((box.get("fill"), box.get("stroke-dasharray")))
        for kind, said in (("padding", "padding"), ("gap", "gap: no index")):
            assert (kind in kinds) == (said in words(root)), name
    assert set(looks) == {"element", "padding", "gap"}
    assert not looks["element"] & looks["padding"] and not (looks["element"] | looks["padding"]) & looks["gap"]


def test_texts_are_escaped():
    layout = relayout.layout("ab.narrow(0,0,1)", (2, 3))
    assert drawn(layout).get("aria-label") == f"{layout.expression}  1x3"
