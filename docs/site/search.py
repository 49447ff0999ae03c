"""The search's index: a script that sets relayoutIndex to [pages, sections, words].

pages      [address, title, kind, weight]
sections   [number of its page, anchor, heading, first words], one for each heading
words      a line for each word of the texts: the word, and the numbers of the sections that have it, each as its
           distance from the one before, in base 36
"""
import json
import re
import textwrap
from collections import defaultdict

WORD = re.compile(r"\w+")
FIRST_LETTERS = 140
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number):
    out = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        out = DIGITS[digit] + out
    return DIGITS[number] + out


def index(pages):
    listed = [page for page in pages if page.listed]
    sections, words = [], defaultdict(list)
    for number, page in enumerate(listed):
        first = True
        for section in page.sections:
            text = " ".join(section.words)
            # What stands before the first heading, and under the title, is the page itself.
            whole = section.level < 2 and first
            if not text.strip() and (section.level == 0 or not section.title):
                continue
            first = first and not whole
            for word in set(WORD.findall(text.lower())):
                if len(word) <= 40:
                    words[word].append(len(sections))
            shown = textwrap.shorten(text, FIRST_LETTERS, placeholder=" ...")
            sections.append([number, "" if whole else section.anchor, section.title, shown])
    lines = []
    for word in sorted(words):
        last, steps = 0, []
        for at in words[word]:
            steps.append(base36(at - last))
            last = at
        lines.append(" ".join([word, *steps]))
    table = [[[page.address, page.title, page.kind, page.weight] for page in listed], sections, "\n".join(lines)]
    return "globalThis.relayoutIndex = " + json.dumps(table, ensure_ascii=False, separators=(",", ":")) + ";\n"
