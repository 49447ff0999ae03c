#!/usr/bin/env python3
"""Draws the pictures of measured speeds from the tables of the pages that were generated from the measurements.

    docs/speed_pictures.py RELAYOUT [PAGE.md...]   writes PAGE.svg beside each, docs/performance.md and
                                                   docs/performance-python.md unless others are named
    docs/speed_pictures.py --check RELAYOUT        exit 1 where a picture in docs is not what its page says

RELAYOUT is the path of the relayout command, which writes the drawings down.

A picture has a row for each class of conversions on the fewest threads that were measured, and shows nothing that its
page does not. All figures are multiples of a copy, on a logarithmic axis. Standard library only.
"""
import math
import re
import sys
from collections import namedtuple
from pathlib import Path

from drawing import Drawing

WIDTH, MARGIN, LABELS, PLOT, COLUMN = 880, 20, 322, 330, 58
HEAD, LINE, LETTERS, NOTE_LETTERS = 118, 14, 48, 122
INK, FAINT, GRID = "ink", "faint", "grid"
# Colours that people see apart whose eyes confuse red and green; each has a shape of its own as well.
OWN, OTHERS = "#0072b2", (("#d55e00", "diamond"), ("#7a3b8f", "square"))
LEAST, MOST = 0.5, 16

# One row: `values` are the means of relayout and of each other system, None where a system has none.
Row = namedtuple("Row", "name words cases values best worst")
# `systems` has for each other system its words in the legend and above its column of figures.
Chart = namedtuple("Chart", "title where systems rows notes")


def tables(text):
    """The tables under each heading: [(heading, [{column: cell}])]."""
    found, heading, head = [], "", None
    for line in text.splitlines():
        if line.startswith("#"):
            heading, head = line.lstrip("# "), None
        elif not line.startswith("|"):
            head = None
        else:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if head is None:
                head = cells
                found.append((heading, []))
            elif not set(line) <= set("|-"):
                found[-1][1].append(dict(zip(head, cells)))
    return found


def table_of(text, heading):
    """The first table under a heading that begins so; none where there is no such table."""
    return next((rows for found, rows in tables(text) if found.startswith(heading)), [])


def number(cell):
    """A ratio, or None where the cell holds a time or nothing."""
    return float(cell) if re.fullmatch(r"[\d.]+", cell) else None


def facts(text):
    """The table "Where and how"."""
    section = text.split("## Where and how")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", section, re.MULTILINE))


def threads_of(text):
    return re.search(r"^## Classes of conversions, (\d+ threads?)$", text, re.MULTILINE)[1]


def where_text(text):
    about = facts(text)
    return f"{threads_of(text)}, {about['processor']}, {about['date'][:10]}"


def suite_chart(text):
    """Of docs/performance.md."""
    words = dict(re.findall(r"^- \*(\w+)\*: (.*)$", text, re.MULTILINE))
    rows = []
    for line in table_of(text, "Classes of conversions"):
        if number(line["mean"]) is None:  # a time, of one small run or of making a plan
            continue
        rows.append(Row(line["class"], words[line["class"]], int(line["cases"]),
                        (number(line["mean"]), number(line["fastest other"])), number(line["best"]),
                        number(line["worst"])))
    notes, systems = [], table_of(text, "Other systems")
    if systems:
        notes.append("How many times as long as relayout the other systems take, over the conversions that each of "
                     "them can do:")
    for line in systems:
        longer = float(line["times as long (mean)"])
        notes.append(f"{line['system']}: {longer:.3g} times as long in {line['cases it does']} conversions, "
                     f"faster than relayout in {line['faster in']}")
    return Chart("How long a conversion takes, in multiples of a plain copy", where_text(text),
                 (("mean of the fastest other system", "fastest other"),), rows, notes)


def python_chart(text):
    """Of docs/performance-python.md: calls that allocate their result."""
    rows, lines = [], table_of(text, "Classes of conversions")
    of = threads_of(text)
    for line in lines[:-1]:
        name = line["class"]
        own = [number(case["times a copy"]) for case in cases_of(text, name, of)]
        mean = number(line["times a copy"])
        words = re.search(rf"^## {name.capitalize()}, {of}\n\n(.*)\.$", text, re.MULTILINE)[1]
        rows.append(Row(name, words[0].lower() + words[1:], int(line["cases"]),
                        (mean, mean * number(line["NumPy"]), mean * number(line["PyTorch"])), min(own), max(own)))
    everything = lines[-1]
    notes = [f"Over all {everything['cases']} conversions NumPy takes {everything['NumPy']} times as long as relayout, "
             f"PyTorch {everything['PyTorch']}. In {everything['slower than it']} one of the others is faster."]
    return Chart("How long a conversion takes from Python, in multiples of a plain copy", where_text(text),
                 (("NumPy, mean", "NumPy"), ("PyTorch, mean", "PyTorch")), rows, notes)


def cases_of(text, name, of):
    """The ratios of a class's conversions: the first of two columns of that name, which is of results that are new."""
    section = text.split(f"\n## {name.capitalize()}, {of}\n")[1].split("\n## ")[0]
    return [{"times a copy": line.split(" | ")[2]} for line in section.splitlines() if line.startswith("| `")]


