#!/usr/bin/env python3
"""Checks the layering and the sizes of the sources; ARCHITECTURE.md says why these rules hold.

    check.py ROOT       exit 1 and one line a finding where ROOT breaks a rule

The rules: which folder may include which (the table ALLOWED) and which foreign system it may use; which subfolder may
include which, and that no modules include each other in a circle (cycles.py); how long functions, files and lines may
be (functions.py); that files which may be compiled as one have no names in common in anonymous namespaces
(anonymous.py); and that each source file opens with a comment that says what it is for. A folder's CMakeLists.txt
says which of its headers are public (HEADERS: they are installed, and relayout/relayout.h includes them all) and which
are internal (INTERNAL: not installed, but for all folders of the library); the others are the folder's own.
exceptions.py lists what breaks a rule today; an exception that is no longer needed is a finding itself. The check first
tries itself on small wrong examples. Standard library only.
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the modules are beside this file, in the source tree
import anonymous
import cycles
import functions
from exceptions import EXCEPTIONS

# Folders of relayout/ that each folder may include, besides itself.
ALLOWED = {
    "core": set(),
    "reorder": {"core"},
    "io": {"core"},
    "cpu": {"core", "reorder", "io"},
    "redistribute": {"core", "reorder", "io", "cpu"},
    "interop": {"core", "io"},
    "checkpoint": {"core", "io", "interop", "reorder", "cpu"},
    "show": {"core", "interop", "reorder"},  # what people type is read in the words of every system
    "opencl": {"core", "reorder", "cpu", "interop"},  # mapped memory of a device is the CPU's to write
    "solve": set(),
    "graph": {"core", "reorder", "show", "solve"},
    "execute": {"core", "reorder", "io", "cpu", "graph", "interop"},
    "explain": {"core", "io", "interop", "reorder", "cpu", "graph", "show"},
}
# Folders outside relayout/. They see the public headers, and those that INSIDERS names.
USERS = ("c", "tools", "tests", "examples", "bench", "python", "docs")

# Headers that are not public, by the files outside relayout/ that may include them all the same, with the reasons. A
# path that ends with a slash stands for all files of that folder.
INSIDERS = {
    "c/": {"relayout/graph/models/models.h"},  # models by name
    # The command offers more than the library promises to its users.
    "tools/": {"relayout/core/letters.h",
               "relayout/core/print.h",  # `describe` draws memory
               "relayout/cpu/kernels/list.h",  # `doctor` lists the kernels
               "relayout/cpu/machine.h",  # `doctor` shows the caches
               "relayout/cpu/measure_speeds.h",  # and measures
               "relayout/cpu/speeds.h",
               "relayout/execute/measure/cost_cache.h",  # `plan` keeps what was measured
               "relayout/execute/measure/remembering_backend.h",
               "relayout/execute/run/order.h",  # the order of steps that a saved plan has
               "relayout/execute/run/plan_tensors.h",  # `plan --tune` times plans
               "relayout/io/descriptor.h",  # standard output by system calls
               "relayout/io/file_version.h",  # `convert` finds an input that is written meanwhile
               "relayout/io/pages.h",  # `compare` reads files slab by slab
               "relayout/graph/ir/post_ops.h",  # what a saved plan says of post-ops
               "relayout/graph/models/models.h",  # models by name
               "relayout/graph/plan/validate.h"},  # `check`
    # Benchmarks measure parts of the library that it does not offer to users, and compare with them.
    "bench/": {"relayout/cpu/machine.h", "relayout/cpu/tune_cache.h", "relayout/execute/measure/cost_cache.h",
               "relayout/execute/measure/remembering_backend.h", "relayout/execute/run/plan_tensors.h",
               "relayout/graph/ir/ops.h", "relayout/graph/models/models.h", "relayout/interop/files/file_io.h",
               "relayout/reorder/planner/plan_data.h", "relayout/reorder/reference.h",
               "relayout/reorder/refine/nest.h"},
    "python/src/file_conversion.cc": {"relayout/io/file_version.h"},  # as the command's `convert`
    "bench/reorder.cc": {"relayout/cpu/kernels/list.h"},  # the kernels are timed one by one
    # Tests include the oracles that they compare with, and the contents of plans.
    "tests/": {"relayout/graph/ir/ops.h", "relayout/reorder/cast.h", "relayout/reorder/in_place/data.h",
               "relayout/reorder/planner/plan_data.h", "relayout/reorder/reference.h"},
    "tests/properties/left_out_property_test.cc": {"relayout/cpu/kernels/list.h"},  # kernels are left out by name
    "tests/certificates/check_proof_test.cc": {"tests/support/layout_problems.h"},  # makes random layout problems
    "tests/fuzz/bmp_fuzz.cc": {"relayout/interop/files/bmp.h"},  # parses a header alone
    # parses headers alone
    "tests/fuzz/checkpoint_fuzz.cc": {"relayout/checkpoint/formats/formats.h", "relayout/checkpoint/shards.h"},
    "tests/fuzz/npy_fuzz.cc": {"relayout/interop/files/npy.h"},  # parses a header alone
    "tests/fuzz/onnx_seeds.cc": {"tests/support/onnx_net.h"},  # writes models
    "tests/fuzz/safetensors_fuzz.cc": {"relayout/interop/files/safetensors.h"},
    "tests/opencl/narrow_driver.cc": {"relayout/opencl/abi.h"},  # stands in for OpenCL's own library
    "tests/support/checked_kernel.h": {"relayout/cpu/kernels/list.h"},  # every kernel is checked
    "tests/support/fake_stopwatch.h": {"relayout/cpu/stopwatch.h"},  # time that a test sets
    "tests/support/measured_costs_fixture.h": {"relayout/execute/measure/cost_cache.h",
                                               "relayout/execute/measure/step.h"},
    "tests/support/node_check.cc": {"relayout/execute/onednn/descriptor.h"},
}

# Folders of pure arithmetic: they use the standard library without threads, streams and files.
PURE = ("core", "reorder", "solve")
IMPURE_HEADERS = {"atomic", "condition_variable", "cstdio", "filesystem", "fstream", "future", "iostream",
                  "mutex", "thread"}

# Foreign systems, by the beginning of their headers' names. A file of interop may use one of them.
FOREIGN = {
    "hwy/": "Highway", "xbyak/": "Xbyak",
    "tbb/": "oneTBB", "oneapi/tbb": "oneTBB", "png.h": "libpng", "jpeglib.h": "libjpeg",
    "zip.h": "libzip", "zlib.h": "zlib", "nlohmann/": "nlohmann-json", "oneapi/dnnl": "oneDNN", "dnnl": "oneDNN",
    "onnx/": "ONNX", "google/protobuf": "ONNX", "CL/": "OpenCL", "cuda": "CUDA", "CLI/": "CLI11", "fmt/": "fmt",
}
FOREIGN_IN = {"cpu": {"Highway", "Xbyak", "oneTBB"}, "explain": {"nlohmann-json"},
              "graph": {"ONNX"}, "execute": {"oneDNN", "Highway"},
              "interop": {"libpng", "libjpeg", "libzip", "zlib", "nlohmann-json", "oneDNN"}}

# Foreign systems that only one subfolder may use.
FOREIGN_FOLDERS = {"ONNX": "relayout/graph/onnx/", "Xbyak": "relayout/cpu/generated/",
                   "oneDNN": "relayout/execute/onednn/"}

# Public headers that speak a foreign library's own types, for programs that have it. All of such a header is inline,
# and the umbrella leaves it out.
FOREIGN_HEADERS = {"relayout/interop/onednn_desc.h": "oneDNN", "relayout/redistribute/mpi.h": "MPI"}

# Words that only a backend knows: parts of its implementations' names, and instruction sets. relayout/graph must not
# read a meaning out of such names, so no line of it may have these words.
BACKEND_WORDS = re.compile(r"brg(conv|emm)|brdgmm|\bjit|avx|sse41|dnnl|_dw\b|nspc|ncsp|\bwino|\"gemm")

UMBRELLA = "relayout/relayout.h"
# Refuses an older C++; a header of every folder may include it.
LANGUAGE = "relayout/cxx20.h"
# The C interface's headers, which c/ implements on top of the public headers.
C_HEADERS = {"relayout/relayout_c.h", "relayout/relayout_models_c.h"}
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
    """Headers that are installed: those in HEADERS of each folder's CMakeLists.txt, and those beside the folders."""
    return listed_headers(files, "HEADERS") | {UMBRELLA, LANGUAGE} | C_HEADERS


