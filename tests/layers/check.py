#!/usr/bin/env python3
"""Checks the layering: which folder may include which, and that each source file opens with a comment.

    check.py ROOT       exit 1 and one line a finding where ROOT breaks a rule

The rules are the table ALLOWED and the functions below; ARCHITECTURE.md says why they hold. A folder's CMakeLists.txt
says which of its headers are public (HEADERS: they are installed, and relayout/relayout.h includes them all) and which
are internal (INTERNAL: not installed, but for all folders of the library). The others are the folder's own. The check
first tries itself on small wrong examples. Standard library only.
"""
import re
import sys
from pathlib import Path

# Folders of relayout/ that each folder may include, besides itself.
ALLOWED = {
    "core": set(),
    "reorder": {"core"},
    "cpu": {"core", "reorder"},
    "interop": {"core"},
    "solve": set(),
    "graph": {"core", "reorder", "solve"},
    "execute": {"core", "reorder", "cpu", "graph"},
}
# Folders outside relayout/. They see public headers, and what INSIDERS names.
USERS = ("tools", "tests", "examples", "bench", "python", "docs")

# Headers that are not public, and the files outside relayout/ that may include them all the same, each with the reason.
# A path that ends with a slash stands for all files of that folder.
INSIDERS = {
    # The command offers more than the library promises to its users.
    "tools/": {"relayout/core/print.h",  # `describe` draws memory
               "relayout/cpu/machine.h",  # `doctor` shows the caches
               "relayout/cpu/tune.h",  # `--tune` of convert and bench
               "relayout/execute/measure/cost_cache.h",  # `plan` keeps what was measured
               "relayout/execute/measure/remembering_backend.h",
               "relayout/execute/run/order.h",  # the order of steps that a saved plan has
               "relayout/execute/run/plan_tensors.h",  # `plan --tune` times plans
               "relayout/graph/models/models.h",  # models by name
               "relayout/graph/passes/backward.h",  # `--training`
               "relayout/graph/plan/propagate.h",  # `--policy`
               "relayout/graph/plan/validate.h",  # `check`
               "relayout/graph/reference/reference.h"},  # `run --check`
    # What is measured or compared with is a part of the library, not what it offers.
    "bench/": {"relayout/cpu/machine.h", "relayout/cpu/tune.h", "relayout/execute/measure/cost_cache.h",
               "relayout/execute/measure/remembering_backend.h", "relayout/execute/run/plan_tensors.h",
               "relayout/graph/ir/ops.h", "relayout/graph/models/models.h", "relayout/graph/passes/backward.h",
               "relayout/graph/plan/propagate.h", "relayout/reorder/plan_data.h", "relayout/reorder/reference.h"},
    "bench/reorder.cc": {"relayout/cpu/kernels/kernels.h"},  # the kernels are timed one by one
    # The oracles that tests compare with, and what a plan holds.
    "tests/": {"relayout/graph/ir/ops.h", "relayout/graph/plan/propagate.h", "relayout/graph/reference/reference.h",
               "relayout/reorder/cast.h", "relayout/reorder/in_place_data.h", "relayout/reorder/plan_data.h",
               "relayout/reorder/reference.h"},
    "tests/certificates/check_proof_test.cc": {"tests/support/layout_problems.h"},  # makes random layout problems
    "tests/fuzz/npy_fuzz.cc": {"relayout/interop/files/npy.h"},  # parses a header alone
    "tests/fuzz/onnx_seeds.cc": {"tests/support/onnx_net.h"},  # writes models
    "tests/fuzz/safetensors_fuzz.cc": {"relayout/interop/files/safetensors.h"},
}

# Folders that are pure arithmetic: the standard library, without threads, streams and files.
PURE = ("core", "reorder", "solve")
IMPURE_HEADERS = {"atomic", "condition_variable", "cstdio", "filesystem", "fstream", "future", "iostream",
                  "mutex", "thread"}

# Foreign systems by how their headers begin. A file of interop may use one.
FOREIGN = {
    "hwy/": "Highway", "tbb/": "oneTBB", "oneapi/tbb": "oneTBB", "png.h": "libpng", "jpeglib.h": "libjpeg",
    "zip.h": "libzip", "zlib.h": "zlib", "nlohmann/": "nlohmann-json", "oneapi/dnnl": "oneDNN", "dnnl": "oneDNN",
    "onnx/": "ONNX", "google/protobuf": "ONNX", "CL/": "OpenCL", "cuda": "CUDA", "CLI/": "CLI11", "fmt/": "fmt",
}
FOREIGN_IN = {"cpu": {"Highway", "oneTBB"},
              "graph": {"ONNX"}, "execute": {"oneDNN"},
              "interop": {"libpng", "libjpeg", "libzip", "zlib", "nlohmann-json", "oneDNN"}}

