#!/usr/bin/env python3
"""Checks that every public name has an anchor in the site's references.

    names.py ROOT SITE RELAYOUT

Names of C++ are those that clang finds in the public headers (skipped where there is no clang++), and, of functions and
types outside of classes, those that begin a line there; of C those that the headers declare for the library; of Python
those that `__all__` lists; of the command the verbs and flags that `relayout help --json` lists.
"""
import ast
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

DECLARATIONS = {"FunctionDecl", "FunctionTemplateDecl", "CXXRecordDecl", "ClassTemplateDecl", "EnumDecl", "VarDecl",
                "EnumConstantDecl", "TypeAliasDecl", "TypeAliasTemplateDecl", "CXXMethodDecl", "FieldDecl",
                "ConceptDecl", "CXXConstructorDecl", "VarTemplateDecl"}
LEAST = {"C++": 2500, "C++ by lines": 800, "C": 110, "Python": 90, "command": 250}


def anchors(folder):
    """All anchors of the pages of a folder: {page: {anchor}}."""
    return {path.relative_to(folder).as_posix(): {html.unescape(one) for one in re.findall(r'\bid="([^"]*)"',
            path.read_text(encoding="utf-8"))} for path in folder.rglob("*.html")}


def declared(node, scope, access):
    """The names that a node of clang's tree declares: (kind, qualified name)."""
    for child in node.get("inner", []):
        kind, name = child.get("kind"), child.get("name", "")
        if kind == "AccessSpecDecl":
            access = child["access"]
        if child.get("isImplicit") or access in ("private", "protected") or kind == "FriendDecl":
            continue
        if kind == "NamespaceDecl":
            if not name.endswith("detail"):
                yield from declared(child, (*scope, name), None)
            continue
        if kind in ("ClassTemplateDecl", "FunctionTemplateDecl", "TypeAliasTemplateDecl", "VarTemplateDecl"):
            # The template's own declaration is the first of its kind inside; the others are instances.
            inner = next((one for one in child["inner"] if one.get("kind", "") in DECLARATIONS - {"ConceptDecl"}), None)
            yield from declared({"inner": [inner] if inner else []}, scope, None)
            continue
        # Deduction guides are declarations without a place of their own; `requires` may stand in for a name.
        if kind in DECLARATIONS and name and not name.startswith("<deduction") and "previousDecl" not in child:
            defined = kind not in ("CXXRecordDecl",) or child.get("completeDefinition")
            if defined:
                yield "::".join((*scope, re.sub(r"(?<=\w)<.*", "", name)))
        if kind == "CXXRecordDecl" and child.get("completeDefinition"):
            first = "private" if child.get("tagUsed") == "class" else "public"
            yield from declared(child, (*scope, name) if name else scope, first)
        elif kind == "EnumDecl":
            yield from declared(child, (*scope, name) if child.get("scopedEnumTag") else scope, None)


def of_clang(root):
    """The public names of the umbrella's headers by clang, without relayout::; None where there is no clang++."""
    compiler = shutil.which("clang++")
    if compiler is None:
        return None
    dump = ["-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=relayout"]
    done = subprocess.run([compiler, "-std=c++20", f"-I{root}", "-x", "c++", "-fsyntax-only", *dump, "-"],
                          input='#include "relayout/relayout.h"\n', capture_output=True, text=True)
    if done.returncode != 0:
        return None  # a clang that is older than the headers' C++
    found, decoder, at = set(), json.JSONDecoder(), 0
    while True:
        at = done.stdout.find("{", at)
        if at < 0:
            return found
        node, at = decoder.raw_decode(done.stdout, at)
        if node.get("kind") == "NamespaceDecl" and node.get("name") == "relayout":
            found.update(declared(node, (), None))


