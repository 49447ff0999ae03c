#!/usr/bin/env python3
"""Uses pages of plans as people do, in Chromium, by Selenium, with plans that the test makes itself.

    plan.py RELAYOUT

What a page says is compared with the plan's file. Where axe-core is there, no page may have a fault that it calls
serious. Exit status 77 where there is no browser.
"""
import sys

from browser import ActionChains, By, Command, Keys, run_parts
from made_plan import HOSTILE, Made
from page import ROOT, Page, equal, quiet

NODE, INPUT, OUTPUT, REORDER = range(4)


class PlanPage(Page):
    def open_plan(self, made, hash="", **options):
        self.file = made.write(self.command.folder / "plan.json", **options)
        self.open("plan.json", hash=hash)
        self.wait_for("document.querySelector('.graph g').childElementCount > 0")

    def js(self, script, *arguments):
        return self.browser.execute_script("return " + script, *arguments)

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.wait_for("view.frame === 0")

    def rows(self, section):
        return self.js("[...document.querySelectorAll(arguments[0] + ' tbody tr')].map((row) => "
                       "[...row.children].map((cell) => cell.textContent))", section)

    def shown(self, plan):
        return self.js("state.plan.policy") == plan


def time_text(us):
    unit = 0
    while abs(us) >= 999.5 and unit < 2:
        us, unit = us / 1000, unit + 1
    return f"{float(f'{us:.3g}'):g} {('us', 'ms', 's')[unit]}"


def bytes_text(count):
    if count < 1024:
        return f"{count} bytes"
    unit = -1
    while count >= 1024 and unit < 5:
        count, unit = count / 1024, unit + 1
    return f"{count:.1f} {('KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[unit]}"


def geometry(page):
    """No two boxes overlap, and every line begins and ends at its boxes."""
    for made in (Made(500), Made(60, seed=2), Made(1, seed=3)):
        page.open_plan(made)
        boxes = page.js("boxes")
        order = sorted(range(len(boxes)), key=lambda b: boxes[b]["y"])
        for place, a in enumerate(order):
            one = boxes[a]
            assert 0 <= one["x"] and one["x"] + one["width"] <= page.js("scene.width"), "inside the drawing"
            for b in order[place + 1:]:
                other = boxes[b]
                if other["y"] >= one["y"] + one["height"]:
                    break
                assert other["x"] >= one["x"] + one["width"] or other["x"] + other["width"] <= one["x"], (one, other)
        for first, last, points in page.js("scene.lines"):
            (x, y), (end_x, end_y) = points[:2], points[-2:]
            assert boxes[first]["x"] <= x <= boxes[first]["x"] + boxes[first]["width"], "begins at its box"
            equal(y, boxes[first]["y"] + boxes[first]["height"], "begins under its box")
            assert boxes[last]["x"] <= end_x <= boxes[last]["x"] + boxes[last]["width"], "ends at its box"
            equal(end_y, boxes[last]["y"], "ends on its box")


def everything_is_there(page):
    """Each node and each tensor that flows is in the graph of each plan, once."""
    made = Made(120, seed=4)
    page.open_plan(made)
    for policy, totals in page.file["policies"].items():
        if "plan" not in totals:
            continue
        flows = set(map(tuple, page.js("planNamed(arguments[0]).flows.map(({line, copy}) => "
                                       "[lines[line].from, lines[line].to, copy])", policy)))
        ends = {0: 120, **{node["dst"][0]: n for n, node in enumerate(totals["plan"]["primitives"])}}
        ends.update({copy: box for copy, box in page.js("[...planNamed(arguments[0]).boxOfCopy]", policy)})
        expected = {(ends[copy], n, copy) for n, node in enumerate(totals["plan"]["primitives"])
                    for copy in node["src"] if copy in ends}
        expected |= {(ends[copy["from"]], ends[c], copy["from"]) for c, copy in enumerate(totals["plan"]["copies"])
                     if "from" in copy and copy["from"] in ends}
        expected |= {(ends[copy], 121, copy) for copy in totals["plan"]["outputs"]}
        equal(flows, expected, policy)