# Systems that only one subfolder may use.
FOREIGN_FOLDERS = {"ONNX": "relayout/graph/onnx/", "oneDNN": "relayout/execute/onednn/"}

UMBRELLA = "relayout/relayout.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
HEADERS = re.compile(r"relayout_library\(\s*(\w+)(.*?)\)", re.DOTALL)
CODE = (".h", ".cc", ".cpp", ".inc")
COMMENTED = CODE + (".py", ".cmake", ".sh")


def foreign_system(include):
    return next((system for start, system in FOREIGN.items() if include.startswith(start)), None)


def listed_headers(files, keyword):
    """Headers that CMakeLists.txt files list under a keyword of relayout_library()."""
    found = set()
    for path, text in files.items():
        if not (path.startswith("relayout/") and path.endswith("CMakeLists.txt")):
            continue
        for folder, arguments in HEADERS.findall(text):
            listed = False
            for word in arguments.split():
                if word.isupper():
                    listed = word == keyword
                elif listed:
                    found.add(f"relayout/{folder}/{word}")
    return found


def public_headers(files):
    """Headers that are installed: those in HEADERS of each folder's CMakeLists.txt, and the umbrella."""
    return listed_headers(files, "HEADERS") | {UMBRELLA}


def check_umbrella(files, public):
    """Findings where the umbrella lacks a public header (one that is not public is check_file()'s finding)."""
    included = {include for _, include in INCLUDE.findall(files.get(UMBRELLA, ""))}
    for header in sorted(public - included - {UMBRELLA}):
        yield f"{UMBRELLA}: lacks {header}, which is public"


def seen_by(path):
    """What INSIDERS lets a file outside relayout/ include."""
    return set().union(*(headers for start, headers in INSIDERS.items()
                         if path == start or (start.endswith("/") and path.startswith(start))))


def check_library_include(path, folder, include, quoted, public, internal):
    """Findings for one include of a file of relayout/`folder`."""
    if include.startswith("relayout/"):
        target = include.split("/")[1]
        if target != folder and target not in ALLOWED[folder]:
            yield f"{folder} must not include {target}"
        if target != folder and include not in public | internal:
            yield "neither a public nor an internal header of its folder"
        if path in public and include not in public:
            yield "a public header includes a private one"
        return
    system = foreign_system(include)
    is_test = path.endswith("_test.cc")
    if system is None:
        if quoted and not is_test:
            yield "quoted includes start at the root: relayout/..."
        elif folder in PURE and not is_test and include in IMPURE_HEADERS:
            yield f"{folder} is pure arithmetic: no threads, no I/O"
        elif folder in PURE and not is_test and ("/" in include or include.endswith(".h")):
            yield f"{folder} may include the standard library only"
    elif not is_test and system not in FOREIGN_IN.get(folder, ()):
        yield f"{folder} must not use {system}"
    elif path in public:
        yield f"a public header must not need {system}"
    elif not path.startswith(FOREIGN_FOLDERS.get(system, "")) and not is_test:
        yield f"only {FOREIGN_FOLDERS[system]} uses {system}"


def check_file(path, text, public, internal):
    """Findings for one file: lines of text without the path."""
    first = text.split("\n")
    lines = first[1:] if first[0].startswith("#!") else first
    opening = next((line for line in lines if line.strip()), "")
    if not opening.startswith(("//", "#", '"""', "/*")) or opening.startswith(("#include", "#pragma")):
        yield "does not open with a comment that says what the file is for"
    if not path.endswith(CODE):
        return

    parts = path.split("/")
    library = parts[0] == "relayout" and len(parts) > 2
    if library and parts[1] not in ALLOWED:
        yield f"relayout/{parts[1]} has no row in the layers table"
        return
    systems = set()
    for quote, include in INCLUDE.findall(text):
        where = f'#include "{include}"'
        if library:
            for finding in check_library_include(path, parts[1], include, quote == '"', public, internal):
                yield f"{where}: {finding}"
            systems.add(foreign_system(include))
        elif include.startswith("relayout/") and include not in public | seen_by(path):
            yield f"{where}: not public, and INSIDERS does not name it for {parts[0]}"
    systems.discard(None)
    if library and parts[1] == "interop" and len(systems) > 1 and not path.endswith("_test.cc"):
        yield f"one foreign system a file, here {', '.join(sorted(systems))}"


