#!/usr/bin/env python3
"""Checks the links of the documents as a forge shows them: each leads to a file, and its anchor to a heading.

    sources.py ROOT

A forge's anchor of a heading is its text in small letters, without punctuation, with hyphens for blanks. Standard
library only.
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
LEAST = 300


def prose(text):
    """A document without its blocks of code and without code in its lines."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join("" if line.startswith("    ") else line for line in text.splitlines())


def anchors(text):
    found = []
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.append(re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"))
    return {one if not found[:i].count(one) else f"{one}-{found[:i].count(one)}" for i, one in enumerate(found)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    documents = sorted([*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/lab/*.md")])
    texts = {path: path.read_text(encoding="utf-8") for path in documents}
    links = faults = 0
    for path, text in texts.items():
        for href in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(text))):
            if re.match(r"[a-z]+:", href):
                continue
            links += 1
            name, _, anchor = href.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                fault = "there is no such file"
            elif anchor and target in texts and anchor not in anchors(texts[target]):
                fault = "there is no such heading"
            else:
                continue
            faults += 1
            print(f"{path.relative_to(root)}: {href}: {fault}")
    print(f"{len(documents)} documents, {links} links, {faults} faults")
    sys.exit(1 if faults or links < LEAST else 0)


if __name__ == "__main__":
    main()
