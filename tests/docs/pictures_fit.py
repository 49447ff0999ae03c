#!/usr/bin/env python3
"""Checks that the pictures of the documents can be read where they are shown.

    pictures_fit.py FOLDER...      every .svg there; exit 1 and a line for each fault

At the width of a page, 880 pixels, a picture is at most 900 tall, its letters are at least 9.5 pixels high, each text
lies within the picture and its cell and on no other text, and the picture has a background of its own, so that it can
be read on a dark page. How wide a text is is estimated, rather too wide than too narrow. Standard library only.
"""
import sys
import xml.etree.ElementTree
from pathlib import Path

PAGE, TALLEST, LEAST_LETTER, WIDEST_CELL = 880, 900, 9.5, 120
NARROW = "ijl.,:;'|!()[]ft1I "
SVG = "{http://www.w3.org/2000/svg}"


def overlap(one, other):
    """Whether two boxes (left, top, right, bottom) share more than an edge."""
    return min(one[2], other[2]) - max(one[0], other[0]) > 2 and min(one[3], other[3]) - max(one[1], other[1]) > 1


def text_width(words, size, bold, mono):
    if mono:
        return 0.6 * size * len(words)
    letters = sum(0.4 if letter in NARROW else 0.9 if letter in "mwMW" else 0.6 for letter in words)
    return size * letters * (1.06 if bold else 1)


def boxes_of(root):
    """Of each text that no later rectangle lies on: (words, left, top, right, bottom, size, the cell that it is in)."""
    inherited = root.get("font-family", "")
    boxes, cells = [], []
    for part in root.iter():
        if part.tag == SVG + "rect" and part.get("fill", "none") != "none" and "x" in part.keys():
            x, y, width, height = (float(part.get(key)) for key in ("x", "y", "width", "height"))
            boxes = [box for box in boxes if not overlap(box[1:5], (x, y, x + width, y + height))]
            if width <= WIDEST_CELL:
                cells.append((x, y, x + width, y + height))
        if part.tag == SVG + "text":
            words = "".join(part.itertext())
            size = float(part.get("font-size", root.get("font-size", 16)))
            family = part.get("font-family", inherited)
            width = text_width(words, size, part.get("font-weight") == "bold", family.startswith(("ui-mono", "mono")))
            x, y = float(part.get("x", 0)), float(part.get("y", 0))
            left = x - {"middle": width / 2, "end": width}.get(part.get("text-anchor"), 0)
            cell = next((cell for cell in reversed(cells)
                         if cell[0] < left + width / 2 < cell[2] and cell[1] < y - 0.3 * size < cell[3]), None)
            boxes.append((words, left, y - 0.75 * size, left + width, y + 0.1 * size, size, cell))
    return boxes


def faults_of(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    left, top, width, height = map(float, root.get("viewBox").split())
    scale = min(1, PAGE / width)
    if height * scale > TALLEST:
        yield f"is {height * scale:.0f} pixels tall on a page, more than {TALLEST}"
    background = root.find(SVG + "rect")
    if background is None or float(background.get("width").replace("100%", str(width))) != width:
        yield "has no background of its own"
    boxes = boxes_of(root)
    for words, start, high, end, low, size, cell in boxes:
        if size * scale < LEAST_LETTER:
            yield f"{words!r} has letters of {size * scale:.1f} pixels"
        if start < left or end > left + width or high < top or low > top + height:
            yield f"{words!r} leaves the picture"
        if cell and (start < cell[0] - 1 or end > cell[2] + 1):
            yield f"{words!r} leaves its cell"
    for i, one in enumerate(boxes):
        for other in boxes[i + 1:]:
            if overlap(one[1:5], other[1:5]):
                yield f"{one[0]!r} and {other[0]!r} lie on each other"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pictures = sorted(path for folder in sys.argv[1:] for path in Path(folder).glob("*.svg"))
    faults = 0
    for path in pictures:
        for fault in faults_of(path):
            faults += 1
            print(f"{path.name}: {fault}")
    print(f"{len(pictures)} pictures, {faults} faults")
    sys.exit(1 if faults or not pictures else 0)


if __name__ == "__main__":
    main()
