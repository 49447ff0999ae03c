"""The documents of the project as pages, and the sources that they link to."""
import html
import posixpath
import re
from pathlib import PurePosixPath

from markdown import Markdown, Section
from page import Page

# The documents that have a place in the list of pages, in its order; others of docs/ follow in the last group.
GROUPS = (
    ("Begin", ("docs/index.md", "docs/tutorial.md", "docs/gallery.md")),
    ("Layouts", ("docs/layout-expressions.md", "docs/interop.md", "docs/published-examples.md", "docs/padding.md",
                 "docs/packed-weights.md", "docs/swizzles.md", "docs/tables.md", "docs/show.md")),
    ("Data", ("docs/files.md", "docs/conversions.md", "docs/large-arrays.md", "docs/placements.md",
              "docs/checkpoints.md", "docs/opencl.md")),
    ("Python", ("docs/python.md", "docs/python-testing.md", "docs/performance-python.md")),
    ("Models", ("docs/models.md", "docs/operators.md", "docs/explain.md")),
    ("Speed", ("docs/performance.md", "docs/benchmarks.md", "docs/kernels.md", "docs/threads.md",
               "docs/lab/README.md")),
    ("The project", ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
)
NAMES = {"docs/index.md": "What relayout is", "docs/layout-expressions.md": "Grammar of layouts",
         "docs/interop.md": "Other systems", "docs/show.md": "Pictures", "docs/lab/README.md": "Lab notebook",
         "docs/explain.md": "Explaining reorders", "README.md": "README", "docs/tutorial.md": "Tutorial",
         "docs/gallery.md": "Gallery",
         "docs/python.md": "The package",
         "docs/python-testing.md": "Testing kernels", "docs/performance-python.md": "How fast in Python"}
REST = "The project"


def address_of(name):
    """The page of a document: docs/files.md is files.html, docs/lab/x.md lab/x.html, README.md readme.html."""
    if not name.startswith("docs/"):
        return name.removesuffix(".md").lower() + ".html"
    path = name.removeprefix("docs/").removesuffix(".md")
    return ("lab/index" if path == "lab/README" else path) + ".html"


def source_address(name):
    return f"source/{name}.html"


class Documents:
    """All documents; `pages()` also makes pages of the sources that they link to."""

    def __init__(self, root, elsewhere):
        """`elsewhere`: addresses of the site for files that are no documents, such as public headers."""
        self.root, self.elsewhere = root, elsewhere
        found = [*root.glob("docs/*.md"), *root.glob("docs/lab/*.md"), *root.glob("*.md")]
        self.names = sorted(path.relative_to(root).as_posix() for path in found)
        self.sources = set()
        # Headers by their paths, and by their names where one has that name.
        names = [path.rsplit("/", 1)[-1] for path in elsewhere]
        self.headers = dict(elsewhere)
        self.headers |= {name: address for name, address in zip(names, elsewhere.values()) if names.count(name) == 1}

    def where(self, page):
        """Turns paths of the project into addresses, as seen from a page."""
        def found(path, anchor):
            hash_ = f"#{anchor}" if anchor else ""
            if path in self.names:
                return self.relative(page, address_of(path)) + hash_
            if path in self.elsewhere:
                return self.relative(page, self.elsewhere[path])
            if (self.root / path).is_file() and not path.endswith(".svg"):
                self.sources.add(path)
                return self.relative(page, source_address(path))
            return None  # a folder, which has no page
        return found

    @staticmethod
    def relative(page, address):
        return posixpath.relpath(address, posixpath.dirname(page) or ".")

    def picture(self, folder):
        """Puts an SVG of the project into the page itself, so that the page asks for nothing."""
        def drawn(source, words):
            path = self.root / posixpath.normpath(posixpath.join(folder, source))
            return inline_svg(path.read_text(encoding="utf-8"), words)
        return drawn

    def page(self, name):
        address = address_of(name)
        def known(code):
            return self.relative(address, self.headers[code]) if code in self.headers else None

        markdown = Markdown(self.where(address), self.picture(posixpath.dirname(name)), known)
        body, title, sections = markdown.render((self.root / name).read_text(encoding="utf-8"), name)
        laboratory = name.startswith("docs/lab/")
        background = laboratory or name in ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
        kind = "Lab notebook" if laboratory else "Project" if background else "Guide"
        return Page(address, title, kind, body, sections, weight=0.5 if background else 1.2)

    def pages(self, without=()):
        out = [self.page(name) for name in self.names if name not in without]
        return out + [self.source(name) for name in sorted(self.sources)]

    def source(self, name):
        """A file of the project that a document links to, as it is."""
        text = (self.root / name).read_text(encoding="utf-8", errors="replace")
        body = f'<h1>{html.escape(name)}</h1>\n<pre tabindex="0"><code>{html.escape(text)}</code></pre>\n'
        return Page(source_address(name), name, "Source", body, [Section(1, name, "")], weight=0.3)

    def groups(self, references):
        """The list of pages: [(title, [(address, name)])]."""
        listed = {name for _, names in GROUPS for name in names}
        rest = [name for name in self.names if name not in listed and not name.startswith("docs/lab/")]
        out = []
        for title, names in GROUPS:
            present = [name for name in names if name in self.names] + (rest if title == REST else [])
            out.append((title, [(address_of(name), self.short_name(name)) for name in present]))
        return out[:2] + [("Reference", references)] + out[2:]

    def short_name(self, name):
        if name in NAMES:
            return NAMES[name]
        heading = re.search(r"^# (.*)$", (self.root / name).read_text(encoding="utf-8"), re.MULTILINE)
        return heading[1].replace("`", "") if heading else PurePosixPath(name).stem


def inline_svg(text, words):
    """An SVG as a part of a page: its letters are those of the page, and what it shows has a name."""
    svg = text[text.index("<svg"):]
    if "aria-label" not in svg[:svg.index(">")]:
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(words)}"', 1)
    return f'<div class="picture">{svg}</div>'