def line_at(drawing, x1, y1, x2, y2, stroke, width):
    drawing.line(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", stroke, width)


def mark(drawing, x, y, kind, fill):
    shapes = {"circle": "m-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0 -13 0z", "diamond": "m0 -7l7 7l-7 7l-7 -7z",
              "square": "m-5 -5h10v10h-10z"}
    drawing.line(f"M{x:.1f} {y:.1f}{shapes[kind]}", "paper", fill=fill)


def x_of(ratio):
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LABELS + share * PLOT


def short(value):
    """Three digits below 1, else two: 0.84, 1.1, 12."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def wrapped(words, letters):
    """Lines of at most so many letters, cut between words."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def span_at(drawing, left, right, y):
    """From the best to the worst conversion."""
    drawing.line(f"M{left:.1f} {y:.1f}L{right:.1f} {y:.1f}", OWN, 5, round=True, opacity=0.45)


def legend(drawing, chart, y):
    words = "relayout: mean, and from the best to the worst conversion"
    span_at(drawing, MARGIN + 3, MARGIN + 31, y)
    mark(drawing, MARGIN + 17, y, "circle", OWN)
    drawing.words(MARGIN + 42, y + 5, words)
    x = MARGIN + 66 + 7 * len(words)
    for (fill, kind), (name, _) in zip(OTHERS, chart.systems):
        mark(drawing, x, y, kind, fill)
        drawing.words(x + 13, y + 5, name)
        x += 39 + 7 * len(name)


def columns(chart):
    """The right edge of each column of figures, with its heading and colour."""
    heads = ["relayout", *(head for _, head in chart.systems)]
    colours = [OWN, *(fill for fill, _ in OTHERS)]
    right = WIDTH - MARGIN - 8
    edges, widths = [], [max(COLUMN, 7 * len(head) + 10) for head in heads]
    for width in reversed(widths):
        edges.insert(0, right)
        right -= width
    return list(zip(edges, heads, colours))


def axis(drawing, top, bottom):
    at = LEAST
    while at <= MOST:
        x = x_of(at)
        line_at(drawing, x, top, x, bottom, FAINT if at == 1 else GRID, 2 if at == 1 else 1)
        words = "1 = a copy" if at == 1 else f"{at:g}" + ("+" if at == MOST else "")
        drawing.words(x, top - 7, words, 12, INK if at == 1 else FAINT, "middle", at == 1)
        at *= 2
    words = "Less is better. Each line stands for twice the time of the line before."
    drawing.words(LABELS, bottom + 18, words, 12, FAINT)


def label_lines(row):
    return wrapped(row.words, LETTERS)


def height_of(row):
    return 32 + LINE * len(label_lines(row))


def row_at(drawing, chart, row, y):
    """A row whose first line of text has the base line y."""
    many = f"{row.cases} conversion" + ("" if row.cases == 1 else "s")
    drawing.words(MARGIN, y, row.name, 13.5, bold=True)
    drawing.words(LABELS - 14, y, many, 11.5, FAINT, "end")
    for k, line in enumerate(label_lines(row), 1):
        drawing.words(MARGIN, y + 2 + LINE * k, line, 11.5, FAINT)
    middle = y + 5
    own, *rest = row.values
    span_at(drawing, x_of(row.best), x_of(row.worst), middle)
    for (fill, kind), value in zip(OTHERS, rest):
        if value is not None:
            mark(drawing, x_of(value), middle, kind, fill)
    mark(drawing, x_of(own), middle, "circle", OWN)
    for value, (x, _, fill) in zip(row.values, columns(chart)):
        drawing.words(x, middle + 5, "-" if value is None else short(value), 13, fill, "end", True)


def picture(chart, relayout):
    bottom = HEAD + 4 + sum(map(height_of, chart.rows))
    notes = [line for note in chart.notes for line in wrapped(note, NOTE_LETTERS)]
    drawing = Drawing(WIDTH, chart.title)
    drawing.words(MARGIN, 32, chart.title, 18, bold=True)
    drawing.words(MARGIN, 52, chart.where, 12.5, FAINT)
    legend(drawing, chart, 76)
    axis(drawing, HEAD, bottom)
    for x, head, fill in columns(chart):
        drawing.words(x, HEAD - 7, head, 12, fill, "end", True)
    y = HEAD + 20
    for row in chart.rows:
        row_at(drawing, chart, row, y)
        y += height_of(row)
    for k, note in enumerate(notes):
        drawing.words(MARGIN, bottom + 46 + 19 * k, note, 12.5)
    return drawing.svg(relayout, bottom + 46 + 19 * len(notes))


def picture_of(text, relayout):
    """The picture that belongs to the text of a generated page, by the command of that path."""
    return picture(python_chart(text) if text.startswith("# Performance from Python") else suite_chart(text), relayout)


def main():
    check = sys.argv[1:2] == ["--check"]
    words = sys.argv[1 + check:]
    if not words or any(word.startswith("-") for word in words):
        sys.exit(__doc__)
    relayout, *named = words
    here = Path(__file__).parent
    pages = list(map(Path, named)) or [here / "performance.md", here / "performance-python.md"]
    stale = 0
    for page in pages:
        drawn = picture_of(page.read_text(encoding="utf-8"), relayout)
        path = page.with_suffix(".svg")
        if not check:
            path.write_text(drawn, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != drawn:
            stale += 1
            print(f"{path.name} is not what docs/speed_pictures.py draws from {page.name}")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
