"""Reads the public headers, which are written in one style: what each declares, in which namespace, and what its
comment says. `read()` gives the opening comment and the entries of a header.

An entry is what stands together in the header: a comment and the declarations under it, up to a blank line or the next
comment. A type's entry has the entries of its public members. No compiler is asked, so that this needs no build; the
tests compare the names with those that a compiler finds.
"""
import re
from dataclasses import dataclass, field

TYPE = re.compile(r"(?:typedef\s+)?(class|struct|union|enum(?:\s+(?:class|struct))?)\b[^=()]*$")
NO_NAMES = {"alignas", "decltype", "explicit", "__attribute__", "requires", "noexcept", "sizeof", "operator"}
SKIPPED = re.compile(r"static_assert\b|using\s+namespace\b|extern\s+template\b|template\s+(?:class|struct)\s+\w+<")


@dataclass
class Entry:
    """Declarations under one comment: their names with the namespaces and types round them, without relayout::."""
    doc: str
    code: list = field(default_factory=list)  # (text of the declaration as in the header, its names)
    kind: str = "function"  # or a type: class, struct, enum ...
    members: list = field(default_factory=list)

    @property
    def names(self):
        return [name for _, names in self.code for name in names]


def blanked(text):
    """The text with its comments, texts and characters as blanks: what is left has the structure."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\''
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def comment_text(raw):
    """What a comment says, without its marks."""
    if raw.startswith("/*"):
        lines = re.sub(r"^/\*+ ?|\s*\*/$", "", raw).split("\n")
        return "\n".join(lines[:1] + [re.sub(r"^\s*\* ?", "", line) for line in lines[1:]])
    return "\n".join(re.sub(r"^\s*///? ?", "", line) for line in raw.split("\n"))


def closing(mask, at):
    """The place of the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    opens, closes = mask[at], pairs[mask[at]]
    for i in range(at, len(mask)):
        depth += (mask[i] == opens) - (mask[i] == closes)
        if depth == 0:
            return i
    raise ValueError(f"a bracket is not closed: {mask[at:at + 60]!r}")


