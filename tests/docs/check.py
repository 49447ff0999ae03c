#!/usr/bin/env python3
"""Runs the examples in the documents and compares what they print with what the documents show.

    check.py ROOT PROGRAM...              exit 1 and a diff where an example has gone stale
    check.py --update ROOT PROGRAM...     writes the documents anew instead

PROGRAMs are what the examples call: the relayout command, and example_NAME under the name NAME.

An example is a fenced block of the language `console`: lines that begin with "$ " are commands, run by
sh in a folder that holds FILES alone, and what follows is their output, errors included. C++
blocks must be found in one of examples/*.cc, and links to files, in docs/lab too, must lead to one.
Standard library only.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/index.md", "docs/tutorial.md",
             "docs/gallery.md", "docs/layout-expressions.md", "docs/swizzles.md",
             "docs/interop.md", "docs/files.md", "docs/padding.md", "docs/published-examples.md",
             "docs/checkpoints.md", "docs/conversions.md", "docs/models.md", "docs/benchmarks.md",
             "docs/packed-weights.md", "docs/placements.md", "docs/show.md", "docs/tables.md", "docs/explain.md")
# Files that examples find in their folder.
FILES = {"photo.png": "examples/photo.png", "log.txt": "tests/explain/samples/onednn_program.log",
         "profile.json": "tests/explain/samples/onnxruntime.json"}
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
CPP = re.compile(r"```cpp\n(.*?)```", re.DOTALL)


def replay(block, folder, environment):
    """The block with what its commands print now."""
    out = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        result = subprocess.run(line[2:], shell=True, cwd=folder, env=environment, text=True, timeout=1800,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out += [line] + [printed.rstrip() for printed in result.stdout.splitlines()]
    return "\n".join(out) + "\n"


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def lost_links(path):
    # A lambda of C++ looks like a link: [&](int i).
    targets = LINK.findall(CPP.sub("", path.read_text(encoding="utf-8")))
    return [target for target in targets if not (path.parent / target).exists()]


def main():
    update = sys.argv[1:2] == ["--update"]
    arguments = sys.argv[1 + update:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    root, programs = Path(arguments[0]), [Path(argument).resolve() for argument in arguments[1:]]
    sources = [squeezed(path.read_text(encoding="utf-8")) for path in sorted((root / "examples").glob("*.cc"))]
    examples = stale = 0
    laboratory = sorted(str(path.relative_to(root)) for path in (root / "docs/lab").glob("*.md"))
    for document in laboratory:  # lab figures belong to the machines that they name, so only links are checked
        for target in lost_links(root / document):
            stale += 1
            print(f"{document}: there is no {target}")
    for document in DOCUMENTS:
        path = root / document
        text = path.read_text(encoding="utf-8")
        for snippet in CPP.findall(text):
            examples += 1
            if not any(squeezed(snippet) in source for source in sources):
                stale += 1
                print(f"{document}: a C++ example is in none of examples/*.cc")
        for target in lost_links(path):
            stale += 1
            print(f"{document}: there is no {target}")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / ".bin").mkdir()
            for file in programs:
                (Path(folder) / ".bin" / file.name.removeprefix("example_")).symlink_to(file)
            for name, source in FILES.items():
                shutil.copy(root / source, Path(folder) / name)
            environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8", RELAYOUT_OPENCL_LIBRARY="",
                               PATH=f"{folder}/.bin:{os.environ.get('PATH', '')}")

            def renew(match):
                nonlocal examples, stale
                examples += 1
                now = replay(match[1], folder, environment)
                if now != match[1]:
                    stale += 1
                    if not update:
                        print("".join(difflib.unified_diff(match[1].splitlines(True), now.splitlines(True),
                                                           document, "the command")))
                return f"```console\n{now}```"

            renewed = CONSOLE.sub(renew, text)
        if update and renewed != text:
            path.write_text(renewed, encoding="utf-8")
    print(f"docs: {examples} examples, {stale} stale" + (", written anew" if update and stale else ""))
    sys.exit(1 if stale and not update else 0)


if __name__ == "__main__":
    main()
