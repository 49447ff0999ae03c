#!/usr/bin/env python3
"""Computes the values in the tables of docs/published-examples.md anew, and compares.

    check.py ROOT RELAYOUT      exit 1 and one line for each value that is not so

A comment <!-- check: KIND --> stands before each table; the function of that name in KINDS checks it. What is given
(layouts, dims, indices, formulas as the pages print them) stands in `code`; what is expected of it stands plain. The
layouts are asked of the command, and what the pages say is computed here from their formulas, element by element.
Afterwards each expected number is made wrong, one at a time, and the check must find every one of them. The console
blocks of the document are run by tests/docs/check.py. Standard library only.
"""
import functools
import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = "docs/published-examples.md"
TABLE = re.compile(r"<!-- check: (\w+) -->\n((?:\|.*\n)+)")
CODE = re.compile(r"`([^`]*)`")
NUMBER = re.compile(r"\d+")


class Command:
    """Questions to the command; an answer that was given once is kept."""

    def __init__(self, program):
        self.program = program

    @functools.lru_cache(maxsize=None)
    def ask(self, verb, layout, *arguments):
        result = subprocess.run([self.program, verb, layout, *arguments, "--json"], capture_output=True, text=True,
                                check=True)
        return json.loads(result.stdout)

    def describe(self, layout, dims, *arguments):
        return self.ask("describe", layout, "--dims", dims, *arguments)

    @functools.lru_cache(maxsize=None)
    def rows(self, layout, dims):
        """What `offset` says of each element, by its index."""
        asked = tuple(part for index in indices(dims) for part in ("--index", comma(index)))
        return {tuple(row["index"]): row for row in self.ask("offset", layout, "--dims", dims, *asked)}


def comma(numbers):
    return ",".join(map(str, numbers))


def numbers(text):
    return tuple(int(part) for part in text.split(","))


def indices(dims):
    return itertools.product(*map(range, numbers(dims)))


@functools.lru_cache(maxsize=None)
def compiled(formula):
    if not re.fullmatch(r"[\w\s+*/%(),-]*", formula):
        raise ValueError(f"{formula}: no formula")
    return compile(formula.replace("/", "//"), formula, "eval")


def evaluate(formula, names):
    """A formula as the pages print them: / and % of integers, as in C++."""
    return eval(compiled(formula), {"__builtins__": {}}, names)


def named(letters, values, capitals=False):
    return dict(zip(letters.upper() if capitals else letters, values))


def letters_of(layout):
    """The letters of a layout's dims in their logical order."""
    if layout.startswith("mace:"):
        last = layout[len("mace:"):]
        return "nchw" if last.startswith("in_out") else {"argument": "w", "dw_conv2d_filter": "mihw"}.get(last, "oihw")
    return "nchw"


def formulas(command, rows):
    """| `layout` | `its offset by the page` | how many offsets are the same in `dims` | ... |"""
    extents = [CODE.findall(cell)[0] for cell in rows[0][2:]]
    for cells in rows[1:]:
        layout, formula = (CODE.findall(cell)[0] for cell in cells[:2])
        for dims, said in zip(extents, cells[2:]):
            names = named("nchw", numbers(dims), capitals=True)
            here = command.rows(layout, dims)
            same = sum(evaluate(formula, {**names, **named("nchw", index)}) == row["offset"]
                       for index, row in here.items())
            yield said, f"{same} of {len(here)}"


def collisions(command, rows):
    """| `layout` of `dims` | offset by `formula` | offset here |, a row for each `index`, and one that counts offsets
    which two elements share."""
    layout, dims = CODE.findall(rows[0][0])
    formula = CODE.findall(rows[0][1])[0]
    names = named("nchw", numbers(dims), capitals=True)
    here = {index: row["offset"] for index, row in command.rows(layout, dims).items()}
    there = {index: evaluate(formula, {**names, **named("nchw", index)}) for index in here}
    for cells in rows[1:]:
        given = CODE.findall(cells[0])
        for said, offsets in zip(cells[1:], (there, here)):
            every = sorted(offsets.values())
            yield said, str(offsets[numbers(given[0])] if given else sum(a == b for a, b in zip(every, every[1:])))


def strides(command, rows):
    """| `layout` | `dims` | strides, there and here |"""
    for cells in rows[1:]:
        layout, dims = (CODE.findall(cell)[0] for cell in cells[:2])
        yield cells[2], comma(command.describe(layout, dims)["strides"])


