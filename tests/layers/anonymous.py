"""Names in anonymous namespaces, for the check `layers`.

With RELAYOUT_UNITY several files of a target are compiled as one. Their anonymous namespaces are then the same, so two
files of a target must not give the same name in the same namespace to two types, functions or constants. Which files
meet depends on how many there are, so the rule holds for all of them, but for those that are compiled alone
(SKIP_UNITY_BUILD_INCLUSION). An alias that says the same in two files is no second thing.
"""
import re

from functions import DIRECTIVE, LITERAL, blanked, heading_name, is_function_heading, without

# What is compiled as one: the sources below each folder of relayout/, its tests, the command, and Python's modules.
TARGET = re.compile(r"(relayout/\w+|tools|python/src)/")
ALONE = re.compile(r"set_source_files_properties\(([^)]*?)\bPROPERTIES\b[^)]*SKIP_UNITY_BUILD_INCLUSION")
TEMPLATE = re.compile(r"^\s*template\s*(?=<)")
NAMESPACE = re.compile(r"\bnamespace\b\s*((?:\w+(?:\s*::\s*)?)*)\s*$")
TYPE = re.compile(r"^\s*(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(\w+)")
ALIAS = re.compile(r"^\s*using\s+(\w+)\s*=\s*(.*)$", re.DOTALL)
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


def without_template(heading):
    """A declaration without the `template <...>` before it."""
    while TEMPLATE.match(heading):
        depth, end = 0, 0
        for end, char in enumerate(heading):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if char == ">" and depth == 0:
                break
        heading = heading[end + 1:]
    return heading


def declared(heading, has_body):
    """(name, definition) of what a declaration of a namespace declares, or None. Only an alias has a definition.

    The heading is all before the declaration's `;` or body; what stands in braces inside it is `{}`.
    """
    heading = without_template(re.sub(r"\[\[[^\]]*\]\]", " ", heading)).strip()
    if alias := ALIAS.match(heading):
        return alias.group(1), re.sub(r"\s+", " ", alias.group(2)).strip()
    if not heading or re.match(r"(using|namespace|static_assert|extern|friend)\b", heading) or "operator" in heading:
        return None
    if type_ := TYPE.match(heading):
        return (type_.group(1), None) if has_body else None  # a declaration without a body names a thing once more
    before_value = re.split(r"(?<![=!<>])=(?!=)|\{\}", without(heading, "<", ">"))[0]
    if before_value.startswith(("TEST", "INSTANTIATE_TEST", "RC_GTEST")):
        return None
    if "(" in before_value:
        name = heading_name(heading)
        return None if "::" in name or name == "(unnamed)" else (name, None)
    name = VARIABLE.search(before_value)
    return (name.group(1), None) if name and len(before_value.split()) > 1 else None


class NamespaceScanner:
    """Finds what the anonymous namespaces of one C++ file declare."""

    def __init__(self, text):
        self.text = blanked(blanked(text, LITERAL), DIRECTIVE)
        self.scopes = []   # for each open brace: the namespace's name ("" if anonymous), or None inside a declaration
        self.heading = ""  # what stands since the end of the last declaration of a namespace
        self.parentheses = 0
        self.found = {}    # by (namespace, name): the definition of an alias, or None

    def names(self):
        for char in self.text:
            if None in self.scopes:
                self.inside_declaration(char)
            elif char == "{" and self.parentheses == 0 and (name := NAMESPACE.search(self.heading)):
                self.scopes.append(name.group(1))
                self.heading = ""
            elif char == "{":
                self.scopes.append(None)
            elif char == "}":
                if self.scopes:
                    self.scopes.pop()
                self.heading = ""
            elif char == ";" and self.parentheses == 0:
                self.declare(has_body=False)
            else:
                self.parentheses += {"(": 1, ")": -1}.get(char, 0)
                self.heading += char
        return self.found

    def inside_declaration(self, char):
        if char == "{":
            self.scopes.append(None)
        elif char == "}":
            self.scopes.pop()
            if None in self.scopes:
                return
            is_type = TYPE.match(without_template(self.heading).strip()) is not None
            if self.parentheses == 0 and (is_type or is_function_heading(self.heading)):
                self.declare(has_body=True)
            else:
                self.heading += "{}"

    def declare(self, has_body):
        found = declared(self.heading, has_body) if "" in self.scopes else None
        if found is not None:
            self.found[("::".join(scope for scope in self.scopes if scope), found[0])] = found[1]
        self.heading = ""


