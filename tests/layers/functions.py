"""Lengths: of functions, of files and of lines, for the check `layers`.

What counts as a function. In C++: a block in braces at the level of a namespace or of a class whose heading ends as a
function's does, in `)` or in what may follow one (const, noexcept, a trailing return type, a list of member
initializers). So a test is a function, and so is a lambda that a variable of a namespace holds; a lambda or a class
inside a function counts to that function. Its lines are those from the first line of its heading, `template` included,
to the closing brace. In Python: every def that is in no other def, from its first line to its last.

The C++ scanner reads no grammar: it knows comments, string, character and raw string literals, preprocessor lines, and
braces. Where a preprocessor condition has several branches, each one starts with the braces open before the first.
"""
import ast
import re

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_COLUMNS = 120
CPP = (".h", ".cc", ".cpp", ".inc")

LITERAL = re.compile(
    r'//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/'                  # comments
    r'|(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"'        # raw strings
    r'|"(?:[^"\\\n]|\\.)*"'                               # strings
    r"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'",  # characters, not the separators of digits
    re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# What may stand between the closing parenthesis of the parameters and the body.
ENDS_LIKE_FUNCTION = re.compile(
    r"\)\s*(const\b|noexcept\b|override\b|final\b|mutable\b|try\b|&&?|->[^;{}()]*|requires\b[^;{}]*|\s)*$")


def blanked(text, pattern):
    """The text with all matches of a pattern replaced by spaces; lines stay where they are."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without(text, opening, closing):
    """The text without what stands in pairs of these brackets."""
    out, depth = [], 0
    for char in text:
        if char == opening:
            depth += 1
        elif char == closing and depth > 0:
            depth -= 1
        elif depth == 0:
            out.append(char)
    return "".join(out)


def is_function_heading(heading):
    """Whether the block after this text, which starts after the last `;` or brace, is a function's body."""
    if not ENDS_LIKE_FUNCTION.search(heading):
        # A list of member initializers may end in a brace, which the scanner keeps as `{}`.
        return heading.rstrip().endswith("{}") and re.search(r"\)\s*(noexcept\s*)?:[^:]", heading) is not None
    plain = re.sub(r"\btemplate\s*", "", without(without(heading, "(", ")"), "<", ">"))
    return SCOPE.search(plain) is None


def heading_name(heading):
    """How a function is called in a finding: what stands before its parameters."""
    text = re.sub(r"^\s*template\s*", "", heading)
    while text.lstrip().startswith("<"):
        end, depth = 0, 0
        for end, char in enumerate(text):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if char == ">" and depth == 0:
                break
        text = text[end + 1:]
    conversion = re.search(r"\b(operator\b[^()=]*?)\s*\(\)", text)
    if conversion:
        return conversion.group(1)
    test = re.search(r"\b(TEST\w*)\s*\(([^)]*)\)", text)
    if test:
        return re.sub(r"\s+", " ", test.group(2)).strip()
    lambda_variable = re.search(r"(\w+)\s*=\s*\[", text)
    if lambda_variable:
        return lambda_variable.group(1)
    call = re.search(r"((?:~?\w+\s*(?:<[^<>()]*>)?::\s*)*(?:operator\s*[^\s(]+|operator\s*\(\s*\)|~?\w+))\s*\(", text)
    return re.sub(r"\s+", "", call.group(1)) if call else "(unnamed)"


class CppScanner:
    """Finds the functions of one C++ file; see the top of the file."""

    def __init__(self, text):
        text = blanked(text, LITERAL)
        self.directives = {match.start(): match for match in DIRECTIVE.finditer(text)}
        self.text = text
        self.open = []        # for each open brace: its kind; for a function also its heading and where that starts
        self.heading = []     # characters since the last end of a declaration
        self.start = None     # where the heading's first character stands
        self.parentheses = 0
        self.conditions = []  # for each open preprocessor condition: the braces that were open before it
        self.found = []

    def functions(self):
        """(name, first line, last line) of each."""
        i = 0
        while i < len(self.text):
            if i in self.directives:
                self.directive(self.directives[i].group(1))
                i = self.directives[i].end()
                continue
            self.character(i, self.text[i])
            i += 1
        return self.found

    def directive(self, word):
        state = (list(self.open), list(self.heading), self.start, self.parentheses)
        if word.startswith("if"):
            self.conditions.append(state)
        elif word in ("else", "elif") and self.conditions:
            before = self.conditions[-1]
            self.open, self.heading, self.start, self.parentheses = list(before[0]), list(before[1]), *before[2:]
        elif word == "endif" and self.conditions:
            self.conditions.pop()

    def character(self, i, char):
        inside = bool(self.open) and self.open[-1][0] != "scope"
        if char == "{":
            self.open_brace(inside)
        elif char == "}":
            self.close_brace(i)
        elif inside:
            return
        elif char == ";" and self.parentheses == 0:
            self.clear()
        else:
            self.parentheses += {"(": 1, ")": -1}.get(char, 0)
            if self.start is None and not char.isspace():
                self.start = i
            if self.start is not None:
                self.heading.append(char)

    def open_brace(self, inside):
        heading = "".join(self.heading)
        if inside:
            self.open.append(("block", None, None))
        elif self.parentheses > 0:
            self.open.append(("value", None, None))
        elif is_function_heading(heading):
            self.open.append(("function", heading_name(heading), self.start))
        elif SCOPE.search(re.sub(r"\btemplate\s*", "", without(without(heading, "(", ")"), "<", ">"))):
            self.open.append(("scope", None, None))
            self.clear()
        else:
            self.open.append(("value", None, None))

    def close_brace(self, i):
        if not self.open:
            return
        kind, name, start = self.open.pop()
        if kind == "function":
            line = self.text.count("\n", 0, start) + 1
            self.found.append((name, line, self.text.count("\n", 0, i) + 1))
            self.clear()
        elif kind == "value":
            self.heading.extend("{}")
        elif kind == "scope":
            self.clear()

    def clear(self):
        self.heading, self.start, self.parentheses = [], None, 0


def python_functions(text):
    """(name, first line, last line) of each def that is in no other def."""
    found = []

    def visit(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append((child.name, child.lineno, child.end_lineno))
            else:
                visit(child)

    visit(ast.parse(text))
    return found


def functions_of(path, text):
    if path.endswith(CPP):
        return CppScanner(text).functions()
    return python_functions(text) if path.endswith(".py") else []


def check_lengths(path, text):
    """Findings of one file: (rule, what it is about, text)."""
    lines = text.split("\n")
    count = len(lines) - (1 if lines[-1] == "" else 0)
    if count > MAX_FILE_LINES:
        yield "file", path, f"has {count} lines, of at most {MAX_FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield "line", path, f"line {number} has {len(line)} columns, of at most {MAX_COLUMNS}"
    for name, first, last in functions_of(path, text):
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield ("function", f"{path} {name}",
                   f"line {first}: {name} has {last - first + 1} lines, of at most {MAX_FUNCTION_LINES}")


def self_test():
    """Tries the scanner on small sources, each with the functions that it must find; returns what went wrong."""
    long = "  f();\n" * 59  # with a heading and a closing brace 61 lines
    cases = {
        "void a() {\n" + long + "}\n": [("a", 1, 61)],
        "namespace n {\ntemplate <class T>\nint C<T>::b(T x) const noexcept {\n"
        "  auto g = [&](int) { if (x) { } };\n}\n}\n": [("C<T>::b", 2, 5)],
        "struct S {\n  S() : a_{1}, b_(2) {\n  }\n  S(int) : a_{1} {\n  }\n  int v = f(3);\n  ~S() { }\n"
        "  operator int*() const { return {}; }\n};\n":
            [("S", 2, 3), ("S", 4, 5), ("~S", 7, 7), ("operator int*", 8, 8)],
        'const char* s = "{(";\nchar c = \'{\';\nauto r = R"x(void f() { )x";\n'
        "// void g() {\n/* { */ int h() { return 1'000; }\n": [("h", 5, 5)],
        "#if A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}\nint g() {\n}\n": [("f", 4, 6), ("g", 7, 8)],
        "constexpr int kTable[] = {1, f(2), 3};\nauto k = [](int i) {\n  return i;\n};\nstruct P { int a; } p{1};\n":
            [("k", 2, 4)],
        "TEST(A, b) {\n}\nauto f(int) -> std::vector<int> {\n}\nvoid g(std::vector<int> v = {}) {\n}\n":
            [("A, b", 1, 2), ("f", 3, 4), ("g", 5, 6)],
        "bool operator==(const A& a) const {\n}\nenum class E : int { a, b };\nextern \"C\" {\nvoid c(void) {\n}\n}\n":
            [("operator==", 1, 2), ("c", 5, 6)],
    }
    failures = []
    for source, expected in cases.items():
        found = CppScanner(source).functions()
        if found != expected:
            failures.append(f"self-test: functions {found}, expected {expected}, of {source[:200]!r}")
    source = "class C:\n    def m(self):\n        def inner():\n            pass\n        return inner\n"
    if python_functions(source) != [("m", 2, 5)]:
        failures.append(f"self-test: functions {python_functions(source)} of {source!r}")
    return failures