def few_shapes(page):
    """However large the graph is, few shapes are in the document: near, where there are words, and far."""
    page.open_plan(Made(500))
    def count():
        page.settle()
        return page.js("document.querySelectorAll('.graph *').length")
    assert count() < 250, count()
    page.js("view.showAll()")
    assert count() < 30, "one shape for each colour from afar"
    page.js("view.place({x: scene.width / 2, y: scene.height / 2, zoom: WORDS_FROM})")
    assert count() < 600, count()
    assert page.js("document.querySelectorAll('.graph text').length") > 20, "words"
    # The view moves without shapes being made anew, until it leaves the room around it.
    page.js("document.querySelector('.graph rect').setAttribute('data-kept', 'yes')")
    page.js("view.moveBy(20, 20)")
    page.settle()
    assert page.js("document.querySelector('[data-kept]') !== null"), "kept"


def reorders(page):
    """All reorders are listed with the library's numbers, the costliest first, and lead to their diamonds."""
    made = Made(80, seed=5)
    page.open_plan(made)
    plan = page.file["policies"]["optimal"]["plan"]
    moved = [copy for copy in plan["copies"] if "predicted_us" in copy]
    assert len(moved) > 8
    moved.sort(key=lambda copy: (-copy["predicted_us"], -copy["bytes"]))
    rows = page.rows(".reorders")
    expected = []
    for copy in moved:
        before = plan["copies"][copy["from"]]
        expected.append([copy["tensor"], f"{before['form']} to {copy['form']}", bytes_text(copy["bytes"]),
                         time_text(copy["predicted_us"])])
    equal(rows[::2], expected, "rows")
    for (words,), copy in zip(rows[1::2], moved):
        form = plan["copies"][copy["from"]]["form"]
        assert words.startswith(f"{copy['reason']}. The source is {form} because "), words
    page.browser.find_elements(By.CSS_SELECTOR, ".reorders tbody button")[2].click()
    page.settle()
    assert moved[2]["tensor"] in page.js("document.querySelector('.details h2').textContent")
    known = page.js("Object.fromEntries([...document.querySelectorAll('.details dt')].map((name) => "
                    "[name.textContent, name.nextElementSibling.textContent]))")
    assert known["moves"] == f"{bytes_text(moved[2]['bytes'])} ({moved[2]['bytes']} bytes read and written)", known
    assert page.js("document.querySelector('.graph .selected') !== null"), "the diamond is in view"


def policies(page):
    """The switch shows the other plan with its totals, and marks what differs."""
    page.open_plan(Made(90, seed=6))
    totals = page.file["policies"]
    rows = {row[0]: row for row in page.rows(".policies")}
    equal(set(rows), set(totals), "policies")
    assert "no implementation" in rows["ort"][-1], rows["ort"]
    for policy in ("nhwc", "nChw16c", "optimal"):
        page.browser.find_element(By.XPATH, f"//section[@aria-label='Policies']//button[text()='{policy}']").click()
        page.settle()
        one = totals[policy]
        row = next(row for row in page.rows(".policies") if row[0] == policy)
        equal(row, [policy, time_text(one["predicted_us"]), "-", time_text(one["cost_us"]), str(one["reorders"]),
                    bytes_text(one["reorder_bytes"]), "1"], policy)
        equal(len(page.rows(".reorders")), 2 * one["reorders"], f"reorders of {policy}")
        for other in ("nhwc", "nChw16c", "optimal"):
            if other == policy:
                continue
            share = 100 * (totals[other]["predicted_us"] - one["predicted_us"]) / one["predicted_us"]
            found = next(row for row in page.rows(".policies") if row[0] == other)[2]
            equal(found, f"{'+' if share >= 0 else '−'}{abs(share):.1f} %", f"{other} against {policy}")
    # The last one that was shown is the one that differences are to.
    mine, theirs = (totals[policy]["plan"] for policy in ("optimal", "nChw16c"))
    differ = sum(mine["copies"][a["dst"][0]]["form"] != theirs["copies"][b["dst"][0]]["form"]
                 for a, b in zip(mine["primitives"], theirs["primitives"]))
    differ += mine["copies"][mine["outputs"][0]]["form"] != theirs["copies"][theirs["outputs"][0]]["form"]
    words = page.js("document.querySelector('.comparison').textContent")
    assert f" {differ} of 92 nodes and ends have another layout" in words, (differ, words)
    assert page.js("document.querySelector('.graph .differs') !== null"), "marks"
    page.browser.back()
    page.wait_for("state.plan.policy === 'nChw16c'")
    page.browser.back()
    page.wait_for("state.plan.policy === 'nhwc'")


