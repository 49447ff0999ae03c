"""Markdown to HTML for the site: GitHub's dialect as the documents use it, with anchors and with the site's links.

Needs markdown-it (Debian and Ubuntu: python3-markdown-it).
"""
import html
import posixpath
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

EXTERNAL = re.compile(r"^[a-z]+:")


def slug(text, taken):
    """The anchor that a forge gives a heading: small letters, blanks as hyphens, no punctuation; numbered if taken."""
    base = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    anchor, number = base, 0
    while anchor in taken:
        number += 1
        anchor = f"{base}-{number}"
    taken.add(anchor)
    return anchor


def plain(token):
    """The text of an inline token without its marks."""
    return "".join(child.content if child.type in ("text", "code_inline") else " " if child.type == "softbreak" else ""
                   for child in token.children or [])


def code_block(text, language):
    """A block of code; of a console, what is typed stands out."""
    lines = text.rstrip("\n").split("\n")
    if language == "console":
        typed = ((f'<span class="typed">', "</span>"), ("", ""))
        marks = [typed[not line.startswith("$ ")] for line in lines]
        body = "\n".join(before + html.escape(line) + behind for line, (before, behind) in zip(lines, marks))
    else:
        body = "\n".join(highlighted(line, language) for line in lines)
    return f'<pre tabindex="0"><code>{body}</code></pre>\n'


COMMENT = {"python": re.compile(r"(?<!\S)#.*$"), "cpp": re.compile(r"(?<!:)//.*$"), "c": re.compile(r"/\*.*?\*/|//.*$"),
           "": re.compile(r"(?<=\s)#\s.*$|^#.*$")}
COMMENT["toml"] = COMMENT["sh"] = COMMENT["python"]


def highlighted(line, language):
    """A line of code, its comment fainter than the rest."""
    pattern = COMMENT.get(language)
    found = pattern.search(line) if pattern else None
    if not found:
        return html.escape(line)
    before, comment, behind = line[:found.start()], found[0], line[found.end():]
    return f'{html.escape(before)}<span class="comment">{html.escape(comment)}</span>{html.escape(behind)}'


class Section:
    """What stands under a heading: for the search, and for the list of what a page has."""

    def __init__(self, level, title, anchor):
        self.level, self.title, self.anchor, self.words = level, title, anchor, []


class Markdown:
    """A document as HTML. `where` turns a link's path into the site's address, or None where the site has no such page;
    `picture` gives the SVG of an image, and `known` the page of what is named in code, or None."""

    def __init__(self, where, picture, known=lambda code: None):
        self.where, self.picture, self.known = where, picture, known
        self.parser = MarkdownIt("commonmark", {"html": False}).enable("table")

    def render(self, text, name):
        """(HTML, title, sections) of a document; `name` is its path in the project."""
        tokens = self.parser.parse(re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL))
        sections, taken = [Section(0, "", "")], set()
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                title = plain(tokens[i + 1])
                section = Section(int(token.tag[1]), title, slug(title, taken))
                token.attrSet("id", section.anchor)
                sections.append(section)
            elif token.type == "inline":
                self.inline(token, name)
                if tokens[i - 1].type != "heading_open":
                    sections[-1].words.append(plain(token))
            elif token.type in ("fence", "code_block"):
                sections[-1].words.append(token.content)
            elif token.type in ("th_open", "td_open"):
                # A policy of the page forbids style as an attribute.
                style = str(token.attrs.pop("style", ""))
                if style.endswith("right"):
                    token.attrSet("class", "right")
        title = next((section.title for section in sections if section.level == 1), name)
        return self.html_of(tokens), title, sections

    def inline(self, token, name):
        """Puts the site's addresses into links, takes away those without a page in it, and links what is known."""
        closing, children = [], []
        for child in token.children:
            address = self.known(child.content) if child.type == "code_inline" and not closing else None
            children += [child] if address is None else [Token("link_open", "a", 1, {"href": address}), child,
                                                         Token("link_close", "a", -1)]
            if child.type == "link_open":
                target = self.target(str(child.attrGet("href")), name)
                if target is None:
                    child.type, child.tag = "text", ""
                closing.append(target)
                if target is not None:
                    child.attrSet("href", target)
            elif child.type == "link_close" and closing.pop() is None:
                child.type, child.tag = "text", ""
        token.children = children

    def target(self, href, name):
        if EXTERNAL.match(href) or href.startswith("#"):
            return href
        path, _, anchor = href.partition("#")
        found = self.where(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)), anchor)
        return found

    def html_of(self, tokens):
        renderer, out, start = self.parser.renderer, [], 0
        options, environment = self.parser.options, {}

        def flush(end):
            nonlocal start
            out.append(renderer.render(tokens[start:end], options, environment))
            start = end + 1

        for i, token in enumerate(tokens):
            if token.type in ("fence", "code_block"):
                flush(i)
                out.append(code_block(token.content, token.info.split()[0] if token.info.strip() else ""))
            elif token.type == "table_open":
                flush(i)
                out.append('<div class="wide" tabindex="0" role="region" aria-label="Table"><table>\n')
            elif token.type == "table_close":
                flush(i)
                out.append("</table></div>\n")
            elif token.type == "heading_open":
                flush(i)
                anchor = token.attrGet("id")
                out.append(f'<{token.tag} id="{html.escape(str(anchor))}">')
            elif token.type == "inline" and any(child.type == "image" for child in token.children):
                flush(i)
                out.append(self.pictures(token, renderer, options, environment))
        flush(len(tokens))
        return "".join(out)

    def pictures(self, token, renderer, options, environment):
        out = []
        for child in token.children:
            if child.type == "image":
                out.append(self.picture(str(child.attrGet("src")), child.content))
            else:
                out.append(renderer.renderInline([child], options, environment))
        return "".join(out)
