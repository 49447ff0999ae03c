"""The gallery: a page of all entries, and for each a page with its live picture, which `relayout show` writes.

The live picture is a page of its own beside it, shown in a frame: it has its own policy and its own script, and opens
alone as well.
"""
import html
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from markdown import Markdown, Section, code_block
from page import Page


def listed(root):
    """The groups of docs/gallery.toml and the functions that read it."""
    sys.path.insert(0, str(root / "docs"))
    import make_gallery
    if make_gallery.tomllib is None:
        return None, []
    return make_gallery, make_gallery.entries()


HOW = "Point at a cell, or reach it with Tab and the arrows: the same element lights up in the tensor and in memory."
UNSUPPORTED = 5  # the exit status of a command that was built without what it needs, such as the planner of models


def draw(command, entry, folder):
    """Writes the live page and the picture of an entry; whether the command can."""
    for name in ("live.html", "svg"):
        done = subprocess.run([command, "show", *entry["show"], "-f", "-o", folder / f"{entry['id']}.{name}"],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode == UNSUPPORTED:
            print(f"docs: the gallery goes without {entry['id']}: {done.stderr.strip()}", file=sys.stderr)
            return False
        if done.returncode != 0:
            sys.exit(f"docs: {done.stderr.strip()}")
    return True


def has_fields(path):
    """Whether a live page has fields in which layouts are typed, which is so unless the library was built without."""
    return "'wasm-unsafe-eval'" in path.read_text(encoding="utf-8")[:2000]


def prose(text):
    return Markdown(lambda path, anchor: None, lambda source, words: "").render(text, "")[0]


def thread(entry):
    if "asked" not in entry:
        return ""
    return f' <a href="{html.escape(entry["asked"])}">Where it was asked</a>'


def entry_page(entry, before, after, module, command, folder):
    show = module.show_command(entry)
    answer = prose(entry["answer"].strip())
    asked = f"$ {entry['ask']}\n{module.printed(entry['ask'], command)}"
    turns = "".join(f'<a href="{one["id"]}.html">{word}: {html.escape(one["title"])}</a>'
                    for one, word in ((before, "Before"), (after, "Next")) if one)
    live = f"{entry['id']}.live.html"
    fields = " In its fields you can type another layout." if has_fields(folder / live) else ""
    body = (f'<p class="name"><a href="../gallery.html">Gallery</a></p>\n<h1>{html.escape(entry["title"])}</h1>\n'
            f'<p class="question">{html.escape(entry["question"])}{thread(entry)}</p>\n{answer}'
            f'<h2 id="picture">The picture</h2>\n<p>{html.escape(entry.get("how", HOW))}{fields} '
            f'<a href="{live}">The picture alone</a>, larger.</p>\n'
            f'<iframe src="{live}" title="Live picture: {html.escape(entry["title"])}" loading="lazy"></iframe>\n'
            f'<h2 id="ask">Ask the command</h2>\n{code_block(asked, "console")}'
            f'{code_block(f"$ {show} --open", "console")}'
            f'<p class="turns">{turns}</p>\n')
    section = Section(1, entry["title"], "")
    section.words += [entry["question"], entry["answer"], show]
    return Page(f"gallery/{entry['id']}.html", entry["title"], "Gallery", body, [section], weight=1.1, frames=True)


def index_page(groups):
    sections = [Section(1, "Gallery", "")]
    body = ["<h1>Gallery</h1>\n<p>Layouts that people meet, each with a question that they ask. Behind each is the "
            "answer, with a picture that lights up what is pointed at.</p>\n"]
    for number, (title, entries) in enumerate(groups):
        anchor = f"group-{number + 1}"
        sections.append(Section(2, title, anchor))
        body.append(f'<h2 id="{anchor}">{html.escape(title)}</h2>\n<ul class="cards">\n')
        for entry in entries:
            body.append(f'<li><h3><a href="gallery/{entry["id"]}.html">{html.escape(entry["title"])}</a></h3>\n'
                        f"<p>{html.escape(entry['question'])}</p>\n"
                        f'<img src="gallery/{entry["id"]}.svg" alt="" loading="lazy"></li>\n')
        body.append("</ul>\n")
    return Page("gallery.html", "Gallery", "Gallery", "".join(body), sections, frames=True)


def explorer_page(command, out):
    """A page in which any layout can be typed; [] where the library was built without that."""
    live = out / "explorer.live.html"
    subprocess.run([command, "show", "nChw8c", "--dims", "1,17,2,3", "-f", "-o", live], check=True)
    if not has_fields(live):
        live.unlink()
        return []
    body = ("<h1>Type a layout</h1>\n<p>A tag such as <code>nChw8c</code>, strides, or what PyTorch, NumPy, oneDNN and "
            'CuTe print: the <a href="layout-expressions.html">grammar</a> has all forms. The library itself reads it, '
            "in your browser; nothing is sent anywhere. The second button compares it with another layout. "
            f'<a href="{live.name}">The page alone</a>, larger.</p>\n'
            f'<iframe src="{live.name}" title="A layout to type, as a live picture"></iframe>\n')
    section = Section(1, "Type a layout", "")
    section.words.append("explorer playground try in the browser WebAssembly fields")
    return [Page("explorer.html", "Type a layout", "Gallery", body, [section], weight=1.1, frames=True)]


def pages(root, command, out):
    """The pages; the pictures are written into `out`. Without the list's reader there are none, which is said."""
    module, groups = listed(root)
    if module is None:
        print("docs: no gallery: this Python has no tomllib, which came with 3.11", file=sys.stderr)
        return []
    folder = out / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    every = [entry for _, entries in groups for entry in entries]
    with ThreadPoolExecutor() as workers:
        drawn = list(workers.map(lambda entry: draw(command, entry, folder), every))
    every = [entry for entry, there in zip(every, drawn) if there]
    groups = [(title, [entry for entry in entries if entry in every]) for title, entries in groups]
    made = [entry_page(entry, before, after, module, command, folder)
            for before, entry, after in zip([None, *every], every, [*every[1:], None])]
    return [index_page(groups), *explorer_page(command, out), *made]
