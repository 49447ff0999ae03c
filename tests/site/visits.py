#!/usr/bin/env python3
"""Visits the site as people do, in Chromium: from disk, wide and narrow, light and dark, with pointer and keys.

    visits.py SITE

No page may ask for anything but its own files, complain, or be wider than the window. Where axe-core is there (from
PyPI's package axe-playwright-python, in build/show), no page may have a fault that it calls serious. Exit status 77
where there is no browser.
"""
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/show"))
sys.dont_write_bytecode = True
from browser import ActionChains, By, Keys, start  # noqa: E402 - found by the path above

# One page of each kind.
KINDS = ("index.html", "tutorial.html", "gallery.html", "gallery/nchw16c.html", "interop.html",
         "layout-expressions.html", "performance.html", "lab/index.html", "lab/solver.html", "changelog.html",
         "cpp/index.html", "cpp/core-layout.html", "cpp/relayout_c.html", "python-api/index.html",
         "python-api/relayout.html", "command/index.html", "command/relayout-convert.html",
         "source/examples/interop.cc.html")
# What axe-core looks at, which takes it a second a page, and of these what it looks at in the dark as well.
LOOKED_AT = ("index.html", "gallery.html", "gallery/nchw16c.html", "tutorial.html", "lab/solver.html",
             "cpp/core-layout.html", "command/relayout-convert.html")
IN_THE_DARK = LOOKED_AT[-4:]
WIDTHS = (1280, 360)
WAIT_SECONDS = 20