def check_umbrella(files, public):
    """Findings where the umbrella lacks a public header (one that is not public is check_file()'s finding), or has one
    that needs a foreign library."""
    included = {include for _, include in INCLUDE.findall(files.get(UMBRELLA, ""))}
    for header in sorted(public - included - {UMBRELLA, LANGUAGE} - C_HEADERS - FOREIGN_HEADERS.keys()):
        yield f"lacks {header}, which is public"
    for header in sorted(included & FOREIGN_HEADERS.keys()):
        yield f"includes {header}, which needs {FOREIGN_HEADERS[header]}"


def seen_by(path):
    """What INSIDERS lets a file outside relayout/ include."""
    return set().union(*(headers for start, headers in INSIDERS.items()
                         if path == start or (start.endswith("/") and path.startswith(start))))


def check_library_include(path, folder, include, quoted, public, internal):
    """Findings for one include of a file of relayout/`folder`."""
    if include == LANGUAGE:
        return
    if include.startswith("relayout/"):
        target = include.split("/")[1]
        if target != folder and target not in ALLOWED[folder]:
            yield f"{folder} must not include {target}"
        if target != folder and include not in public | internal:
            yield "neither a public nor an internal header of its folder"
        if path in public and include not in public:
            yield "a public header includes a private one"
        if path in public and include in FOREIGN_HEADERS:
            yield f"a public header must not need {FOREIGN_HEADERS[include]}"
        return
    system = foreign_system(include)
    is_test = path.endswith("_test.cc")
    if system is not None and FOREIGN_HEADERS.get(path) == system:
        return
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


