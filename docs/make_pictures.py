#!/usr/bin/env python3
"""Draws docs/one-tensor.svg: one tensor in nchw, nChw16c and an RGBA image.

    docs/make_pictures.py RELAYOUT      the path of the relayout command

Where each element lies is not known here: the command is asked (describe --json, offset --json), so
the picture shows what the code does. Standard library only.
"""
import itertools
import json
import subprocess
import sys
from pathlib import Path

DIMS = (1, 6, 2, 2)
CELL = 34
MARGIN = 28
WIDTH = 2 * MARGIN + 24 * CELL + 20
COLOURS = ("#f4a259", "#f2cf63", "#8cb369", "#5fb0b7", "#6a8ee8", "#b07cc6")  # one a channel
INK, FAINT = "#22262b", "#6b7480"


def ask(relayout, verb, layout, *arguments):
    command = [relayout, verb, layout, "--dims", ",".join(map(str, DIMS)), *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cells(relayout, layout):
    """Offset -> index, for elements and padding."""
    padded = ask(relayout, "describe", layout)["padded_dims"]
    indices = list(itertools.product(*map(range, padded)))
    arguments = [argument for index in indices for argument in ("--index", ",".join(map(str, index)))]
    return {row["offset"]: (tuple(row["index"]), row["slot"]) for row in ask(relayout, "offset", layout, *arguments)}


class Svg:
    """The picture as text, and how far down it has come."""

    def __init__(self):
        self.parts = []
        self.y = MARGIN

    def text(self, x, y, text, size=14, colour=INK, weight="normal", anchor="start", mono=False):
        family = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" if mono else \
            "system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif"
        self.parts.append(f'<text x="{x}" y="{y}" font-family="{family}" font-size="{size}" fill="{colour}" '
                          f'font-weight="{weight}" text-anchor="{anchor}">{text}</text>')

    def cell(self, x, y, index, slot="element"):
        fill = COLOURS[index[1]] if slot == "element" else "url(#padding)"
        self.parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}" '
                          f'stroke="#ffffff" stroke-width="1.5"/>')
        if slot == "element":
            _, c, h, w = index
            self.text(x + CELL / 2, y + 16, f"c{c}", 13, INK, "bold", "middle")
            self.text(x + CELL / 2, y + 28, f"{h},{w}", 10, INK, anchor="middle")

    def frame(self, x, y, width, height, stroke=2):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" '
                          f'stroke="{INK}" stroke-width="{stroke}"/>')

    def heading(self, name, words):
        self.text(MARGIN, self.y + 14, name, 16, INK, "bold", mono=True)
        self.text(MARGIN + 10.4 * len(name) + 14, self.y + 14, words, 14, FAINT)
        self.y += 26

    def save(self, path):
        height = self.y + MARGIN - 22
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}">\n'
            '<defs><pattern id="padding" width="7" height="7" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="7" height="7" fill="#eef0f2"/>'
            '<line x1="0" y1="0" x2="0" y2="7" stroke="#c9cfd6" stroke-width="2"/></pattern></defs>\n'
            f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n",
            encoding="utf-8")


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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    relayout = sys.argv[1]
    svg = Svg()
    draw_tensor(svg)

    svg.heading("nchw", "one channel after another; each cell is one element of memory")
    draw_rows(svg, cells(relayout, "nchw"), 24)

    svg.heading("nChw16c", "16 channels of a pixel side by side; channels 6 to 15 are padding")
    draw_rows(svg, cells(relayout, "nChw16c"), 16)

    image = ask(relayout, "describe", "mace:in_out_channel")["image"]
    svg.heading("mace:in_out_channel",
                f"an image of {image['width']} x {image['height']} texels, four channels in a texel's R, G, B, A")
    draw_rows(svg, cells(relayout, "mace:in_out_channel"), image["width"] * 4, 4, 6)
    svg.save(Path(__file__).with_name("one-tensor.svg"))


if __name__ == "__main__":
    main()