class Visitor:
    def __init__(self, browser, site):
        self.browser, self.site, self.faults = browser, site, []
        found = sorted((ROOT / "build/show").glob("lib/*/site-packages/axe_playwright_python/axe.min.js"))
        self.axe = found[0] if found else None

    def open(self, page):
        self.page = page
        self.browser.get((self.site / page).as_uri())

    def window(self, width, theme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def fault(self, what):
        self.faults.append(f"{self.page}: {what}")

    def until(self, what, question):
        """Waits for an answer that is true; a page has as long as a busy machine needs."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            found = question()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"{self.page}: {what} did not come")

    def text(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def check_quiet(self):
        """What the browser logged since the last call: complaints, and requests that leave the site."""
        for entry in self.browser.get_log("browser"):
            self.fault(f"the browser says: {entry['message']}")
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked = message["params"]["request"]["url"]
                if not asked.startswith((self.site.as_uri(), "data:", "about:")):
                    self.fault(f"asks for {asked}")

    def check_width(self, width):
        wide = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            self.fault(f"at {width} pixels it is {wide} pixels wider than the window")

    def check_axe(self, theme):
        if self.axe is None:
            return
        self.browser.execute_script(self.axe.read_text(encoding="utf-8"))
        # In the dark only colours are others.
        rules = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
        found = self.browser.execute_async_script(
            "const [rules, done] = arguments;"
            "axe.run({exclude: ['.picture svg']}, {...rules, iframes: false, resultTypes: ['violations']})"
            ".then((all) => done(all.violations.map((v) => [v.id, v.impact, v.nodes[0].html])));", rules)
        for rule, impact, node in found:
            if impact in ("serious", "critical"):
                self.fault(f"{theme}: axe says {impact}: {rule}: {node[:120]}")


def visit_all(visitor):
    """Each kind of page, in light and dark, wide and narrow."""
    for theme in ("light", "dark"):
        for width in WIDTHS:
            visitor.window(width, theme)
            for page in KINDS:
                visitor.open(page)
                visitor.check_width(width)
                if width == WIDTHS[0] and page in (LOOKED_AT if theme == "light" else IN_THE_DARK):
                    visitor.check_axe(theme)
    visitor.check_quiet()


def search(visitor):
    """The slash opens the search; the arrows and Enter lead to what is found."""
    visitor.window(1280, "light")
    browser = visitor.browser
    for page, words, wanted in (("index.html", "cache lines walk", "show.html"),
                                ("cpp/core-layout.html", "offset_range", "cpp/core-layout.html#Layout::offset_range"),
                                ("lab/solver.html", "--padding", "command/relayout-check.html#padding"),
                                ("command/index.html", "nc4hw4", "gallery/nc4hw4.html"),
                                ("index.html", "bind format", "cpp/core-format.html")):
        visitor.open(page)
        browser.find_element(By.TAG_NAME, "body").send_keys("/")
        visitor.until("the search", lambda: browser.find_element(By.TAG_NAME, "dialog").is_displayed())
        field = browser.switch_to.active_element
        assert field.tag_name == "input", f"{page}: the field is not the active element"
        field.send_keys(words)
        links = visitor.until(f"what {words!r} finds", lambda: browser.find_elements(By.CSS_SELECTOR, ".found a"))
        addresses = browser.execute_script("return [...document.querySelectorAll('.found a')].map((a) => a.href)")
        file, _, anchor = wanted.partition("#")
        place = next((i for i, one in enumerate(addresses)
                      if one.startswith((visitor.site / file).as_uri()) and one.endswith(anchor)), None)
        assert place is not None and place < 5, f"{words!r} finds {addresses[:5]}, not {wanted}"
        for _ in range(place + 1):
            browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        assert browser.switch_to.active_element == links[place], "the arrows do not go through what is found"
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        visitor.until("the page that was found", lambda: browser.current_url == addresses[place])
    visitor.open("index.html")
    browser.find_element(By.ID, "search-open").click()
    field = browser.switch_to.active_element
    field.send_keys("<img src=x onerror=alert(1)>")
    visitor.until("an answer", lambda: visitor.text(".status"))
    field.clear()
    field.send_keys("xyzzyplugh")
    visitor.until("no answer", lambda: visitor.text(".status") == "Nothing is found.")
    field.send_keys(Keys.ESCAPE)
    assert not browser.find_element(By.TAG_NAME, "dialog").is_displayed(), "Escape does not close the search"
    visitor.check_quiet()


def point(visitor):
    """The picture in a page of the gallery lights up what is pointed at, on both sides."""
    browser = visitor.browser
    visitor.window(1280, "light")
    visitor.open("gallery/nchw16c.html")
    frame = browser.find_element(By.TAG_NAME, "iframe")
    browser.execute_script("arguments[0].scrollIntoView()", frame)
    browser.switch_to.frame(frame)
    cell = visitor.until("a cell", lambda: browser.find_elements(
        By.CSS_SELECTOR, '.tensor [role=gridcell][aria-label^="element n=0 c=5 h=0 w=1"],'
                         '.tensor [role=gridcell][aria-label*="(0,5,0,1)"]'))[0]
    ActionChains(browser).move_to_element(cell).perform()
    lit = visitor.until("the element in memory", lambda: browser.find_elements(By.CSS_SELECTOR, ".memory .cell.on"))
    assert len(lit) == 1 and "21" in lit[0].get_attribute("aria-label"), "another element of memory lights up"
    browser.switch_to.default_content()
    visitor.check_quiet()


def every_live_page(visitor):
    """The live picture of every entry draws its cells, or the nodes of a model, and says nothing."""
    paths = sorted((visitor.site / "gallery").glob("*.live.html"))
    assert len(paths) >= 40, f"the gallery has {len(paths)} live pictures"
    for path in paths:
        visitor.open(path.relative_to(visitor.site).as_posix())
        visitor.until("its cells", lambda: visitor.browser.execute_script(
            "const count = (what) => document.querySelectorAll(what).length;"
            "return count('.tensor [role=gridcell]') > 0 && count('.memory [role=gridcell]') > 0"
            " || count('[role=application] svg text') > 5"))
        visitor.check_quiet()


def type_a_layout(visitor):
    """The page of the explorer draws what is typed; it is there where the library was built with WebAssembly."""
    browser = visitor.browser
    if not (visitor.site / "explorer.html").exists():
        return
    visitor.window(1280, "light")
    visitor.open("explorer.html")
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    field = visitor.until("a field", lambda: browser.find_elements(By.CSS_SELECTOR, "input[type=text]"))[0]
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("nhwc", Keys.ENTER)
    visitor.until("what was typed", lambda: "nhwc" in browser.find_element(By.TAG_NAME, "h1").text)
    browser.switch_to.default_content()
    visitor.check_quiet()


def point_in_document(visitor):
    """A picture in a document lights up the element that is pointed at in all of its layouts."""
    browser = visitor.browser
    visitor.window(1280, "light")
    visitor.open("index.html")
    cell = browser.execute_script("return [...document.querySelectorAll('.picture rect')].find((rect) => "
                                  "rect.getAttribute('fill') === '#44bb99');")
    ActionChains(browser).move_to_element(cell).perform()
    lit = visitor.until("the cells", lambda: browser.find_elements(By.CSS_SELECTOR, ".picture .lit"))
    assert len(lit) == 5, f"{len(lit)} cells light up, not the tensor's and one in each of four layouts"
    visitor.check_quiet()


def keys(visitor):
    """Tab comes first to the link that skips the lists, and the list of pages opens on narrow screens."""
    browser = visitor.browser
    visitor.window(360, "dark")
    visitor.open("interop.html")
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("class") == "skip", "Tab does not come to the skip link first"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#content")
    pages = browser.find_element(By.CSS_SELECTOR, ".side details")
    assert pages.get_attribute("open") is None, "the list of pages is open on a narrow screen"
    browser.execute_script("scrollTo(0, 0)")
    browser.find_element(By.CSS_SELECTOR, ".side summary").click()
    browser.find_element(By.LINK_TEXT, "Grammar of layouts").click()
    visitor.until("the page", lambda: browser.current_url.endswith("layout-expressions.html"))
    visitor.check_quiet()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    browser = start()
    visitor = Visitor(browser, Path(sys.argv[1]).resolve())
    try:
        for part in (visit_all, search, point, every_live_page, type_a_layout, point_in_document, keys):
            part(visitor)
    finally:
        browser.quit()
    for fault in visitor.faults:
        print(fault)
    print(f"{len(KINDS)} kinds of pages, {len(visitor.faults)} faults"
          + ("" if visitor.axe else "; axe-core is not there"))
    sys.exit(1 if visitor.faults else 0)


if __name__ == "__main__":
    main()