def by_lines(root):
    """Of each header of the umbrella the functions and types that begin a line, which those of namespaces do."""
    umbrella = (root / "relayout/relayout.h").read_text(encoding="utf-8")
    for name in re.findall(r'#include "(relayout/[^"]+)"', umbrella):
        text = (root / name).read_text(encoding="utf-8")
        text = re.sub(r"namespace ([\w:]*detail) \{.*?\}  // namespace \1", "", text, flags=re.DOTALL)
        text = re.sub(r"//[^\n]*", "", text)
        for found in re.findall(r"^(?:class|struct|enum class|enum) (\w+)[^;{]*\{|"
                                r"^(?!template|static_assert|requires|extern)[A-Za-z\[][^;{}()=]*?\b(\w+)\(", text,
                                re.MULTILINE):
            yield name, found[0] or found[1]


def of_c(root):
    for name in ("relayout/relayout_c.h", "relayout/relayout_models_c.h"):
        text = (root / name).read_text(encoding="utf-8")
        for found in re.findall(r"^(?:RELAYOUT_API|RELAYOUT_MODELS_API)[^(]*?\b(\w+)\(|^  (RELAYOUT_\w+)\s*=|"
                                r"^#define (RELAYOUT_[A-Z_]+)[ (]", text, re.MULTILINE):
            one = next(filter(None, found))
            if not one.endswith(("_API", "_H")):
                yield name, one


def of_python(root):
    for module, path in (("relayout", "__init__.py"), ("relayout.checkpoint", "checkpoint.py"),
                         ("relayout.opencl", "opencl.py"), ("relayout.testing", "testing/__init__.py")):
        tree = ast.parse((root / "python/relayout" / path).read_text(encoding="utf-8"))
        listed = next(node.value for node in tree.body if isinstance(node, ast.Assign)
                      and getattr(node.targets[0], "id", "") == "__all__")
        yield from ((module, name) for name in ast.literal_eval(listed) if name != "interop")


def of_command(program):
    done = subprocess.run([program, "help", "--json"], capture_output=True, text=True, check=True)
    for verb in json.loads(done.stdout)[1:]:
        for option in verb["options"]:
            name = next((one for one in option["names"] if one.startswith("--")), option["names"][0])
            yield verb["name"].replace(" ", "-"), name.lstrip("-")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, site, program = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    there = anchors(site)
    cpp = set().union(*(found for page, found in there.items() if page.startswith("cpp/")))
    missing, counts = [], {}

    def check(language, name, has):
        counts[language] = counts.get(language, 0) + 1
        if not has:
            missing.append(f"{language}: {name}")

    clang = of_clang(root)
    # clang gives a class that is defined outside of the one that it belongs to without that one's name.
    endings = {one.split("::", i)[-1] for one in cpp for i in range(one.count("::") + 1)}
    for name in sorted(clang or ()):
        check("C++", name, name in endings)
    for header, name in by_lines(root):
        page = "cpp/" + header.removeprefix("relayout/").removesuffix(".h").replace("/", "-") + ".html"
        check("C++ by lines", f"{header}: {name}", any(one.split("::")[-1] == name for one in there[page]))
    for header, name in of_c(root):
        check("C", name, name in there["cpp/" + header.removeprefix("relayout/").removesuffix(".h") + ".html"])
    for module, name in of_python(root):
        check("Python", f"{module}.{name}", name in there[f"python-api/{module}.html"])
    for verb, name in of_command(program):
        check("command", f"{verb} {name}", name in there[f"command/relayout-{verb}.html"])
    for line in missing:
        print(f"no anchor: {line}")
    print(", ".join(f"{language}: {count}" for language, count in counts.items())
          + ("" if clang else "; no names by clang++, which is not there or too old"))
    few = [language for language, least in LEAST.items()
           if counts.get(language, 0) < least and (clang or language != "C++")]
    if few:
        print(f"too few names were looked for: {', '.join(few)}")
    sys.exit(1 if missing or few else 0)


if __name__ == "__main__":
    main()