def tags(command, rows):
    """| `letters` | `aliases` | strides of the first of the dims in the heading | the same again |, and a last row that
    counts."""
    extents = numbers(CODE.findall(rows[0][2])[0])
    lines = [cells[k:k + 3] for cells in rows[1:-1] for k in (0, 3)]
    aliases = 0
    for cells in lines:
        letters = CODE.findall(cells[0])[0]
        dims = extents[:len(letters)]
        places = [letters.index(letter) for letter in sorted(letters)]
        dense = comma(math.prod(dims["abcdef".index(inner)] for inner in letters[place + 1:]) for place in places)
        yield cells[2], dense
        for name in [letters] + CODE.findall(cells[1]):
            about = command.describe(name, comma(dims))
            yield f"{name} has the strides {dense}", f"{name} has the strides {comma(about['strides'])}"
        aliases += len(CODE.findall(cells[1]))
    counts = (len(lines), aliases, len(lines) + aliases)
    yield NUMBER.findall(" ".join(rows[-1])), [str(count) for count in counts]


def images(command, rows):
    """| MACE's type | `layout` | `dims` | `width, height by the page` | width x height | `index` | x,y,lane |"""
    for cells in rows[1:]:
        layout, dims, size, index = (CODE.findall(cells[k])[0] for k in (1, 2, 3, 5))
        image = command.describe(layout, dims)["image"]
        there = evaluate(size, named(letters_of(layout), numbers(dims), capitals=True))
        yield cells[4], f"{there[0]} x {there[1]}"
        yield cells[4], f"{image['width']} x {image['height']}"
        row = command.rows(layout, dims)[numbers(index)]
        yield cells[6], comma((*row["texel"], row["lane"]))


def texels(command, rows):
    """| `layout` | `dims` | `the element in lane k of texel x, y` | elements it reaches | those that lie so here |"""
    for cells in rows[1:]:
        layout, dims, formula = (CODE.findall(cell)[0] for cell in cells[:3])
        letters, image = letters_of(layout), command.describe(layout, dims)["image"]
        here = {index: (*row["texel"], row["lane"]) for index, row in command.rows(layout, dims).items()}
        names = named(letters, numbers(dims), capitals=True)
        reached, right = set(), set()
        for x, y, k in itertools.product(range(image["width"]), range(image["height"]), range(4)):
            parts = dict(part.strip().split("=") for part in formula.split(", "))
            index = tuple(evaluate(parts[letter], {**names, "x": x, "y": y, "k": k}) for letter in letters)
            if index in here:
                reached.add(index)
                if here[index] == (x, y, k):
                    right.add(index)
        yield cells[3], f"{len(reached)} of {len(here)}"
        yield cells[4], f"{len(right)} of {len(here)}"


def sizes(command, rows):
    """| `description` | `type` | bytes by the published helper | bytes here |"""
    widths = {"f64": 8, "u64": 8, "f32": 4, "s32": 4, "f16": 2, "u8": 1, "u4": 0}
    for cells in rows[1:]:
        layout, dtype = (CODE.findall(cell)[0] for cell in cells[:2])
        lists = [numbers(part) for part in re.findall(r"\{([\d,]+)\}", layout)]
        last = math.prod(lists[0]) - 1  # without strides the helper multiplies in 64 bits
        if len(lists) > 1:
            last = sum((size - 1) * stride for size, stride in zip(*lists)) % 2**32
        yield cells[2], str((last + 1) * widths[dtype] + 3 & ~3)
        yield cells[3], str(command.ask("describe", layout, "--dtype", dtype)["directml"]["bytes"])


def arithmetic(_, rows):
    """| `an expression` | its value |"""
    for cells in rows[1:]:
        yield cells[1], str(evaluate(CODE.findall(cells[0])[0], {}))


KINDS = {f.__name__: f for f in (formulas, collisions, strides, tags, images, texels, sizes, arithmetic)}


def cells_of(table):
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]
    return rows[:1] + rows[2:]


def findings(command, kind, rows):
    return [f"{kind}: {said} is {found}" for said, found in KINDS[kind](command, rows) if said != found]


def wrong_ones(rows):
    """The table with each expected number made larger by one, one after the other."""
    for r, row in enumerate(rows[1:], 1):
        for c, cell in enumerate(row):
            plain = CODE.sub(lambda match: "`" * len(match[0]), cell)
            for match in NUMBER.finditer(plain):
                wrong = cell[:match.start()] + str(int(match[0]) + 1) + cell[match.end():]
                changed = row[:c] + [wrong] + row[c + 1:]
                yield match[0], " | ".join(row), rows[:r] + [changed] + rows[r + 1:]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    command = Command(str(Path(sys.argv[2]).resolve()))
    tables = TABLE.findall((Path(sys.argv[1]) / DOCUMENT).read_text(encoding="utf-8"))
    found, changes = [], 0
    for kind, table in tables:
        rows = cells_of(table)
        found += findings(command, kind, rows)
        for number, row, changed in wrong_ones(rows):
            changes += 1
            if not findings(command, kind, changed):
                found.append(f"{kind}: a change of {number} in | {row} | is not found")
    found += [f"{DOCUMENT} has no table of {kind}" for kind in KINDS if kind not in dict(tables)]
    for line in found:
        print(line)
    print(f"published: {len(tables)} tables, {changes} numbers changed in turn, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
