#!/usr/bin/env python3
"""Builds the site: every document, the gallery and the references as pages that a browser opens from disk.

    build.py ROOT OUT --command RELAYOUT [--stubs FOLDER]

ROOT is the project, OUT a folder that is replaced. RELAYOUT is the command, which draws the pictures and knows its own
help. FOLDER has the stubs (.pyi) that are made when the Python package is built; without them functions that are
written in C++ have no signatures. scripts/docs calls this.
"""
import argparse
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
try:
    import markdown_it  # noqa: F401 - is it there?
except ImportError:
    sys.exit("docs: no markdown-it for Python (Debian and Ubuntu: python3-markdown-it)")

import command_reference
import cpp_reference
import gallery
import page as frame
import python_reference
import search
from documents import Documents


def version_of(root):
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return text.split("project(relayout VERSION ")[1].split()[0]


def build(root, out, command, stubs):
    headers = cpp_reference.headers_of(root)
    documents = Documents(root, {name: cpp_reference.address_of(name) for name in headers})
    pages = gallery.pages(root, command, out)
    # Where the gallery cannot be drawn, its document takes its place.
    pages += documents.pages(without=["docs/gallery.md"] if pages else [])
    pages += cpp_reference.pages(root, headers)
    pages += python_reference.pages(root, stubs)
    pages += command_reference.pages(command)
    groups = documents.groups([("command/index.html", "The command"), ("python-api/index.html", "Python"),
                               ("cpp/index.html", "C++"), *cpp_reference.C_PAGES])
    if any(page.address == "explorer.html" for page in pages):
        groups[0][1].append(("explorer.html", "Type a layout"))
    version = version_of(root)
    for page in pages:
        path = out / page.address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(frame.written(page, groups, version), encoding="utf-8")
    (out / "search-index.js").write_text(search.index(pages), encoding="utf-8")
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--command", type=Path, required=True)
    parser.add_argument("--stubs", type=Path)
    given = parser.parse_args()
    if not (given.command.is_file()):
        sys.exit(f"docs: there is no command {given.command}")
    if given.out.exists():
        if any(given.out.iterdir()) and not (given.out / "search-index.js").exists():
            sys.exit(f"docs: {given.out} has files that are no site; name an empty folder or one that is not there")
        shutil.rmtree(given.out)
    given.out.mkdir(parents=True)
    pages = build(given.root.resolve(), given.out.resolve(), given.command.resolve(), given.stubs)
    print(f"docs: {len(pages)} pages in {given.out}")


if __name__ == "__main__":
    main()