def compiled_alone(path, files):
    """The files that the CMakeLists.txt of a target's folder keeps out of its units."""
    folder = path.rsplit("/", 1)[0]
    return {f"{folder}/{name}" for match in ALONE.finditer(files[path])
            for name in match.group(1).split()}


def check_anonymous(files):
    """Findings: (rule, what it is about, text)."""
    alone = set().union(*(compiled_alone(path, files) for path in files
                          if path.endswith("/CMakeLists.txt") and TARGET.fullmatch(path.rsplit("/", 1)[0] + "/")))
    first = {}  # by (target, whether a test, namespace, name): the file and the definition
    for path, text in sorted(files.items()):
        target = TARGET.match(path)
        if target is None or not path.endswith(".cc") or path in alone:
            continue
        unit = (target.group(1), path.endswith("_test.cc"))
        for (namespace, name), definition in NamespaceScanner(text).names().items():
            other, before = first.setdefault((*unit, namespace, name), (path, definition))
            if other != path and (definition is None or definition != before):
                yield ("anonymous", f"{path} {name}",
                       f"{name} is also in an anonymous namespace of {other}, which may be compiled with this file")


def self_test():
    """Tries the scanner on a small source and the rule on small trees; returns what went wrong."""
    source = ("// a { \nnamespace a::b {\nnamespace {\nusing V = std::vector<int>;\nnamespace fs = std::filesystem;\n"
              "template <class T>\nstruct S : Base<T> {\n  int inner() { return 1; }\n};\nenum class E { x, y };\n"
              "struct Later;\nconstexpr int kOne = 1;\nconst Table kTable[] = {{1, f(2)}, {3}};\n"
              "constexpr Range kRange{1, 2};\nint f(int a = g()) {\n  struct Local {};\n  return kOne == a;\n}\n"
              "int S<int>::method() const {\n}\n[[noreturn]] void refuse(std::function<void()> why);\n"
              "bool operator==(E, S<int>) {\n}\nauto less = [](int a, int b) { return a < b; };\n"
              "}\nint outside() {\n}\n}\n")
    expected = {"V", "S", "E", "kOne", "kTable", "kRange", "f", "refuse", "less"}
    failures = []
    found = NamespaceScanner(source).names()
    if {name for _, name in found} != expected or {space for space, _ in found} != {"a::b"}:
        failures.append(f"self-test: names {sorted(found)}, expected {sorted(expected)} in a::b")

    def file(body, namespace="relayout"):
        return f"// A.\nnamespace {namespace} {{\nnamespace {{\n{body}\n}}\n}}\n"

    cmake = "set_source_files_properties(x.cc z.cc PROPERTIES\n  SKIP_UNITY_BUILD_INCLUSION ON)\n"
    a, b = "relayout/cpu/a.cc", "relayout/cpu/kernels/b.cc"
    trees = [({a: file("struct Place {};"), b: file("struct Place {};")}, 1),
             ({a: file("void f() {}"), b: file("int f(int) { return 1; }")}, 1),
             ({a: file("constexpr int kMost = 1;"), b: file("constexpr int kMost = 2;")}, 1),
             ({a: file("using V = A;"), b: file("using V = B;")}, 1),
             ({a: file("using V = A;"), b: file("using V = A;")}, 0),
             ({a: file("struct S {};"), b: file("struct S {};", "relayout::other")}, 0),
             ({a: file("struct S {};"), "relayout/core/b.cc": file("struct S {};")}, 0),
             ({a: file("struct S {};"), "relayout/cpu/b_test.cc": file("struct S {};")}, 0),
         ({"relayout/cpu/a_test.cc": file("TEST(A, B) {}"), "relayout/cpu/b_test.cc": file("TEST(A, C) {}")}, 0),
         ({"relayout/cpu/a_test.cc": file("struct S {};"), "relayout/cpu/b_test.cc": file("struct S {};")}, 1),
             ({"tools/CMakeLists.txt": cmake, "tools/x.cc": file("struct S {};"), "tools/y.cc": file("struct S {};")},
              0)]
    for tree, count in trees:
        found = list(check_anonymous(tree))
        if len(found) != count:
            failures.append(f"self-test: {len(found)} findings, expected {count}, in {tree}: {found}")
    return failures