def searching(page):
    """The search finds by name, tensor, layout and kind; Enter steps through what is found."""
    page.open_plan(Made(70, seed=7))
    field = page.browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    plan = page.file["policies"]["optimal"]["plan"]
    pools = [n for n, node in enumerate(page.file["primitives"]) if node["kind"] == "pooling"]
    wide = [n for n in pools if plan["copies"][plan["primitives"][n]["dst"][0]]["form"] == "nhwc"]
    for text, expected in (("POOLING ", set(pools)), ("node33", None), ("t12", None), ("no such thing", set())):
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(text)
        hits = page.js("search.hits")
        nodes = {hit for hit in hits if hit < 70}
        if expected is not None:
            equal({n for n in nodes if n in pools}, expected & set(pools), text)
        if text == "node33":
            assert 33 in nodes, hits
        if text == "t12":
            assert 12 in nodes, hits
        if text == "no such thing":
            equal(hits, [], text)
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("pooling nhwc")
    hits = page.js("search.hits")
    assert set(wide) <= set(hits), "layouts"
    for step in range(3):
        field.send_keys(Keys.ENTER)
        page.settle()
        equal(page.js("state.box"), hits[step % len(hits)], f"Enter {step}")
        equal(page.js("document.querySelector('.count').textContent"), f"{step % len(hits) + 1} of {len(hits)}",
              "count")
    field.send_keys(Keys.SHIFT + Keys.ENTER)
    equal(page.js("state.box"), hits[1 % len(hits)], "Shift and Enter")


def moving(page):
    """Drags, the wheel and keys move and zoom; a click selects, and the address has it all."""
    page.open_plan(Made(50, seed=8))
    view = page.browser.find_element(By.CSS_SELECTOR, ".view")
    before = page.js("({...view.centre, zoom: view.zoom})")
    ActionChains(page.browser).move_to_element(view).click_and_hold().move_by_offset(-30, -90).release().perform()
    page.settle()
    after = page.js("view.centre")
    assert abs(after["y"] - before["y"] - 90 / before["zoom"]) < 8 / before["zoom"], (before, after)
    view.send_keys("+")
    page.settle()
    assert abs(page.js("view.zoom") / before["zoom"] - 1.3) < 1e-9, "plus"
    view.send_keys(Keys.ARROW_DOWN)
    page.settle()
    assert abs(page.js("view.centre.y") - after["y"] - 80 / page.js("view.zoom")) < 1, "an arrow"
    view.send_keys("0")
    page.settle()
    assert page.js("view.visible.bottom >= scene.height"), "0 shows all"
    page.browser.execute_script("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300}))", view)
    page.settle()
    assert page.js("view.zoom") > 1.5 * page.js("Math.min(view.size.height / scene.height, 1)"), "the wheel"
    # A click goes to the middle of what is in the window.
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", view)
    page.js("view.showBox(20)")
    page.settle()
    view.click()
    page.settle()
    equal(page.js("state.box"), 20, "a click in the middle")
    assert "made" not in page.browser.current_url and "at=20" in page.browser.current_url, page.browser.current_url
    name = page.file["primitives"][20]["name"]
    assert name in page.js("document.querySelector('.details h2').textContent"), name
    view.send_keys(Keys.ESCAPE)
    page.settle()
    equal(page.js("state.box"), None, "Escape")
    page.browser.back()
    page.wait_for("state.box === 20")
    page.open_plan(Made(50, seed=8), hash="#policy=nhwc&at=7&compare=nChw16c&q=pooling&view=300,500,0.9")
    equal(page.js("[state.plan.policy, state.box, state.other.policy, state.query, view.centre.x, view.zoom]"),
          ["nhwc", 7, "nChw16c", "pooling", 300, 0.9], "the address")
    page.open_plan(Made(50, seed=8), hash="#policy=<b>&at=1e9&compare=ort&view=a,b,c&q=%3Cimg%3E")
    equal(page.js("[state.plan.policy, state.box, state.other]"), ["optimal", None, None], "another page's address")