def check(files):
    public, internal = public_headers(files), listed_headers(files, "INTERNAL")
    # The consumer is a user's project and has its own way to write includes.
    found = [f"{path}: {finding}" for path, text in sorted(files.items()) if is_source(path)
             for finding in check_file(path, text, public, internal)]
    return found + list(check_umbrella(files, public))


def is_source(path):
    return path.endswith(COMMENTED) or path.startswith("scripts/")


def read_tree(root):
    files = {}
    for top in ("relayout", "cmake", "scripts") + USERS:
        for file in sorted((root / top).rglob("*")):
            relative = file.relative_to(root).as_posix()
            if file.is_file() and (is_source(relative) or file.name == "CMakeLists.txt"):
                files[relative] = file.read_text(encoding="utf-8", errors="replace")
    return files


def self_test():
    """Each wrong example gives exactly one finding; the right ones give none."""
    cmake = {"relayout/core/CMakeLists.txt": "relayout_library(core SOURCES a.cc HEADERS a.h)",
             "relayout/cpu/CMakeLists.txt": "relayout_library(cpu HEADERS r.h INTERNAL run.h DEPENDS core reorder)",
             UMBRELLA: '// U.\n#include "relayout/core/a.h"\n#include "relayout/cpu/r.h"\n'}
    right = {"relayout/core/a.h": "// A.\n#include <vector>\n",
             "relayout/graph/onnx/read.cc": "// O.\n#include <onnx/onnx_pb.h>\n",
             "tools/t.cc": '// T.\n#include "relayout/core/a.h"\n',
             "tools/d.cc": '// D.\n#include "relayout/cpu/machine.h"\n',
             "relayout/execute/e.cc": '// E.\n#include "relayout/cpu/run.h"\n',
             "relayout/cpu/kernels/k.cc": '// K.\n#include "relayout/cpu/kernels/k.h"\n#include "hwy/highway.h"\n',
             "relayout/cpu/r.cc": '// R.\n#include "relayout/core/a.h"\n#include <tbb/parallel_for.h>\n'}
    wrong = {"relayout/core/a.h": ["#include <vector>\n", '// A.\n#include "relayout/cpu/r.h"\n',
                                   '// A.\n#include "relayout/core/private.h"\n'],
             "relayout/core/b.cc": ["// B.\n#include <thread>\n", "// B.\n#include <png.h>\n",
                                    "// B.\n#include <unistd.h>\n"],
             "relayout/interop/f.cc": ["// F.\n#include <png.h>\n#include <zip.h>\n",
                                       '// F.\n#include "relayout/cpu/r.h"\n', '// F.\n#include "near.h"\n'],
             "relayout/cpu/r.h": ["// R.\n#include <hwy/base.h>\n"],
             "relayout/graph/g.cc": ["// G.\n#include <onnx/onnx_pb.h>\n"],
             "relayout/new/n.cc": ["// N.\n"],
             "relayout/execute/x.cc": ['// X.\n#include "relayout/cpu/threads_part.h"\n'],
             UMBRELLA: ['// U.\n#include "relayout/core/a.h"\n',
                        '// U.\n#include "relayout/core/a.h"\n#include "relayout/cpu/r.h"\n'
                        '#include "relayout/cpu/run.h"\n'],
             "examples/e.cc": ['// E.\n#include "relayout/cpu/machine.h"\n'],
             "bench/reorder.cc": ['// R.\n#include "relayout/cpu/run.h"\n'],
             "bench/other.cc": ['// O.\n#include "relayout/cpu/kernels/kernels.h"\n'],
             "tests/t.cc": ['// T.\n#include "relayout/cpu/kernels/k.h"\n'],
             "scripts/x": ["#!/bin/sh\nset -e\n"]}
    failures = [f"self-test: {finding}" for finding in check(cmake | right)]
    for path, texts in wrong.items():
        for text in texts:
            found = check(cmake | {path: text})
            if len(found) != 1:
                failures.append(f"self-test: {len(found)} findings, expected 1, in {path}: {text!r}: {found}")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = self_test()
    files = read_tree(Path(sys.argv[1]))
    findings += check(files)
    for finding in findings:
        print(finding)
    print(f"layers: {len(files)} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
