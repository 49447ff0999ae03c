"""The references of C++ and C: a page for each public header, from its comments, with an anchor for each name."""
import html
import re

import headers
from markdown import Markdown, Section, code_block, highlighted
from page import Page

C_HEADERS = ("relayout/relayout_c.h", "relayout/relayout_models_c.h")
C_PAGES = (("cpp/relayout_c.html", "C"), ("cpp/relayout_models_c.html", "C, for models"))
# Public, and not in the umbrella, as it needs a foreign library's headers.
BESIDE_THE_UMBRELLA = ("relayout/interop/onednn_desc.h", "relayout/redistribute/mpi.h")
FOLDERS = {"core": "Layouts, types, views", "reorder": "Reorders as values", "cpu": "Reorders on the CPU",
           "interop": "Other systems and files", "checkpoint": "Checkpoints of models", "show": "Pictures",
           "opencl": "OpenCL", "solve": "The choice of layouts as numbers", "graph": "Models as values",
           "execute": "Running models"}


def headers_of(root):
    """The paths of all public headers: those of the umbrella, those beside it and those of C."""
    umbrella = (root / "relayout/relayout.h").read_text(encoding="utf-8")
    found = re.findall(r'#include "(relayout/[^"]+)"', umbrella)
    beside = [name for name in BESIDE_THE_UMBRELLA if (root / name).exists()]
    return sorted([*found, *beside]) + list(C_HEADERS)


def address_of(name):
    return "cpp/" + name.removeprefix("relayout/").removesuffix(".h").replace("/", "-") + ".html"


class Writer:
    """Writes one header's page."""

    def __init__(self, language):
        self.language, self.taken, self.sections = language, set(), []
        self.markdown = Markdown(lambda path, anchor: None, lambda source, words: "")

    def text(self, comment):
        """A comment as HTML. Comments are prose with `code` and indented blocks."""
        tokens = self.markdown.parser.parse(comment)
        for token in tokens:
            if token.type in ("heading_open", "heading_close"):
                token.tag = "p"  # a line of dashes under a word is no heading here
        return self.markdown.html_of([token for token in tokens if token.type != "hr"])

    def anchors(self, names):
        """Anchors of names that have none yet, since overloads share one; an anchor has no blank."""
        new = [name for name in dict.fromkeys(name.replace(" ", "-") for name in names) if name not in self.taken]
        self.taken.update(new)
        return new

    def code(self, entry):
        """The declarations, each with anchors before it."""
        lines = []
        for code, names in entry.code:
            spans = "".join(f'<span id="{html.escape(name)}"></span>' for name in self.anchors(names))
            shown = "\n".join(highlighted(line, self.language) for line in code.split("\n"))
            lines.append(spans + shown)
        ending = " { ... };" if entry.kind in ("class", "struct", "union") else ""
        shown = "\n".join(lines)
        return f'<pre tabindex="0"><code>{shown}{ending}</code></pre>\n'

    def entry(self, entry, level):
        out = []
        code = self.code(entry)
        if level == 2:
            title = self.title(entry)
            anchor = self.heading_anchor(title)
            out.append(f'<h2 id="{html.escape(anchor)}"><code>{html.escape(title)}</code></h2>\n')
            self.section(2, title, anchor, entry)
        else:
            for name in dict.fromkeys(entry.names):
                self.section(3, name, name.replace(" ", "-"), entry)
        out.append(code)
        if entry.doc:
            out.append(self.text(entry.doc))
        if entry.members:
            out.append('<div class="members">\n')
            for member in entry.members:
                out.append(f'<div class="entry">{self.entry(member, level + 1)}</div>\n')
            out.append("</div>\n")
        return "".join(out)

    @staticmethod
    def title(entry):
        names = [name for name in dict.fromkeys(entry.names) if name]
        if entry.kind == "enum":
            names = [names[0] + " ..."] if "enum {" in entry.code[0][0] else names[:1]
        return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "") or entry.kind

    def heading_anchor(self, title):
        base = "about-" + re.sub(r"[^\w]+", "-", title).strip("-")
        anchor, number = base, 1
        while anchor in self.taken:
            number += 1
            anchor = f"{base}-{number}"
        self.taken.add(anchor)
        return anchor

    def section(self, level, title, anchor, entry):
        section = Section(level, title, anchor)
        section.words.append(entry.doc or " ".join(code for code, _ in entry.code))
        section.words.append(" ".join(entry.names))
        self.sections.append(section)


def summary(comment):
    """The first sentence of an opening comment."""
    text = " ".join(comment.split("\n\n")[0].split())
    found = re.match(r".*?[.:](?=\s|$)", text)
    return (found[0] if found else text).rstrip(":").rstrip(".") + "."


def header_page(root, name):
    opening, entries = headers.read((root / name).read_text(encoding="utf-8"))
    language = "c" if name in C_HEADERS else "cpp"
    writer = Writer(language)
    first = Section(1, name, "")
    first.words.append(opening)
    writer.sections.append(first)
    body = [f"<h1>{html.escape(name)}</h1>\n",
            code_block(f"#include <{name}>", language), writer.text(opening)]
    body += [writer.entry(entry, 2) for entry in entries]
    kind = "C" if language == "c" else "C++"
    page = Page(address_of(name), name, kind, "".join(body), writer.sections, weight=0.9)
    return page, opening, entries


def index_page(found):
    """All headers by folder, with what each is for and the types and functions that it declares."""
    body = ["<h1>C++</h1>\n<p>One include has everything: <code>#include &lt;relayout/relayout.h&gt;</code>. These are "
            "the headers that it includes, with what their comments say; all names are in the namespace "
            "<code>relayout</code>, and those of a folder whose name stands before them in a namespace of that name. "
            'How programs are built is on <a href="../readme.html#in-c">the first page of the project</a>.</p>\n<dl>\n']
    sections, folder = [Section(1, "C++", "")], None
    # A header that stands in no folder comes first.
    for page, opening, _ in sorted(found, key=lambda one: one[0].title.count("/") > 1):
        name = page.title
        inside = name.split("/")[1]
        if name in C_HEADERS:
            continue
        inside = "" if inside.endswith(".h") else inside
        if inside != folder and inside:
            body.append(f'</dl>\n<h2 id="{inside}">{html.escape(FOLDERS.get(inside, inside))}</h2>\n<dl>\n')
            folder = inside
            sections.append(Section(2, FOLDERS.get(inside, inside), inside))
        link = page.address.removeprefix("cpp/")
        body.append(f'<dt><a href="{link}"><code>{html.escape(name)}</code></a></dt>\n'
                    f"<dd>{html.escape(summary(opening))}</dd>\n")
    return Page("cpp/index.html", "C++", "C++", "".join(body) + "</dl>\n", sections)


def pages(root, names):
    found = [header_page(root, name) for name in names]
    return [index_page(found)] + [page for page, _, _ in found]
