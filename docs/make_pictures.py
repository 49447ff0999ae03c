#!/usr/bin/env python3
"""Draws the documents' pictures of layouts: one-tensor.svg, one tensor in nchw, nChw16c and an RGBA image, and
plain-layouts.svg, the example of oneDNN's "Understanding Memory Formats" in nchw, nhwc, chwn and nChw8c.

    docs/make_pictures.py RELAYOUT              draws them; RELAYOUT is the path of the relayout command
    docs/make_pictures.py --check RELAYOUT      exit 1 where a picture in docs is not what would be drawn

Where each element lies is not known here: the command is asked (describe, offset and index with --json), so
the pictures show what the code does. Standard library only.
"""
import itertools
import json
import subprocess
import sys
from pathlib import Path

from drawing import Drawing

DIMS = (1, 6, 2, 2)
CELL = 34
MARGIN = 28
WIDTH = 2 * MARGIN + 24 * CELL + 20
ACTIVATIONS = (2, 16, 5, 4)
# A row of shades, of which a channel's is between two.
SHADES = ("#f4a259", "#f2cf63", "#8cb369", "#5fb0b7", "#6a8ee8", "#b07cc6")
INK, FAINT = "ink", "faint"


def ask(relayout, verb, layout, *arguments, dims=DIMS):
    command = [relayout, verb, layout, "--dims", ",".join(map(str, dims)), *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cells(relayout, layout):
    """Offset -> index, for elements and padding."""
    padded = ask(relayout, "describe", layout)["padded_dims"]
    indices = list(itertools.product(*map(range, padded)))
    arguments = [argument for index in indices for argument in ("--index", ",".join(map(str, index)))]
    return {row["offset"]: (tuple(row["index"]), row["slot"]) for row in ask(relayout, "offset", layout, *arguments)}


class Picture:
    """A drawing, and how far down it has come."""

    def __init__(self, title, width=WIDTH):
        self.drawing = Drawing(width, title)
        self.y = MARGIN

    def text(self, x, y, text, size=14, colour=INK, weight="normal", anchor="start", mono=False):
        self.drawing.words(x, y, text, size, colour, anchor, weight == "bold", mono)

    def box(self, x, y, width, height, fill, hatched=False):
        self.drawing.box(x, y, width, height, fill=fill, stroke="paper", stroke_width=1.5, hatched=hatched)

    def cell(self, x, y, index, slot="element"):
        padding = slot != "element"
        self.box(x, y, CELL, CELL, "padding" if padding else f"series{index[1]}", padding)
        if not padding:
            _, c, h, w = index
            self.text(x + CELL / 2, y + 16, f"c{c}", 13, INK, "bold", "middle")
            self.text(x + CELL / 2, y + 28, f"{h},{w}", 10, INK, anchor="middle")

    def frame(self, x, y, width, height, stroke=2):
        self.drawing.box(x, y, width, height, stroke=INK, stroke_width=stroke)

    def line(self, path, stroke=1.5, arrow=False, dashed=False):
        self.drawing.line(path, INK, stroke, arrow=arrow, dashes="2 6" if dashed else "", round=dashed)

    def heading(self, name, words):
        self.text(MARGIN, self.y + 14, name, 16, INK, "bold", mono=True)
        self.text(MARGIN + 10.4 * len(name) + 14, self.y + 14, words, 14, FAINT)
        self.y += 26

    def svg(self, relayout):
        return self.drawing.svg(relayout, self.y + MARGIN - 22)


def draw_tensor(svg):
    n, channels, height, width = DIMS
    svg.text(MARGIN, svg.y + 14, f"One tensor: {n} x {channels} x {height} x {width}", 17, INK, "bold")
    svg.text(MARGIN + 260, svg.y + 14, "batch, channels, height, width; in a cell stand its channel and h,w", 14, FAINT)
    svg.y += 26
    for c in range(channels):
        x = MARGIN + c * (width * CELL + 24)
        for h, w in itertools.product(range(height), range(width)):
            svg.cell(x + w * CELL, svg.y + h * CELL, (0, c, h, w))
    svg.y += height * CELL + 34


def draw_rows(svg, memory, columns, group=0, gap=0):
    """Memory from offset 0, `columns` cells a row, an offset before each row, `group` cells framed together."""
    last = max(memory) + 1
    label = 34 if last > columns else 0
    for offset in range(last):
        row, column = divmod(offset, columns)
        x = MARGIN + label + column * CELL + (column // group * gap if group else 0)
        y = svg.y + row * (CELL + gap)
        if column == 0 and label:
            svg.text(MARGIN + label - 8, y + 21, str(offset), 12, FAINT, anchor="end", mono=True)
        svg.cell(x, y, *memory[offset])
        if group and column % group == group - 1:
            svg.frame(x - (group - 1) * CELL, y, group * CELL, CELL)
    svg.y += -(-last // columns) * (CELL + gap) + 28


def one_tensor(relayout):
    svg = Picture("One tensor in nchw, nhwc, nChw16c and as an RGBA image")
    draw_tensor(svg)

    svg.heading("nchw", "one channel after another; each cell is one element of memory")
    draw_rows(svg, cells(relayout, "nchw"), 24)

    svg.heading("nhwc", "all channels of a pixel side by side")
    draw_rows(svg, cells(relayout, "nhwc"), 24)

    svg.heading("nChw16c", "framed: a block of 16 channels of a pixel, of which 6 to 15 are padding (hatched)")
    draw_rows(svg, cells(relayout, "nChw16c"), 16, 16, 4)

    image = ask(relayout, "describe", "mace:in_out_channel")["image"]
    svg.heading("mace:in_out_channel",
                f"an image of {image['width']} x {image['height']} texels (framed), each four channels: R, G, B, A")
    draw_rows(svg, cells(relayout, "mace:in_out_channel"), image["width"] * 4, 4, 6)
    return svg.svg(relayout)


def value(index):
    """What the example holds: the elements are counted in their logical order."""
    out = 0
    for extent, i in zip(ACTIVATIONS, index):
        out = out * extent + i
    return out


def tint(index):
    """A colour for each channel, from the first of SHADES to the last; paler in the second image."""
    at = index[1] * (len(SHADES) - 1) / (ACTIVATIONS[1] - 1)
    low = min(int(at), len(SHADES) - 2)
    pale = 0.55 * index[0]
    parts = []
    for k in (1, 3, 5):
        a, b = int(SHADES[low][k:k + 2], 16), int(SHADES[low + 1][k:k + 2], 16)
        parts.append(round((a + (b - a) * (at - low)) * (1 - pale) + 255 * pale))
    return "#%02x%02x%02x" % tuple(parts)


def draw_value(svg, x, y, index, width, height):
    svg.box(x, y, width, height, tint(index))
    svg.text(x + width / 2, y + height / 2 + 4.5, f"{value(index):03}", 13, INK, anchor="middle", mono=True)


def draw_planes(svg, x, n):
    """The planes of one image, the last channel behind, as in oneDNN's figure."""
    _, channels, height, width = ACTIVATIONS
    wide, high = 38, 25
    for c, right, up in ((channels - 1, 214, 112), (1, 48, 31), (0, 0, 0)):
        left, top = x + right, svg.y + 112 - up
        for h, w in itertools.product(range(height), range(width)):
            draw_value(svg, left + w * wide, top + h * high, (n, c, h, w), wide, high)
        svg.frame(left, top, width * wide, height * high, 1.5)
        svg.text(left + width * wide, top + height * high + (15 if c else 27), f"c = {c}", 12, FAINT, anchor="end")
    svg.line(f"M{x + 212} {svg.y + 182} L{x + 250} {svg.y + 140}", 2.5, dashed=True)
    base = svg.y + 112 + height * high
    svg.line(f"M{x} {base + 12} h{width * wide}", arrow=True)
    svg.text(x + width * wide / 2, base + 27, "w", 13, INK, anchor="middle")
    svg.line(f"M{x - 12} {svg.y + 112} v{height * high}", arrow=True)
    svg.text(x - 22, svg.y + 112 + height * high / 2 + 4, "h", 13, INK, anchor="middle")
    svg.line(f"M{x - 2} {svg.y + 86} L{x + 108} {svg.y + 15}", arrow=True)
    svg.text(x + 42, svg.y + 43, "c", 13, INK, anchor="middle")
    svg.text(x + 300, base + 27, f"n = {n}", 15, INK, "bold", "middle")


def first_jumps(memory):
    """The offsets from which memory first steps along another digit: [(offset, letter of the dim)]."""
    seen, jumps = set(), []
    for offset in range(len(memory) - 1):
        here, there = memory[offset], memory[offset + 1]
        grown = next(d for d in range(len(here)) if there[d] > here[d])
        key = (grown, tuple(there[d] < here[d] for d in range(len(here))))
        if key not in seen:
            seen.add(key)
            jumps.append((offset, "nchw"[grown]))
    return jumps


def draw_memory(svg, relayout, layout, mark, words):
    """The parts of memory around its first jumps, each with its mark, and the offset below each cell."""
    size = len(list(itertools.product(*map(range, ACTIVATIONS))))
    asked = [argument for offset in range(size) for argument in ("--offset", str(offset))]
    memory = [row["index"] for row in ask(relayout, "index", layout, *asked, dims=ACTIVATIONS)]
    jumps = first_jumps(memory)
    shown = sorted({offset + k for offset, _ in jumps for k in (-1, 0, 1) if offset + k >= 0})
    svg.heading(layout, words)
    wide, high, top = 44, 28, svg.y + 34
    places, x, last = {}, MARGIN, -1
    for offset in shown + [size]:
        if offset != last + 1:
            svg.text(x + wide / 2, top + 18, "...", 15, FAINT, anchor="middle")
            x += wide
        if offset < size:
            places[offset] = x
            draw_value(svg, x, top, memory[offset], wide, high)
            svg.text(x + wide / 2, top + high + 13, str(offset), 11, FAINT, anchor="middle", mono=True)
            x += wide
        last = offset
    for number, (offset, letter) in enumerate(jumps):
        left, right = places[offset] + wide / 2, places[offset + 1] + wide / 2
        svg.line(f"M{left} {top - 2} C{left} {top - 20} {right} {top - 20} {right} {top - 3}", arrow=True)
        svg.text((left + right) / 2, top - 21, f"{mark}:{number} {letter}", 12, INK, anchor="middle", mono=True)
    svg.y = top + high + 36


def plain_layouts(relayout):
    svg = Picture("One tensor in nchw, nhwc, chwn and nChw8c", 2 * MARGIN + 20 * 44)
    n, c, h, w = ACTIVATIONS
    svg.text(MARGIN, svg.y + 14, f"Activations: {n} x {c} x {h} x {w}", 17, INK, "bold")
    svg.text(MARGIN + 286, svg.y + 14, "batch, channels, height, width; each cell shows its value; paler where n = 1",
             14, FAINT)
    svg.y += 38
    draw_planes(svg, MARGIN + 36, 0)
    draw_planes(svg, MARGIN + 490, 1)
    svg.y += 112 + 5 * 25 + 62
    draw_memory(svg, relayout, "nchw", "a", "first within a row, then rows, channels and images; below are the offsets")
    draw_memory(svg, relayout, "nhwc", "b", "all channels of a pixel side by side")
    draw_memory(svg, relayout, "chwn", "c", "the images of a batch side by side")
    draw_memory(svg, relayout, "nChw8c", "x", "eight channels of a pixel side by side, then the next eight")
    return svg.svg(relayout)


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) != 2 + check:
        sys.exit(__doc__)
    stale = 0
    for name, draw in (("one-tensor.svg", one_tensor), ("plain-layouts.svg", plain_layouts)):
        path = Path(__file__).with_name(name)
        picture = draw(sys.argv[-1])
        if not check:
            path.write_text(picture, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != picture:
            stale += 1
            print(f"docs/{name} is not what docs/make_pictures.py draws")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
