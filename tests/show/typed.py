#!/usr/bin/env python3
"""Types layouts into pages of `relayout show`, which the library reads there, compiled to WebAssembly.

    typed.py RELAYOUT

What a page says of a text is compared with what the command says of it, and with formulas that are written out here.
Exit status 77 where there is no browser, or where the library was built without emscripten.
"""
import itertools
import json
import random
import subprocess
import sys

from browser import By, Command, Keys, run_parts, skip
from page import Page, accessible_page, equal, quiet

LINE = ("onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32:p:blocked:aBcd16b:f0,,,"
        "2x17x5x4,0.01")
HEADER = json.dumps({"first": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]},
                     "<b>second</b>": {"dtype": "I8", "shape": [3, 4, 5], "data_offsets": [12, 72]},
                     "third": {"dtype": "X9", "shape": [3], "data_offsets": [72, 75]}})


class Typing(Page):
    """A page with fields."""

    def open(self, *arguments, hash=""):
        super().open(*arguments, hash=hash)
        self.wait_for("typedSides && typedSides.core !== undefined")

    def field(self, side, name="text"):
        number = ["text", "dims", "dtype"].index(name)
        return self.browser.find_elements(By.CSS_SELECTOR, ".typed [role=group]")[side].find_elements(
            By.TAG_NAME, "input")[number]

    def type(self, side, text, name="text", end=Keys.ENTER):
        field = self.field(side, name)
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text + end)

    def heading(self):
        return self.browser.find_element(By.TAG_NAME, "h1").text

    def verdict(self):
        return self.browser.find_element(By.CSS_SELECTOR, ".verdict").text

    def problems(self):
        return [node.text for node in self.browser.find_elements(By.CSS_SELECTOR, ".typed .problem") if node.text]

    def texts(self):
        return self.browser.execute_script("return typedSides.rows.map((row) => row.side.text)")

    def ask(self, sides):
        return self.browser.execute_script("return arguments[0].map((sides) => typedSides.core.ask(sides))", sides)


def side(text, dims="", dtype=""):
    return {"text": text, "dims": dims, "dtype": dtype}


def retyping(page):
    """A text that is typed over another is drawn, by Enter and by a pause; a wrong one is said to be wrong."""
    page.open("nchw", "--dims", "1,3,4,5")
    page.type(0, "nhwc")
    equal(page.heading(), "nhwc 1x3x4x5", "the title")
    page.point(page.cell("tensor", "element n=0 c=2 h=1 w=3: offset 26"))
    equal(page.known()["offset"], str(15 * 1 + 3 * 3 + 2), "an offset")
    page.type(0, "nChw8c", end="")
    page.wait_for("document.querySelector('h1').textContent.startsWith('nChw8c')")
    page.type(0, "2,9,2,2", "dims")
    page.type(0, "f16", "dtype")
    page.point(page.cell("tensor", "element n=1 c=8 h=1 w=1: offset 120"))
    equal(page.known()["byte"], "240 to 241", "bytes")
    page.type(0, "nChv8c")
    assert page.problems()[0].startswith("layout: letter 'v' names no dim of any domain"), page.problems()
    equal(page.field(0).get_attribute("aria-invalid"), "true", "the field")
    equal(page.heading(), "nChw8c 2x9x2x2", "what stays")
    page.type(0, "nchw")
    equal(page.problems(), [], "nothing is wrong any more")
    page.type(0, "torch (1,64,5,4) strides (1280,1,256,64)")
    equal(page.field(0, "dims").get_attribute("value"), "1,64,5,4", "dims that the text says")
    equal(page.heading(), "strides:1280,1,256,64 1x64x5x4", "an array of PyTorch")
    page.type(0, "ggml:q4_0")
    page.type(0, "1,64", "dims")
    equal(len(page.browser.find_elements(By.CSS_SELECTOR, "[aria-label^='offset 0: d element']")), 1, "a record")