def check_opening(text):
    """A finding where a file does not open with a comment."""
    first = text.split("\n")
    lines = first[1:] if first[0].startswith("#!") else first
    opening = next((line for line in lines if line.strip()), "")
    if not opening.startswith(("//", "#", '"""', "/*")) or opening.startswith(("#include", "#pragma")):
        yield "does not open with a comment that says what the file is for"


def check_includes(path, text, public, internal):
    """Findings for the includes of one C++ file: lines of text without the path."""
    parts = path.split("/")
    library = parts[0] == "relayout" and len(parts) > 2
    if library and parts[1] not in ALLOWED:
        yield f"relayout/{parts[1]} has no row in the layers table"
        return
    if library and parts[1] == "graph" and (word := BACKEND_WORDS.search(text)):
        yield f"'{word.group()}' is a backend's word, which relayout/graph must not know"
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


def find(files):
    """All findings: (rule, what it is about, text). What it is about is a path, with a name in it, or some modules."""
    public, internal = public_headers(files), listed_headers(files, "INTERNAL")
    for path, text in sorted(files.items()):
        if is_source(path):
            for finding in check_opening(text):
                yield "opening", path, finding
            if path.endswith(CODE):
                for finding in check_includes(path, text, public, internal):
                    yield "include", path, finding
        yield from functions.check_lengths(path, text)
    for finding in check_umbrella(files, public):
        yield "umbrella", UMBRELLA, finding
    yield from cycles.check_subfolders(files)
    yield from cycles.check_cycles(files)
    yield from anonymous.check_anonymous(files)


