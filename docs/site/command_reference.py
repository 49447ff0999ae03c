"""The reference of the command: a page for each verb, from what `relayout help` says."""
import html
import json
import subprocess

from markdown import Section, code_block
from page import Page


def texts(command):
    done = subprocess.run([command, "help", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def file_of(verb):
    """There is a verb `index`, whose page is not the folder's."""
    return f"relayout-{verb.replace(' ', '-')}.html"


def anchor_of(option):
    return next((name for name in option["names"] if name.startswith("--")), option["names"][0]).lstrip("-")


def usage(command, verb):
    """The line of usage, as the command prints it."""
    words = [] if verb == "relayout" else verb.split()
    done = subprocess.run([command, "help", *words], check=True, capture_output=True, text=True)
    return next(line for line in done.stdout.splitlines() if line.startswith("Usage: ")).removeprefix("Usage: ")


def option_row(option, sections):
    anchor = anchor_of(option)
    typed = option["type"] and option["names"][0].startswith("-")
    name = ", ".join(option["names"]) + (" " + option["type"] if typed else "")
    section = Section(3, ", ".join(option["names"]), anchor)
    section.words.append(option["help"])
    sections.append(section)
    needed = " Needed." if option["required"] else ""
    values = f" One of {', '.join(option['values'])}." if option["values"] else ""
    said = option["help"] + ("" if option["help"].endswith(".") else ".") + values + needed
    return f'<dt id="{html.escape(anchor)}"><code>{html.escape(name)}</code></dt>\n<dd>{html.escape(said)}</dd>\n'


def notes(text):
    """What stands behind the options: blocks under titles such as "Examples:", and other lines as they are."""
    out = []
    for block in text.split("\n\n") if text else []:
        lines = block.split("\n")
        if lines[0].endswith(":") and len(lines) > 1:
            anchor = lines[0].rstrip(":").lower().replace(" ", "-")
            out.append(f'<h2 id="{html.escape(anchor)}">{html.escape(lines[0].rstrip(":"))}</h2>\n')
            lines = lines[1:]
        least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        out.append(code_block("\n".join(line[least:] for line in lines), ""))
    return "".join(out)


def verb_page(command, verb):
    name = verb["name"]
    title = name if name == "relayout" else f"relayout {name}"
    sections = [Section(1, title, "")]
    sections[0].words += [verb["description"], verb["notes"]]
    arguments = [option for option in verb["options"] if not option["names"][0].startswith("-")]
    options = [option for option in verb["options"] if option["names"][0].startswith("-")]
    body = [f"<h1>{html.escape(title)}</h1>\n<p>{html.escape(verb['description'])}.</p>\n",
            code_block(usage(command, name), "")]
    for heading, listed in (("Arguments", arguments), ("Options", options)):
        if listed:
            rows = "".join(option_row(option, sections) for option in listed)
            body.append(f'<h2 id="{heading.lower()}">{heading}</h2>\n<dl>\n{rows}</dl>\n')
    body.append(notes(verb["notes"]))
    return Page("command/" + file_of(name), title, "Command", "".join(body), sections, weight=1.1)


def index_page(verbs):
    """All verbs, and what is said of the whole command."""
    whole, rest = verbs[0], verbs[1:]
    sections = [Section(1, "The command", "")]
    sections[0].words += [whole["description"], whole["notes"]]
    rows = "".join(f'<dt><a href="{file_of(verb["name"])}"><code>relayout {html.escape(verb["name"])}</code></a></dt>\n'
                   f'<dd>{html.escape(verb["description"])}.</dd>\n' for verb in rest)
    body = (f"<h1>The command</h1>\n<p>{html.escape(whole['description'])}</p>\n<dl>\n{rows}</dl>\n"
            f'<h2 id="of-the-whole-command">Of the whole command</h2>\n<dl>\n'
            + "".join(option_row(option, sections) for option in whole["options"]) + f"</dl>\n{notes(whole['notes'])}"
            "<p>These pages are what <code>relayout help</code> says; an installed command has them as a manual page, "
            "<code>man relayout</code>, and completes its verbs and flags in bash, zsh and fish.</p>\n")
    return Page("command/index.html", "The command", "Command", body, sections)


def pages(command):
    verbs = texts(command)
    return [index_page(verbs)] + [verb_page(command, verb) for verb in verbs[1:]]