def comparing(page):
    """Spellings of one function in the words of several systems are the same; others part where they do."""
    page.open("nchw", "--dims", "2,32,3,4")
    page.button("Compare with another layout").click()
    for one, other in itertools.combinations(
            ("nChw16c", "tvm:NCHW16c", "digits:(2,384)|(16,1)(2,192)|(3,64)|(4,16)", "aBcd16b",
             "cute:(2,(16,2),3,4):(384,(1,192),64,16)", "src_f32::blocked:aBcd16b:f0 2x32x3x4"), 2):
        page.type(0, one)
        page.type(1, other)
        assert "are the same function: each of 768 elements" in page.verdict(), (one, other, page.verdict())
    page.type(0, "nchw")
    page.type(1, "numpy (2,32,3,4) strides (1536,4,512,128) float32")
    words = page.verdict()
    assert "part at index (0,0,0,1): 1 in nchw, 32 in strides:384,1,128,32; 764 of 768" in words, words
    page.button("Show where they part").click()
    equal(page.known()["index"], "n=0 c=0 h=0 w=1", "where they part")
    page.type(1, "nhw")
    equal(len(page.problems()), 1, "the second side is wrong")
    page.button("Remove the second layout").click()
    equal(page.heading(), "nchw 2x32x3x4", "without the second side")
    equal(page.browser.find_elements(By.CSS_SELECTOR, ".verdict"), [], "the comparison")
    page.browser.back()
    page.wait_for("document.querySelector('.verdict') !== null")
    equal(len(page.texts()), 2, "fields after back")


def address(page):
    """A link has what was typed, and the back button takes it back."""
    page.open("nchw", "--dims", "1,3,4,5")
    page.type(0, "nhwc")
    page.type(0, "chwn")
    typed = page.browser.current_url
    page.browser.back()
    page.wait_for("document.querySelector('h1').textContent.startsWith('nhwc')")
    equal(page.texts(), ["nhwc"], "the field after back")
    page.browser.back()
    page.wait_for("document.querySelector('h1').textContent.startsWith('nchw')")
    page.browser.forward()
    page.browser.forward()
    page.wait_for("document.querySelector('h1').textContent.startsWith('chwn')")
    equal(page.browser.current_url, typed, "the address")
    page.open("ab", "--dims", "2,3", hash="#text1=nchw&dims1=1,2,2,2&text2=nhwc&index=0,1,1,0")
    page.wait_for("document.querySelector('.verdict') !== null")
    equal(page.known()["offset in nchw"], "6", "from a link")
    page.open("--from", "nchw", "--to", "nhwc", "--dims", "1,3,4,5")
    page.type(1, "chwn")
    page.wait_for("scene.reorder === undefined")
    page.browser.back()
    page.wait_for("scene.reorder !== undefined")  # the plan that the page was opened with
    page.open("ab", "--dims", "2,3", hash="#text1=<img>&dims1=x")
    page.wait_for("document.querySelector('.typed .problem').textContent !== ''")
    equal(page.heading(), "ab 2x3", "a link with no layout")


def choosing(page):
    """Of a text with several tensors one is chosen, or two are compared."""
    page.open("nchw", "--dims", "1,3,4,5")
    page.type(0, LINE)
    options = [node.text for node in page.browser.find_elements(By.CSS_SELECTOR, ".typed option")]
    equal(options[1:], ["src: abcd 2x17x5x4 f32", "dst: aBcd16b 2x17x5x4 f32"], "tensors of a line")
    page.button("Compare src with dst").click()
    equal(page.texts(), ["abcd", "aBcd16b"], "both sides")
    assert page.verdict().startswith("abcd and aBcd16b part at index (0,0,0,1)"), page.verdict()
    page.button("Remove the second layout").click()
    page.type(0, "dst of " + LINE)
    equal(page.heading(), "aBcd16b 2x17x5x4", "a tensor by its name")
    page.type(0, HEADER)
    page.browser.find_elements(By.CSS_SELECTOR, ".typed option")[2].click()
    equal(page.heading(), "contiguous 3x4x5", "a tensor of a file")
    equal(page.field(0, "dtype").get_attribute("value"), "s8", "its type")


def opening(page):
    """Without a layout a page has an example; no page is large, or wider than its window."""
    page.open()
    assert page.verdict().startswith("nchw and nChw8c part"), page.verdict()
    assert (page.command.folder / "page.html").stat().st_size < 1 << 20, "a page of a megabyte"
    for width in (360, 1280):
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
        for text in (LINE, "nChv8c", "a" * 4000, HEADER):
            page.type(0, text)
            wide = page.browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{text[:40]} at {width} pixels is {wide} wide"
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def hostile(page):
    """What is typed is only ever text."""
    page.open("ab", "--dims", "2,3")
    page.button("Compare with another layout").click()
    before = page.browser.execute_script("return document.querySelectorAll('script').length")
    for text in ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "torch (2,3) <b>x</b>",
                 "\u202e\u0000a", HEADER, '{"<img src=x>":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}}',
                 "ab\\", "%s%n", "a" * 100000, "cute:" + "(" * 4000, "digits:" + "(2,9223372036854775807)" * 12,
                 "strides:4503599627370496,9007199254740992"):
        for at in (0, 1):
            page.browser.execute_script("typedSides.rows[arguments[1]].fields.text.value = arguments[0];"
                                        "typedSides.onInput(true);", text, at)
            found = page.browser.find_elements(By.CSS_SELECTOR, "img, iframe, object, b, [onerror]")
            equal(found, [], f"elements of {text[:40]}")
            page.browser.execute_script("typedSides.rows[arguments[0]].fields.text.value = 'ab';", at)
    equal(page.browser.execute_script("return document.querySelectorAll('script').length"), before, "scripts")
    page.type(0, "ba")
    equal(page.heading(), "ba and ab 2x3", "it still reads")