def check(files, exceptions):
    """Lines of text: the findings without what is excepted, and the exceptions that nothing needs."""
    # A cycle is the same in whatever order its modules are listed.
    unused = {(rule, " ".join(sorted(subject.split())) if rule == "cycle" else subject) for rule, subject in exceptions}
    excepted = set(unused)
    out = []
    for rule, subject, text in find(files):
        if (rule, subject) in excepted:
            unused.discard((rule, subject))
        else:
            out.append(f"{subject}: {text}")
    return out + [f"tests/layers/exceptions.py: the exception {rule} {subject} is no longer needed: remove it"
                  for rule, subject in sorted(unused)]


def is_source(path):
    return path.endswith(COMMENTED) or path.startswith("scripts/")


def has_lines(path):
    """Whether a file is written by hand, so that the length of its lines counts; not what tests expect as output."""
    name = path.rsplit("/", 1)[-1]
    return not path.startswith("tests/cli/cases/") and (
        is_source(path) or name == "CMakeLists.txt" or path.endswith((".in", ".inc")))


def read_tree(root):
    files = {"CMakeLists.txt": (root / "CMakeLists.txt").read_text(encoding="utf-8")}
    for top in ("relayout", "cmake", "scripts") + USERS:
        for file in sorted((root / top).rglob("*")):
            relative = file.relative_to(root).as_posix()
            if file.is_file() and has_lines(relative):
                files[relative] = file.read_text(encoding="utf-8", errors="replace")
    return files


CMAKE_EXAMPLE = {"relayout/core/CMakeLists.txt": "relayout_library(core SOURCES a.cc HEADERS a.h)",
                 "relayout/interop/CMakeLists.txt": "relayout_library(interop HEADERS onednn_desc.h)",
                 "relayout/cpu/CMakeLists.txt":
                     "relayout_library(cpu HEADERS r.h INTERNAL run.h DEPENDS core reorder)",
                 UMBRELLA: '// U.\n#include "relayout/core/a.h"\n#include "relayout/cpu/r.h"\n'}
RIGHT_EXAMPLE = {
    "relayout/core/a.h": "// A.\n#include <vector>\n",
    "relayout/core/a.cc": '// A.\n#include "relayout/core/a.h"\n',
    "relayout/graph/onnx/read.cc": "// O.\n#include <onnx/onnx_pb.h>\n",
    "relayout/interop/onednn_desc.h": "// D.\n#include <oneapi/dnnl/dnnl.hpp>\n",
    "relayout/graph/plan/p.h": '// P.\n#include "relayout/graph/ir/g.h"\n',
    "tools/t.cc": '// T.\n#include "relayout/core/a.h"\n',
    "tools/d.cc": '// D.\n#include "relayout/cpu/machine.h"\n',
    "relayout/execute/run/e.cc": '// E.\n#include "relayout/cpu/run.h"\n',
    "relayout/cpu/kernels/k.cc": '// K.\n#include "relayout/cpu/kernels/k.h"\n#include "hwy/highway.h"\n',
    "relayout/cpu/r.cc": '// R.\n#include "relayout/core/a.h"\n#include <tbb/parallel_for.h>\n'}
