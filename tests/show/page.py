#!/usr/bin/env python3
"""Uses pages of `relayout show` as people do: points, clicks, types and goes back in Chromium, by Selenium.

    page.py RELAYOUT

What the page says is compared with formulas that are written out here. Where axe-core is there (from PyPI's package
axe-playwright-python, in build/show), no page may have a fault that it calls serious. Exit status 77 where there is no
browser.
"""
import itertools
import json
import struct
import sys
from pathlib import Path

from browser import ActionChains, By, Command, Keys, run_parts

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)<_script>.npy"


class Page:
    def __init__(self, browser, command):
        self.browser, self.command = browser, command

    def open(self, *arguments, hash=""):
        self.browser.get("about:blank")
        self.browser.get(self.command.page("page.html", *arguments) + hash)

    def cell(self, pane, label):
        return self.browser.find_element(By.CSS_SELECTOR, f'.{pane} [role=gridcell][aria-label="{label}"]')

    def point(self, node):
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
        ActionChains(self.browser).move_to_element(node).perform()

    def known(self):
        """What the inspector says, by name; of two sides the first."""
        pairs = self.browser.execute_script(
            "return [...document.querySelectorAll('.inspector dt')].map((name) => [name.textContent, "
            "[...name.nextElementSibling.children].map((line) => line.textContent).join('\\n')]);")
        return dict(reversed(pairs))

    def wait_for(self, condition):
        """Asks again and again, at most some seconds, whether something has become true."""
        for _ in range(200):
            if self.browser.execute_script(f"return {condition}"):
                return
            self.browser.execute_async_script("setTimeout(arguments[0], 20)")
        raise AssertionError(f"never came true: {condition}")

    def lit(self, pane):
        return [node.get_attribute("aria-label")
                for node in self.browser.find_elements(By.CSS_SELECTOR, f".{pane} [role=gridcell].on")]

    def button(self, words):
        return self.browser.find_element(By.XPATH, f"//button[text()='{words}']")


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r}, not {expected!r}"


