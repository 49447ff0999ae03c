#!/usr/bin/env python3
"""Writes docs/gallery.md of the list docs/gallery.toml, with what the command prints.

    make_gallery.py RELAYOUT            writes the page
    make_gallery.py --check RELAYOUT    exit 1 and the difference if the page is not what the list and the command say;
                                        77 where this Python has no tomllib, which came with 3.11

Standard library only.
"""
import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import tomllib
except ImportError:
    tomllib = None

ROOT = Path(__file__).resolve().parents[1]
LIST, PAGE = ROOT / "docs/gallery.toml", ROOT / "docs/gallery.md"
SKIPPED = 77
LEAST = 40

HEAD = """# Gallery

<!-- docs/make_gallery.py writes this page of docs/gallery.toml, and the test `gallery` compares the two. -->

Layouts that people meet, each with a question that they ask and its answer. Where a thread is linked, somebody asked it
there. In the site, which `./scripts/docs` builds, each entry has a live picture. So has the command at its end: the
page that it opens lights up the element that is pointed at, in the tensor and in memory at once ([pictures](show.md)).

"""


def entries():
    """[(group, [entry])] of the list, in its order. An entry belongs to the group that stands before it in the file."""
    text = LIST.read_text(encoding="utf-8")
    given = tomllib.loads(text)
    groups, waiting = [], iter(given["entry"])
    for line in text.splitlines():
        if line == "[[group]]":
            groups.append((given["group"][len(groups)]["title"], []))
        elif line == "[[entry]]":
            groups[-1][1].append(next(waiting))
    return groups


def printed(command, program):
    """What a command of the list prints."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "relayout").symlink_to(Path(program).resolve())
        environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", RELAYOUT_OPENCL_LIBRARY="",
                           PATH=f"{folder}:{os.environ.get('PATH', '')}")
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).rstrip("\n")


def quoted(argument):
    return argument if all(letter.isalnum() or letter in "-_,.:=/" for letter in argument) else f"'{argument}'"


def show_command(entry):
    return "relayout show " + " ".join(quoted(argument) for argument in entry["show"])


def entry_text(entry, program):
    thread = f"\n([thread]({entry['asked']}))" if "asked" in entry else ""
    return (f"### {entry['title']}\n\n**{entry['question']}**{thread}\n\n{entry['answer'].strip()}\n\n"
            f"```console\n$ {entry['ask']}\n{printed(entry['ask'], program)}\n```\n\n"
            f"    {show_command(entry)} --open\n")


def page(program):
    groups = entries()
    every = [entry for _, listed in groups for entry in listed]
    if len({entry["id"] for entry in every}) != len(every) or len(every) < LEAST:
        sys.exit(f"gallery: {len(every)} entries, of which {LEAST} are needed, each with an id of its own")
    parts = [f"## {title}\n\n" + "\n".join(entry_text(entry, program) for entry in listed) for title, listed in groups]
    return HEAD + "\n".join(parts)


def main():
    check = sys.argv[1:2] == ["--check"]
    arguments = sys.argv[1 + check:]
    if len(arguments) != 1:
        sys.exit(__doc__)
    if tomllib is None:
        print("skipped: this Python has no tomllib, which came with 3.11")
        sys.exit(SKIPPED)
    text = page(arguments[0])
    if not check:
        PAGE.write_text(text, encoding="utf-8")
        return
    there = PAGE.read_text(encoding="utf-8")
    if there != text:
        sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), text.splitlines(True), "docs/gallery.md",
                                                   "the list and the command"))
        sys.exit(1)


if __name__ == "__main__":
    main()