WRONG_EXAMPLES = {
    "relayout/core/a.h": ["#include <vector>\n", '// A.\n#include "relayout/cpu/r.h"\n',
                          '// A.\n#include "relayout/core/private.h"\n'],
    "relayout/core/b.cc": ["// B.\n#include <thread>\n", "// B.\n#include <png.h>\n",
                           "// B.\n#include <unistd.h>\n",
                           "// B.\nvoid b() {\n" + "  b();\n" * 59 + "}\n", "// B.\n" * 401,
                           "// " + "B" * 118 + "\n"],
    "relayout/interop/f.cc": ["// F.\n#include <png.h>\n#include <zip.h>\n",
                              '// F.\n#include "relayout/cpu/r.h"\n', '// F.\n#include "near.h"\n'],
    "relayout/interop/onednn_desc.h": ["// D.\n#include <png.h>\n"],
    "relayout/cpu/r.h": ["// R.\n#include <hwy/base.h>\n"],
    "relayout/graph/plan/g.cc": ["// G.\n#include <onnx/onnx_pb.h>\n",
                                 '// G.\nbool fast = name.starts_with("jit:");\n',
                                 '// G.\n#include "relayout/graph/optimize/o.h"\n'],
    "relayout/graph/g.cc": ["// G.\n"],
    "relayout/graph/other/g.cc": ["// G.\n"],
    "relayout/new/n.cc": ["// N.\n"],
    "relayout/execute/run/x.cc": ['// X.\n#include "relayout/cpu/threads_part.h"\n'],
    UMBRELLA: ['// U.\n#include "relayout/core/a.h"\n',
               '// U.\n#include "relayout/core/a.h"\n#include "relayout/cpu/r.h"\n'
               '#include "relayout/cpu/run.h"\n',
               '// U.\n#include "relayout/core/a.h"\n#include "relayout/cpu/r.h"\n'
               '#include "relayout/interop/onednn_desc.h"\n'],
    "examples/e.cc": ['// E.\n#include "relayout/cpu/machine.h"\n'],
    "bench/reorder.cc": ['// R.\n#include "relayout/cpu/run.h"\n'],
    "bench/other.cc": ['// O.\n#include "relayout/cpu/kernels/kernels.h"\n'],
    "bench/CMakeLists.txt": ["# " + "B" * 119 + "\n"],
    "tests/t.cc": ['// T.\n#include "relayout/cpu/kernels/k.h"\n'],
    "tests/t.py": ['"""T."""\n\n\ndef t():\n' + "    t()\n" * 60],
    "scripts/x": ["#!/bin/sh\nset -e\n"]}
# Examples of several files: a cycle by way of a source file. Tests do not count as part of one.
CIRCLE = {"relayout/cpu/x.h": '// X.\n#include "relayout/cpu/y.h"\n', "relayout/cpu/y.h": "// Y.\n",
          "relayout/cpu/y.cc": '// Y.\n#include "relayout/cpu/z.h"\n',
          "relayout/cpu/z.h": '// Z.\n#include "relayout/cpu/x.h"\n'}
NO_CIRCLE = {"relayout/cpu/x.h": '// X.\n#include "relayout/cpu/y.h"\n', "relayout/cpu/y.h": "// Y.\n",
             "relayout/cpu/y_test.cc": '// Y.\n#include "relayout/cpu/x.h"\n',
             "relayout/cpu/y.cc": '// Y.\n#include "relayout/cpu/y.h"\n'}


def self_test():
    """Each wrong example gives exactly one finding; the right ones give none."""
    right = CMAKE_EXAMPLE | RIGHT_EXAMPLE
    excepted = {("cycle", "cpu/z cpu/x cpu/y"): "for this test"}
    tries = [(right, {}, 0), (right | NO_CIRCLE, {}, 0), (right | CIRCLE, {}, 1), (right | CIRCLE, excepted, 0),
             (right, excepted, 1)]
    tries += [(CMAKE_EXAMPLE | {path: text}, {}, 1) for path, texts in WRONG_EXAMPLES.items() for text in texts]
    failures = functions.self_test() + anonymous.self_test()
    for files, exceptions, expected in tries:
        found = check(files, exceptions)
        if len(found) != expected:
            last = list(files.items())[-1]
            failures.append(f"self-test: {len(found)} findings, expected {expected}, in {last}: {found}")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = self_test()
    files = read_tree(Path(sys.argv[1]))
    findings += check(files, EXCEPTIONS)
    for finding in findings:
        print(finding)
    print(f"layers: {len(files)} files, {len(findings)} findings, {len(EXCEPTIONS)} exceptions")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