def past_angles(text, at):
    """The place behind the > that closes the < at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "<") - (text[i] == ">" and text[i - 1] != "-")
        if depth == 0:
            return i + 1
    return len(text)


def past_requirement(text):
    """The place behind a requires clause, which begins the text."""
    at = len("requires")
    while True:
        at = re.compile(r"[\s!]*").match(text, at).end()
        if text[at:at + 1] == "(":
            at = closing(text, at) + 1
        else:
            at = re.compile(r"[\w:]*").match(text, at).end()
            if text[at:at + 1] == "<":
                at = past_angles(text, at)
            at = re.compile(r"::\w+").match(text, at).end() if text[at:at + 2] == "::" else at
        joint = re.compile(r"\s*(?:&&|\|\|)").match(text, at)
        if not joint:
            return at
        at = joint.end()


def without_template(head):
    """A declaration without its template<...>, requires clause and attributes."""
    while True:
        head = head.lstrip()
        if re.match(r"template\s*<", head):
            head = head[past_angles(head, head.index("<")):]
        elif head.startswith("[[") and "]]" in head:
            head = head[head.index("]]") + 2:]
        elif re.match(r"requires\b", head):
            head = head[past_requirement(head):]
        else:
            return head


def outside_angles(head):
    """The head with what is between the < and > of templates as blanks."""
    out, depth = [], 0
    for i, letter in enumerate(head):
        before = head[:i].rstrip()
        if letter == "<" and before[-1:].isidentifier() and not before.endswith("operator"):
            depth += 1
        out.append(letter if depth == 0 else " ")
        if letter == ">" and depth > 0 and head[i - 1] != "-":
            depth -= 1
    return "".join(out)


def names_of(head):
    """(kind, names) of a declaration without its body."""
    head = without_template(re.sub(r"\s+", " ", head).strip())
    found = re.match(r"using (\w+)\s*(?:\[\[.*\]\])?\s*=", head)
    if found:
        return "alias", [found[1]]
    found = re.match(r"using (?:[\w:<>, ]+::)?(~?\w+|operator\S+)$", head)
    if found:
        return "function", [found[1]]
    if head.startswith("typedef"):
        found = re.search(r"(\w+)$", head) if "(" not in head else re.search(r"\(\s*\*\s*(\w+)\s*\)", head)
        return "alias", [found[1]]
    found = re.match(r"concept (\w+)", head)
    if found:
        return "concept", [found[1]]
    found = re.search(r"\boperator\s*(\(\)|\[\]|[^\s\w(]+|[\w:]+(?:<[^>]*>)?(?:\s*[*&]+)?)\s*\(", head)
    if found:
        return "function", ["operator" + (" " if re.match(r"\w", found[1]) else "") + found[1]]
    bare = outside_angles(head)
    found = re.match(r"[^(]*?(?<!\w)\(\s*\*\s*(\w+)\s*\)\s*\(|[^(]*\w\s+\(\s*\*\s*(\w+)\s*\)\s*\(", bare)
    if found:
        return "variable", [found[1] or found[2]]
    before_value = re.split(r"(?<![=!<>])=(?!=)", bare)[0]
    for found in re.finditer(r"(~?\w+)\s*\(", before_value):
        if found[1] not in NO_NAMES:
            return "function", [found[1]]
    names = []
    for part in re.split(r",(?![^({\[]*[)}\]])", bare):
        before_value = re.split(r"(?<![=!<>])=(?!=)", part)[0].strip()
        found = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+\s*)?(?:\{.*)?$", before_value)
        if found:
            names.append(found[1])
    return "variable", names


class Header:
    """A header that is read; `entries` are those of its namespaces."""

    def __init__(self, text):
        self.text, self.mask = text, blanked(text)
        opening = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/", text, re.DOTALL)
        self.opening = comment_text(opening[0].rstrip()) if opening else ""
        self.entries = []
        self.parse(opening.end() if opening else 0, len(text), (), True, self.entries)

    def parse(self, at, end, scope, public, entries):
        """Reads what is declared between two places. `scope`: the names of the namespaces and types round it."""
        doc, current = "", None
        while at < end:
            gap = re.compile(r"\s*").match(self.text, at)
            if gap[0].count("\n") > 1:
                doc, current = "", None
            at = gap.end()
            if at >= end:
                break
            comment = re.compile(r"(?:[ \t]*//[^\n]*\n?)+|/\*.*?\*/", re.DOTALL).match(self.text, at)
            if comment:
                doc, current, at = comment_text(comment[0].rstrip()), None, comment.end()
                # The line's end belongs to the comment, so that one more is a blank line.
                if comment[0].endswith("\n"):
                    at -= 1
                continue
            access = re.compile(r"(public|private|protected)\s*:(?!:)").match(self.mask, at)
            if access:
                public, at, doc, current = access[1] == "public", access.end(), "", None
                continue
            if self.mask[at] in "};":
                at += 1
            elif self.mask[at] == "#":
                at, current = self.directive(at, doc, current, entries)
            else:
                at, current = self.declaration(at, scope, public, doc, current, entries)
                doc = ""

    def directive(self, at, doc, current, entries):
        stop = re.compile(r"(?:[^\n]*\\\n)*[^\n]*").match(self.mask, at).end()
        found = re.compile(r"#\s*define\s+(RELAYOUT_\w+)(\(|[ \t]+\S)").match(self.mask, at)
        if found and not found[1].endswith("_H") and found[1] != "RELAYOUT_API":
            return stop, self.put(entries, current, doc, "macro", self.text[at:stop], [found[1]])
        return stop, None

    def put(self, entries, current, doc, kind, code, names):
        """Adds a declaration to the entry that it stands in, or begins one."""
        if current is None or current.kind not in ("function", "macro"):
            current = Entry(doc, kind="macro" if kind == "macro" else "function")
            entries.append(current)
        current.code.append((code, names))
        return current

    def declaration(self, at, scope, public, doc, current, entries):
        space = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)\s*\{|extern\s+\{").match(self.mask, at)
        if space:
            stop = closing(self.mask, space.end() - 1)
            name = space[1] or ""
            inner = scope if name in ("", "relayout") else (*scope, name.removeprefix("relayout::"))
            if not name.endswith("detail"):
                self.parse(space.end(), stop, inner, True, entries)
            return stop + 1, None
        head_end, stop, body = self.extent(at)
        head = self.mask[at:head_end]
        ahead = re.match(r"(?:friend\s+)?(?:class|struct|enum(?:\s+class)?)\s+[\w:]+\s*(?::\s*\w+)?$",
                         without_template(head)) and body is None
        if SKIPPED.match(head.strip()) or not public or ahead:
            return stop, current
        if body is not None:
            return stop, self.type_entry(at, head_end, stop, body, scope, doc, entries)
        _, names = names_of(head)
        code = self.source(at, head_end)
        behind = re.compile(r"[ \t]*;?[ \t]*(//[^\n]*|/\*[^\n]*\*/)").match(self.text, stop)
        if behind:
            stop = behind.end()
        # In C++ a field's values and what stands behind it say something; the body of a function does not.
        code += ";" + ("  " + behind[1] if behind else "")
        return stop, self.put(entries, current, doc, "function", code, ["::".join((*scope, name)) for name in names])

    def source(self, at, end):
        """The text between two places, whose further lines are indented as if the first began its line."""
        column = at - (self.text.rfind("\n", 0, at) + 1)
        return self.text[at:end].rstrip().replace("\n" + " " * column, "\n")

    def extent(self, at):
        """(end of the head, end of the whole, place of a type's body or None) of the declaration that begins here."""
        i, listed = at, False
        while i < len(self.mask):
            letter = self.mask[i]
            if letter in "([":
                i = closing(self.mask, i)
            elif letter == ";":
                return i, i + 1, None
            elif letter == ":" and re.search(r"\)(?:\s+(?:const|noexcept))*$", self.mask[at:i].rstrip()) and \
                    self.mask[i + 1] != ":" and self.mask[i - 1] != ":":
                listed = True
                start_of_list = i
            elif letter == "{":
                head = re.sub(r"\s+", " ", self.mask[at:i]).strip()
                if listed and re.search(r"\w$", head):  # a member in the list of a constructor
                    i = closing(self.mask, i)
                elif TYPE.match(without_template(head).strip()):
                    stop = closing(self.mask, i)
                    return i, self.mask.index(";", stop) + 1, i
                elif names_of(head)[0] == "function" and not re.search(r"(?<![=!<>])=\s*$|(?<![=!<>])=[^=]*$",
                                                                       outside_angles(head).split(")")[-1]):
                    return (start_of_list if listed else i), closing(self.mask, i) + 1, None
                else:
                    i = closing(self.mask, i)
            i += 1
        raise ValueError(f"a declaration does not end: {self.text[at:at + 60]!r}")

    def type_entry(self, at, head_end, stop, body, scope, doc, entries):
        head = without_template(self.mask[at:head_end]).strip()
        kind = TYPE.match(head)[1].split()[0]
        close = closing(self.mask, body)
        behind = self.mask[close + 1:stop - 1].strip()
        found = re.match(r"(?:typedef\s+)?(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s*(?:alignas\s*\S+\s*)?"
                         r"([\w:]*)", head)
        name = behind if head.startswith("typedef") and behind else found[1]
        qualified = "::".join((*scope, name)) if name else ""
        entry = Entry(doc, kind=kind)
        code = self.source(at, head_end)
        entries.append(entry)
        if kind == "enum":
            entry.code = [(self.source(at, close + 1) + ";", [qualified] if name else [])]
            inner = (*scope, name) if name and "class" in head.split(name)[0] else scope
            entry.code[0][1].extend("::".join((*inner, enumerator)) for enumerator in self.enumerators(body, close))
        else:
            entry.code = [(code, [qualified])]
            inner = (*scope, name) if name else scope
            self.parse(body + 1, close, inner, kind != "class", entry.members)
        return None

    def enumerators(self, body, close):
        inside = self.mask[body + 1:close]
        parts = re.split(r",(?![^({]*[)}])", inside)
        return [found[1] for part in parts for found in [re.match(r"\s*(\w+)", part)] if found]


def read(text):
    """(opening comment, entries) of a header."""
    header = Header(text)
    return header.opening, header.entries


def walk(entries):
    """All entries, members too."""
    for entry in entries:
        yield entry
        yield from walk(entry.members)