def pointing(page):
    """Either side lights up the other, and the formula has the numbers."""
    page.open("nChw8c", "--dims", "2,17,5,4")
    for n, c, h, w in ((0, 0, 0, 0), (0, 16, 2, 3), (1, 9, 4, 1)):
        offset = 480 * n + 160 * (c // 8) + 32 * h + 8 * w + c % 8
        words = f"n={n} c={c} h={h} w={w}"
        in_tensor, in_memory = f"element {words}: offset {offset}", f"offset {offset}: element {words}"
        for pane, label in (("tensor", in_tensor), ("memory", in_memory)):
            page.point(page.cell(pane, label))
            known = page.known()
            equal(known["index"], words, label)
            equal(known["offset"], str(offset), label)
            equal(known["byte"], f"{4 * offset} to {4 * offset + 3}", label)
            equal(known["formula"].split("\n"),
                  ["480*n + 160*(c/8) + 32*h + 8*w + c%8",
                   f"= 480*{n} + 160*({c}/8) + 32*{h} + 8*{w} + {c}%8",
                   f"= {480 * n} + {160 * (c // 8)} + {32 * h} + {8 * w} + {c % 8}", f"= {offset}"], label)
            equal(page.lit("tensor"), [in_tensor], label)
            equal(page.lit("memory"), [in_memory], label)
    page.point(page.cell("memory", "offset 327: padding n=0 c=23 h=0 w=0"))
    equal(page.known()["index"], "n=0 c=23 h=0 w=0, in the padding", "padding")
    page.open("strides:8,1", "--dims", "2,3")
    page.point(page.cell("memory", "cell 5: a gap, which no index has"))
    equal(page.known()["holds"], "nothing: a gap, which no index has", "gap")
    page.open("strides:0,1", "--dims", "3,4")
    page.point(page.cell("memory", "offset 2: element a=0 b=2"))
    equal(len(page.browser.find_elements(By.CSS_SELECTOR, ".tensor .same, .tensor .on")), 3, "joined cells")


def other_memories(page):
    """Images have texels, swizzled tiles banks, records fields and packed bits."""
    page.open("mace:in_out_channel", "--dims", "1,6,5,3")
    page.point(page.cell("tensor", "element n=0 c=5 h=4 w=2: offset 117"))
    equal(page.known()["texel"], "x 5, y 4, lane 1 (G)", "texel")
    page.open("ab;swizzle=3,3,3", "--dims", "64,64", "--dtype", "f16")
    offset = (64 * 3 + 9) ^ (((64 * 3 + 9) >> 3) & 0b111000)
    page.point(page.cell("tensor", f"element a=3 b=9: offset {offset}"))
    equal(page.known()["bank"], str(2 * offset // 4 % 32), "bank")
    page.open("ggml:q4_0", "--dims", "2,64")
    page.point(page.cell("memory", "offset 42: q element a=0 b=33"))
    equal(page.known()["field"], "q, u4", "field")
    equal(page.known()["byte"], "21, from bit 0", "bits")


def address(page):
    """A click is kept in the address, and the back button takes it back."""
    page.open("nhwc", "--dims", "1,3,4,5")
    page.cell("tensor", "element n=0 c=1 h=2 w=3: offset 40").click()
    assert page.browser.current_url.endswith("#index=0%2C1%2C2%2C3"), page.browser.current_url
    page.cell("memory", "offset 7: element n=0 c=1 h=0 w=2").click()
    page.point(page.browser.find_element(By.TAG_NAME, "h1"))  # what is pointed at goes before what is kept
    page.browser.back()
    page.wait_for("state.index.join() === '0,1,2,3'")
    equal(page.known()["offset"], "40", "after back")
    page.browser.forward()
    page.wait_for("state.index.join() === '0,1,0,2'")
    equal(page.known()["offset"], "7", "after forward")
    page.open("nhwc", "--dims", "1,3,4,5", hash="#index=0,2,3,4&colour=line&order=whcn")
    equal(page.known()["offset"], str(15 * 3 + 3 * 4 + 2), "from the address")
    equal(page.browser.find_element(By.CSS_SELECTOR, "input[list]").get_attribute("value"), "whcn", "order")
    page.open("nhwc", "--dims", "1,3,4,5", hash="#index=9,9,9,9&colour=<b>&order=zz&step=1e9&cache=-1")
    equal(page.lit("tensor"), [], "an address of another page")


def keys(page):
    page.open("nchw", "--dims", "1,3,4,5")
    cell = page.cell("tensor", "element n=0 c=0 h=0 w=0: offset 0")
    cell.click()
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.PAGE_DOWN):
        page.browser.switch_to.active_element.send_keys(key)
    equal(page.known()["index"], "n=0 c=1 h=1 w=1", "arrows and Page Down")
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert "index=0%2C1%2C1%2C1" in page.browser.current_url
    memory = page.cell("memory", "offset 26: element n=0 c=1 h=1 w=1")
    memory.send_keys(Keys.ARROW_RIGHT)
    equal(page.known()["offset"], "27", "an arrow in memory")


def walking(page):
    """Steps visit the loop nest's order, and the table counts lines and pages."""
    page.open("nchw", "--dims", "2,3,2,40", "--dtype", "f64")
    field = page.browser.find_element(By.CSS_SELECTOR, "input[list]")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("whcn" + Keys.ENTER)
    lines = set()
    for step, (w, h, c, n) in zip(range(25), itertools.product(range(40), range(2), range(3), range(2))):
        page.button("Step").click()
        offset = 240 * n + 80 * c + 40 * h + w
        lines.add(8 * offset // 64)
        equal(page.known()["index"], f"n={n} c={c} h={h} w={w}", f"step {step}")
        rows = page.browser.find_elements(By.CSS_SELECTOR, ".counts tr")
        counts = [cell.text for cell in rows[1].find_elements(By.TAG_NAME, "td")]
        equal(counts[:2], [str(step + 1), str(len(lines))], "lines")
    page.button("Play").click()
    page.browser.execute_async_script("setTimeout(arguments[0], 700)")
    page.button("Pause").click()
    assert int(page.browser.execute_script("return state.step")) > 24, "play goes on"
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("wh" + Keys.ENTER)
    row = page.browser.find_elements(By.CSS_SELECTOR, ".counts tr")[2]
    equal([cell.text for cell in row.find_elements(By.TAG_NAME, "td")[:2]], ["80", "10"], "one plane: elements, lines")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("nchn" + Keys.ENTER)
    assert "letters of nchw, each at most once" in page.browser.find_element(By.CSS_SELECTOR, ".walk .problem").text


def misses(page):
    """A cache of 1 KiB, 16 lines: columns of a matrix of 32 rows miss at each element, rows at each line."""
    for order, expected in (("ab", 32 * 4), ("ba", 32 * 64)):
        page.open("ab", "--dims", "32,64", hash=f"#cache=1&order={order}")
        row = page.browser.find_elements(By.CSS_SELECTOR, ".counts tr")[2]
        equal(row.find_elements(By.TAG_NAME, "td")[3].text, str(expected), f"misses of {order}")


def comparing(page):
    page.open("--from", "nchw", "--to", "nhwc", "--dims", "1,3,4,5")
    words = page.browser.find_element(By.CSS_SELECTOR, ".verdict").text
    assert words.startswith("nchw and nhwc part at index (0,0,0,1): 1 in nchw, 3 in nhwc; 58 of 60"), words
    page.button("Show where they part").click()
    equal(page.known()["index"], "n=0 c=0 h=0 w=1", "where they part")
    equal(len(page.lit("memory")), 2, "both sides")
    page.open("--from", "tvm:NCHW4c", "--to", "nChw4c", "--dims", "1,6,2,3")
    assert "are the same function" in page.browser.find_element(By.CSS_SELECTOR, ".verdict").text


def explaining(page):
    """The plan's words in the page are those that the command prints, and all plans stand below with =all."""
    arguments = ("--from", "nchw", "--to", "nhwc", "--dims", "1,3,4,5")
    page.open(*arguments, "--explain=all")
    printed = page.command.run("show", *arguments, "--explain=all").split("\nReorder\n")[1]
    nest = page.browser.execute_script("return document.querySelector('.reorder .nest').textContent")
    spaced = " ".join(printed.split())
    for line in nest.strip().split("\n"):
        assert " ".join(line.split("   now ")[0].split()) in spaced, line
    plans = page.browser.execute_script("return document.querySelector('pre[aria-label^=Plans]').textContent")
    equal(printed.split("chosen from\n")[1].strip(), plans.strip(), "the plans")


def npy(values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values)


def hostile(page):
    """A file's name is text, and its values too."""
    (page.command.folder / HOSTILE).write_bytes(npy([1.5, float("nan"), -2]))
    page.open(HOSTILE, "--from", "a")
    assert page.browser.find_element(By.TAG_NAME, "h1").text.startswith("<img src=x"), "the name is shown"
    equal(page.browser.find_elements(By.CSS_SELECTOR, "img, iframe, object, [onerror]"), [], "elements of a name")
    known = 2 + len(page.browser.find_elements(By.CSS_SELECTOR, "script#core"))
    equal(len(page.browser.find_elements(By.TAG_NAME, "script")), known, "scripts")
    page.point(page.cell("tensor", "element a=0: offset 0"))
    equal(page.known()["value"], "1.5", "a value")


def fits(page):
    """No page is wider than its window, down to 360 pixels."""
    for arguments in (("nChw16c", "--dims", "2,17,5,4"), ("mace:in_out_channel", "--dims", "1,9,5,33"),
                      ("--from", "nchw", "--to", "nhwc", "--dims", "1,3,4,5"), ("ggml:q4_0", "--dims", "2,64"),
                      ("abcdefghijkl", "--dims", "2,1,2,1,2,1,2,1,2,1,2,2"), ("nchw", "--dims", "32,64,56,56")):
        for width in (360, 1280):
            page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
            page.open(*arguments)
            wide = page.browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{arguments} at {width} pixels is {wide} wide"
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def accessible_page(page, what):
    """axe-core's serious faults in the page as it stands; says so where axe-core is not there."""
    scripts = sorted((ROOT / "build/show").glob("lib/python*/site-packages/axe_playwright_python/axe.min.js"))
    if not scripts:
        print("axe-core is not there: accessibility is not checked")
        return
    page.browser.execute_script(scripts[-1].read_text(encoding="utf-8"))
    found = page.browser.execute_async_script("axe.run().then(arguments[0])")
    assert len(found["passes"]) > 10, "axe-core looked at nothing"
    faults = [f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html'][:120]}"
              for fault in found["violations"] if fault["impact"] in ("serious", "critical")]
    equal(faults, [], what)


def accessible(page):
    """Light and dark."""
    for scheme in ("light", "dark"):
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        for arguments in (("nChw8c", "--dims", "1,9,2,2"), ("--from", "ab", "--to", "ba", "--dims", "3,2")):
            page.open(*arguments, hash="#step=3")
            accessible_page(page, f"{scheme}, {arguments}")


def quiet(page):
    """Nothing was logged as an error, and nothing was asked for but the pages themselves."""
    equal([entry["message"] for entry in page.browser.get_log("browser")], [], "the console")
    for entry in page.browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            address = message["params"]["request"]["url"]
            assert address.startswith((page.command.folder.as_uri(), "data:", "about:")), f"a request: {address}"


def main():
    command = Command(sys.argv[1])
    run_parts(command, Page, (pointing, other_memories, address, keys, walking, misses, comparing, explaining,
                              hostile, fits, accessible, quiet))


if __name__ == "__main__":
    main()