class Random:
    """Layouts in the words of several systems."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def dims(self):
        return [self.random.choice((1, 2, 3, 4, 5, 7, 8, 17)) for _ in range(self.random.randint(1, 4))]

    def layout(self, dims):
        rank, pick = len(dims), self.random.choice
        order = self.random.sample(range(rank), rank)
        strides = [0] * rank
        step = 1
        for d in reversed(order):
            strides[d] = step
            step *= dims[d]
        comma = ",".join
        texts = {
            "tag": self.tag(order),
            "strides": "strides:" + comma(str(self.random.randint(-30, 90)) for _ in dims),
            "broadcast": "strides:" + comma(str(pick((0, stride))) for stride in strides),
            "torch": f"torch ({comma(map(str, dims))},) strides ({comma(map(str, strides))},)",
            "numpy": f"numpy {dims} {[8 * stride for stride in strides]} float64",
            "onednn": f"src_f32::blocked:{''.join('abcd'[d] for d in order)}:f0 {'x'.join(map(str, dims))}",
            "cute": f"cute:({comma(map(str, dims))}):({comma(map(str, strides))})",
            "xla": f"xla:{{{comma(str(d) for d in reversed(order))}:T({pick((2, 4))},{pick((2, 8))})}}",
            "digits": "digits:" + "|".join(f"({n},{s})" for n, s in zip(dims, strides)) + pick(("", "@3")),
            "view": f"{''.join('abcd'[d] for d in order)}.flip({self.random.randrange(rank)})",
            "swizzle": self.tag(order) + ";swizzle=2,1,2",
            "wrong": self.tag(order)[:-1] + pick("vz9,(") + pick(("", "x", "4a")),
        }
        return texts[pick(list(texts))]

    def tag(self, order):
        blocked = self.random.choice([None, *order])
        letters = "".join("abcd"[d].upper() if d == blocked else "abcd"[d] for d in order)
        return letters + (f"{self.random.choice((2, 4, 16))}{'abcd'[blocked]}" if blocked is not None else "")


def as_the_command(page):
    """Random pairs: a page has the command's very JSON, comparison included, or its words of what is wrong."""
    page.open("ab", "--dims", "2,3")
    made = Random(20)
    pairs = []
    while len(pairs) < 300:
        dims = made.dims()
        pairs.append((made.layout(dims), made.layout(dims), ",".join(map(str, dims))))
    answers = page.ask([[side(a, dims, "f32"), side(b, dims, "f32")] for a, b, dims in pairs])
    same = parted = refused = 0
    for (a, b, dims), answer in zip(pairs, answers):
        # A type that a text says goes before what stands in the field; the command takes none besides.
        done = subprocess.run([page.command.program, "show", "--from", a, "--to", b, "--dims", dims, "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = json.loads(done.stderr)["error"]["message"]
            equal(answer.get("problem"), words, f"{a} and {b} of {dims}")
            refused += 1
            continue
        known, found = json.loads(done.stdout), answer.get("scene")
        assert found, f"{a} and {b} of {dims}: {answer}"
        known.pop("typed")
        known.pop("reorder", None)  # plans are made by the command alone
        found.pop("typed")
        equal(found, known, f"{a} and {b} of {dims}")
        same += known["comparison"]["index"] is None
        parted += known["comparison"]["index"] is not None
    print(f"{same} pairs are the same, {parted} part, {refused} are refused")
    assert same >= 5 and parted >= 100 and refused >= 20, "too few of one kind"


def accessible(page):
    page.open("nchw", "--dims", "1,3,2,2")
    page.button("Compare with another layout").click()
    page.type(1, LINE)
    for text in ("nChv8c", "nhwc"):
        page.type(0, text)
        accessible_page(page, text)


def main():
    command = Command(sys.argv[1])
    page = (command.page("page.html", "ab", "--dims", "2,3"), command.folder / "page.html")[1]
    if 'id="core"' not in page.read_text(encoding="utf-8"):
        command.remove()
        skip("pages have no fields in this build (Debian: emscripten)")
    run_parts(command, Typing, (retyping, comparing, address, choosing, opening, hostile, as_the_command, accessible,
                                quiet))


if __name__ == "__main__":
    main()
