#!/usr/bin/env python3
"""Checks the pages of the site as files: that their marks are balanced, that every link leads somewhere, and that they
ask nothing of any network.

    pages.py SITE

A link to another page of the site must lead to a file, and its anchor to an id there. Scripts, styles, frames and
images come from the site itself. Each page has one h1, headings without a gap, a main, a language, a title of its own
and a policy that allows no script but those whose hashes it names, which are those of its scripts. Standard library
only.
"""
import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
# Elements that fetch what their attribute names.
RESOURCES = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "object": "data",
             "embed": "src", "image": "href", "use": "href"}
LEAST_PAGES, LEAST_LINKS = 200, 5000


class Page(HTMLParser):
    """Reads a page; `faults` says what is wrong with its marks."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.faults, self.ids, self.links, self.resources, self.levels = [], set(), [], [], []
        self.open, self.counts, self.policy, self.language, self.title = [], {}, "", "", ""
        self.texts = {"script": [], "style": []}
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, pairs):
        given = dict(pairs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if len(given) != len(pairs):
            self.faults.append(f"<{tag}> has an attribute twice")
        if "id" in given:
            if given["id"] in self.ids or not given["id"] or " " in given["id"]:
                self.faults.append(f"id {given['id']!r} stands twice or is none")
            self.ids.add(given["id"])
        if "style" in given or any(name.startswith("on") for name in given):
            self.faults.append(f"<{tag}> has a style or a script as an attribute, which the policy forbids")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in RESOURCES and given.get(RESOURCES[tag]):
            self.resources.append(given[RESOURCES[tag]])
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "html":
            self.language = given.get("lang", "")
        if tag[0] == "h" and tag[1:].isdigit():
            self.levels.append(int(tag[1:]))
        if tag == "img" and "alt" not in given or tag == "iframe" and not given.get("title"):
            self.faults.append(f"<{tag}> has no words for what it shows")
        if tag not in VOID:
            self.open.append(tag)
            if tag in self.texts:
                self.texts[tag].append("")

    def handle_startendtag(self, tag, pairs):
        self.handle_starttag(tag, pairs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]][-1] += data
        if self.open and self.open[-1] == "title" and "head" in self.open:
            self.title += data
        if not {"code", "script", "style"} & set(self.open) and re.search(r"<!--|\]\(|```|\*\*|^ *\|", data):
            self.faults.append(f"has marks of Markdown as text: {data.strip()[:60]!r}")


def faults_of_frame(page):
    """What a page must have whatever it says."""
    for tag in ("h1", "main", "title", "header"):
        count = page.counts.get(tag, 0) - (page.counts.get("svg", 0) and tag == "title" and page.counts["title"] - 1)
        if count != 1:
            yield f"{count} of <{tag}>"
    # The lists beside a page have headings of the second level; those of the page begin at the first.
    for before, after in zip(page.levels, page.levels[1:]):
        if after > before + 1:
            yield f"h{after} follows h{before}"
    if page.language != "en" or not page.title.strip():
        yield "no language or no title"
    for kind in ("script", "style"):
        allowed = next((rule for rule in page.policy.split("; ") if rule.startswith(f"{kind}-src ")), "")
        for text in page.texts[kind]:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            if f"'sha256-{digest}'" not in allowed:
                yield f"its policy does not allow its {kind}"
        if "'unsafe-inline'" in allowed or "'unsafe-eval'" in allowed or "http" in allowed or "*" in allowed:
            yield f"its policy allows any {kind}"
    if "default-src 'none'" not in page.policy:
        yield "its policy allows what it does not name"


def faults_of_links(path, page, pages, site):
    for href in page.links:
        parts = urlsplit(href)
        if parts.scheme in ("http", "https", "mailto"):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if parts.scheme or not target.is_file() or site not in target.parents:
            yield f"leads to {href}, which is not there"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
            yield f"leads to {href}, which has no such anchor"
    for source in page.resources:
        if urlsplit(source).scheme or source.startswith("//") or not (path.parent / source).is_file():
            yield f"asks for {source}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = Path(sys.argv[1]).resolve()
    # A live picture is a page of `relayout show`, which has tests of its own.
    paths = [path for path in sorted(site.rglob("*.html")) if not path.name.endswith(".live.html")]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    faults = 0
    for path, page in pages.items():
        for fault in [*page.faults, *faults_of_frame(page), *faults_of_links(path, page, pages, site)]:
            faults += 1
            print(f"{path.relative_to(site)}: {fault}")
    links = sum(len(page.links) for page in pages.values())
    linked = {(path.parent / unquote(urlsplit(href).path)).resolve()
              for path, page in pages.items() for href in page.links}
    for path in paths:
        if path not in linked:
            faults += 1
            print(f"{path.relative_to(site)}: no page leads to it")
    print(f"{len(pages)} pages, {links} links, {faults} faults")
    sys.exit(1 if faults or len(pages) < LEAST_PAGES or links < LEAST_LINKS else 0)


if __name__ == "__main__":
    main()