def lists(page):
    """All nodes are a list too, for those who do not see the graph."""
    page.open_plan(Made(40, seed=9))
    equal(page.rows(".lists"), [], "closed lists have no rows")
    page.browser.find_element(By.XPATH, "//summary[text()='All nodes as a list']").click()
    page.wait_for("document.querySelectorAll('.lists tbody tr').length > 0")
    plan = page.file["policies"]["optimal"]["plan"]
    rows = page.rows(".lists")
    equal(len(rows), 40, "rows")
    for row, primitive, node in zip(rows, page.file["primitives"], plan["primitives"]):
        equal([row[0], row[1], row[2], row[5]],
              [primitive["name"], primitive["kind"], node["implementation"], time_text(node["predicted_us"])], "row")
        equal(row[4], plan["copies"][node["dst"][0]]["form"], "what it writes")


def hostile(page):
    """Names are text, wherever they stand."""
    made = Made(12, seed=10, names=lambda n: f"{HOSTILE}{n}")
    page.open_plan(made, model=HOSTILE)
    field = page.browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    field.send_keys("alert" + Keys.ENTER)
    page.browser.find_element(By.XPATH, "//summary[text()='All nodes as a list']").click()
    page.settle()
    equal(page.browser.find_elements(By.CSS_SELECTOR, "img, iframe, object, [onerror]"), [], "elements of names")
    equal(len(page.browser.find_elements(By.TAG_NAME, "script")), 2, "scripts")
    assert page.js("document.querySelector('h1').textContent").startswith("</script>"), "the title"
    assert "alert(2)" in page.js("document.querySelector('.details h2').textContent"), "details"


def fits(page):
    for width in (360, 1280):
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
        for made in (Made(30, seed=11), Made(8, seed=12, names=lambda n: f"{n}" + "longname" * 40)):
            page.open_plan(made, hash="#at=2")
            wide = page.js("document.documentElement.scrollWidth")
            assert wide <= width, f"{width} pixels: {wide} wide"
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def accessible(page):
    """axe-core's serious faults, light and dark."""
    scripts = sorted((ROOT / "build/show").glob("lib/python*/site-packages/axe_playwright_python/axe.min.js"))
    if not scripts:
        print("axe-core is not there: accessibility is not checked")
        return
    for scheme in ("light", "dark"):
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        page.open_plan(Made(25, seed=13), hash="#at=3&compare=nhwc&q=conv")
        page.browser.find_element(By.XPATH, "//summary[text()='All nodes as a list']").click()
        page.browser.execute_script(scripts[-1].read_text(encoding="utf-8"))
        found = page.browser.execute_async_script("axe.run().then(arguments[0])")
        assert len(found["passes"]) > 10, "axe-core looked at nothing"
        faults = [f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html'][:120]}"
                  for fault in found["violations"] if fault["impact"] in ("serious", "critical")]
        equal(faults, [], scheme)


def main():
    command = Command(sys.argv[1])
    run_parts(command, PlanPage, (geometry, everything_is_there, few_shapes, reorders, policies, searching, moving,
                                  lists, hostile, fits, accessible, quiet))


if __name__ == "__main__":
    main()
