#!/usr/bin/env python3
"""Checks that the README's figures of speed are those of the pages that they come from.

    figures.py ROOT      exit 1 and a line for each sentence or row that the README should have and has not

Standard library only.
"""
import re
import sys
from pathlib import Path


def squeezed(text):
    return re.sub(r"\s+", " ", text)


def classes(page):
    """The rows of the first table of classes, by name: {class: {column: cell}}."""
    section = page.split("## Classes of conversions")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in section.splitlines() if line.startswith("|")]
    return {line[0]: dict(zip(lines[0], line)) for line in lines[2:]}


def of_the_suite(page):
    """What the README says of the suite."""
    rows = classes(page)
    mean, other = ([f"{float(rows[name][column]):.1f}" for name in ("channels", "blocks", "transpose")]
                   for column in ("mean", "fastest other"))
    yield f"has {rows['plan']['cases']} conversions that people do"
    yield (f"{mean[0]} copies between NCHW and NHWC, {mean[1]} into and out of channel blocks, and {mean[2]} for "
           "transposing matrices")
    yield f"takes {other[0]}, {other[1]} and {other[2]}"


def of_random_conversions(page):
    """The README's table by size, from the sentence of the lab notebook."""
    found = re.search(r"By size, the ([\d,]+) of [^:]*\(mean / 90 %\): ([^.]*(?:\.\d[^.]*)*)\.\s", page)
    sizes = [re.fullmatch(r"(.*) ([\d.]+) / ([\d.]+)", squeezed(part)).groups() for part in found[2].split(", ")]
    yield f"{found[1]} more conversions, drawn at random"
    yield "| | " + " | ".join(size for size, _, _ in sizes) + " |"
    yield "| geometric mean | " + " | ".join(mean for _, mean, _ in sizes) + " |"
    yield "| 90 % are below | " + " | ".join(most for _, _, most in sizes) + " |"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    readme = squeezed((root / "README.md").read_text(encoding="utf-8"))
    wanted = [*of_the_suite((root / "docs/performance.md").read_text(encoding="utf-8")),
              *of_random_conversions((root / "docs/lab/stages-and-offers.md").read_text(encoding="utf-8"))]
    missing = [sentence for sentence in wanted if sentence not in readme]
    for sentence in missing:
        print(f"README.md should say: {sentence}")
    print(f"{len(wanted)} figures, {len(missing)} missing")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
