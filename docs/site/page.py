"""The frame of the site's pages: head, policy, the list of pages, the search's dialog."""
import base64
import hashlib
import html
from pathlib import Path

HERE = Path(__file__).resolve().parent
STYLE = (HERE / "site.css").read_text(encoding="utf-8")
SCRIPT = "".join((HERE / name).read_text(encoding="utf-8") for name in ("site.js", "pictures.js"))


def source_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


# Only this script and this style run. The script may load another one, which is the search's index.
POLICY = (f"default-src 'none'; script-src {source_hash(SCRIPT)} 'strict-dynamic'; style-src {source_hash(STYLE)}; "
          "base-uri 'none'; form-action 'none'")


class Page:
    """A page of the site: its address, what search calls it, how much its sections weigh there, and what it holds."""

    def __init__(self, address, title, kind, body, sections, *, weight=1.0, frames=False, listed=True):
        self.address, self.title, self.kind, self.body, self.sections = address, title, kind, body, sections
        self.weight, self.frames, self.listed = weight, frames, listed

    @property
    def root(self):
        return "../" * self.address.count("/")


def navigation(groups, page):
    """The list of all pages: [(title, [(address, name)])]."""
    itself = any(address == page.address for _, entries in groups for address, _ in entries)
    out = ['<nav class="side" aria-label="Pages"><details open><summary>All pages</summary>\n']
    for title, entries in groups:
        out.append(f"<h2>{html.escape(title)}</h2>\n<ul>\n")
        for address, name in entries:
            # A page that is not listed stands under the list of its folder.
            folder = address.removesuffix("index.html") if address.endswith("/index.html") else None
            over = folder is not None and not itself and page.address.startswith(folder)
            kind = "page" if address == page.address else "true" if over else ""
            current = f' aria-current="{kind}"' if kind else ""
            out.append(f'<li><a href="{page.root}{address}"{current}>{html.escape(name)}</a></li>\n')
        out.append("</ul>\n")
    return "".join(out) + "</details></nav>\n"


def contents_of(page):
    """The headings of a page, where it has several."""
    wanted = [section for section in page.sections if section.level == 2 and section.anchor]
    if len(wanted) < 3:
        return ""
    rows = "".join(f'<li><a href="#{html.escape(section.anchor)}">{html.escape(section.title)}</a></li>\n'
                   for section in wanted)
    return f'<nav class="toc" aria-label="On this page"><h2>On this page</h2>\n<ul>\n{rows}</ul></nav>\n'


SEARCH = """<dialog aria-label="Search">
<div class="asked" role="search"><input type="search" aria-label="Words" placeholder="nhwc, padding, convert ..."
autocomplete="off" spellcheck="false"><button type="button">Close</button></div>
<p class="status" role="status"></p>
<div class="found"><ol></ol></div>
</dialog>
"""


def written(page, groups, version):
    """The whole page as HTML."""
    title = "relayout" if page.address == "index.html" else f"{page.title} · relayout"
    # Pictures lie beside the page; from disk a browser takes each file for another place.
    policy = POLICY + ("; frame-src 'self' file:; img-src 'self' file:" if page.frames else "")
    contents = contents_of(page)
    return f"""<!doctype html>
<html lang="en" data-root="{page.root}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the page</a>
<header class="top"><a class="brand" href="{page.root}index.html">relayout</a>
<button type="button" id="search-open" hidden>Search <kbd>/</kbd></button></header>
<div class="frame{" three" if contents else ""}">
{navigation(groups, page)}<main id="content">
{page.body}<p class="turns"><span class="name">relayout {html.escape(version)}</span></p>
</main>
{contents}</div>
{SEARCH}<script>{SCRIPT}</script>
</body>
</html>
"""
