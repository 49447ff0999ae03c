"""Cycles of includes, and which subfolder may include which, for the check `layers`.

A module is a header with its source file: the files of relayout/ that have a path but for the ending. One module needs
another where its header or its source file includes the other's header. A cycle is a largest set of modules each of
which needs every other one, directly or by way of others: none of them can be read, tested or changed alone. Tests are
no part of a module.
"""
import re

QUOTED = re.compile(r'^\s*#\s*include\s*"(relayout/[^"]+)"', re.MULTILINE)
ENDING = re.compile(r"\.(h|cc)$")

# Subfolders of a folder that each subfolder may include, besides itself. Tests may include any.
SUBFOLDERS = {
    "reorder": {
        "refine": set(),
        "boxes": {"refine"},
        "request": {"refine", "boxes"},
        "planner": {"refine", "request", "boxes"},
        "outline": {"refine", "planner"},
        "in_place": {"refine", "planner"},
    },
    "graph": {
        "ir": set(),
        "reference": {"ir"},
        "models": {"ir", "reference"},
        "passes": {"ir", "reference"},
        "onnx": {"ir", "passes", "models"},
        "plan": {"ir"},
        "optimize": {"ir", "plan"},
    },
    "execute": {
        "run": set(),
        "own": {"run"},
        "onednn": {"run", "own"},
        "measure": {"run"},
    },
}
# Of these, the folder that has files of its own beside its subfolders: its public face, and what all of them use.
WITH_FACE = {"reorder"}


def includes(files):
    """(path, included path) of all includes of the library by itself, without those of tests."""
    for path, text in files.items():
        if path.startswith("relayout/") and ENDING.search(path) and not path.endswith("_test.cc"):
            for include in QUOTED.findall(text):
                yield path, include


def module(path):
    return ENDING.sub("", path)


def components(needs):
    """The strongly connected components of several nodes, by Tarjan's algorithm without recursion."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(needs):
        if root in number:
            continue
        work = [(root, iter(sorted(needs[root])))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for child in rest:
                if child not in number:
                    number[child] = low[child] = len(number)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(sorted(needs.get(child, ())))))
                    break
                if child in on_stack:
                    low[node] = min(low[node], number[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    members = stack[at:]
                    del stack[at:]
                    on_stack.difference_update(members)
                    if len(members) > 1:
                        found.append(sorted(members))
    return sorted(found)


def check_cycles(files):
    """Findings: (rule, what it is about, text)."""
    needs = {}
    for path, include in includes(files):
        own = needs.setdefault(module(path), set())
        if module(include) != module(path):
            own.add(module(include))
    for members in components(needs):
        names = " ".join(name.removeprefix("relayout/") for name in members)
        yield "cycle", names, "these modules include each other in a circle"


def check_subfolders(files):
    """Findings of the table SUBFOLDERS: (rule, what it is about, text)."""
    for path in files:
        parts = path.split("/")
        if parts[0] == "relayout" and len(parts) > 2 and parts[1] in SUBFOLDERS and path.endswith((".h", ".cc")):
            if len(parts) == 3 and parts[1] in WITH_FACE:
                continue
            if len(parts) == 3:
                yield "subfolder", path, f"a file of {parts[1]} stands in one of its subfolders"
            elif parts[2] not in SUBFOLDERS[parts[1]]:
                yield "subfolder", path, f"relayout/{parts[1]}/{parts[2]} has no row in the table of subfolders"
    for path, include in includes(files):
        here, there = path.split("/"), include.split("/")
        if here[1] != there[1] or here[1] not in SUBFOLDERS or len(here) < 4 or len(there) < 4 or here[2] == there[2]:
            continue
        if there[2] not in SUBFOLDERS[here[1]].get(here[2], ()):
            yield "subfolder", path, f'#include "{include}": {here[1]}/{here[2]} must not include {here[1]}/{there[2]}'
