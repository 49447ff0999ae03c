#!/usr/bin/env python3
"""Plays reorders in pages of `relayout show --from A --to B`: the order is the library's, the lines are counted right,
and fingers and paper are served as well.

    reorder.py RELAYOUT

The library's moves are those of `relayout show --json`, unfolded here. Where each element lies, and which lines of 64
bytes it touches, is computed from the digits of the layouts. Exit status 77 where there is no browser.
"""
import itertools
import math
import sys

from browser import By, Command, start
from page import Page, accessible_page, equal

LINE_BITS = 512
#: Layouts, dims and a type: one block, several boxes with padding, tiles, stages, tables, pieces, bits.
CASES = [
    ("nchw", "nhwc", (1, 3, 4, 5), "f32"),
    ("nchw", "nChw8c", (1, 17, 4, 5), "f32"),
    ("nChw16c", "nhwc", (1, 33, 3, 3), "s8"),
    ("oihw", "OIhw4i16o4i", (17, 9, 2, 1), "s8"),
    ("Ba48b", "Ba32b", (2, 60), "f16"),
    ("ba", "ab", (12, 20), "s4"),
    ("ba", "ab;swizzle=3,3,3", (16, 64), "f16"),
    ("abc", "abc", (3, 4, 5), "f64"),
    ("strides:0,1", "ab", (9, 40), "f32"),
]


def unfolded(loops, src, dst, block):
    """The starts of what folded loops repeat, the last loop the innermost."""
    for turns in itertools.product(*(range(times) for times, *_ in loops)):
        steps = [sum(turn * loop[k] for turn, loop in zip(turns, loops)) for k in (1, 2, 3)]
        yield src + steps[0], dst + steps[1], block + steps[2]


def moves_of(reorder):
    """(box, block, source's offset or None, destination's offset, count) in the plan's order."""
    for box, number, src, dst, loops, moves in reorder["blocks"]:
        for from_block, to_block, block in unfolded(loops, src, dst, number):
            for more_src, more_dst, count, fill, inner in moves:
                for a, b, _ in unfolded(inner, from_block + more_src, to_block + more_dst, 0):
                    yield box, block, None if fill else a, b, count


def offset_of(view, index):
    offset = view["offset0"]
    for i, digits in zip(index, view["digits"]):
        for number, (extent, stride) in enumerate(digits):
            last = number + 1 == len(digits)
            offset += (i if last else i % extent) * stride
            i //= extent
    swizzle = view.get("swizzle")
    if swizzle:
        field = offset >> swizzle["source"] & (1 << swizzle["bits"]) - 1
        offset ^= field << swizzle["target"]
    return offset


def arguments_of(case):
    src, dst, dims, dtype = case
    return "--from", src, "--to", dst, "--dims", ",".join(map(str, dims)), "--dtype", dtype


def elements_of(scene):
    """(source's offset or None, destination's offset) of each element, in the plan's order."""
    return [(None if src is None else src + k, dst + k)
            for _, _, src, dst, count in moves_of(scene["reorder"]) for k in range(count)]


def once_each(command):
    """What the library says is right: each element once, from its place; each element of padding is filled."""
    for case in CASES:
        scene = command.json("show", *arguments_of(case))
        a, b = scene["views"]
        expected = {offset_of(b, index): offset_of(a, index) for index in itertools.product(*map(range, case[2]))}
        padding = {offset_of(b, index) for index in itertools.product(*map(range, b["padded"]))} - set(expected)
        elements = elements_of(scene)
        moved = [element for element in elements if element[0] is not None and element[1] in expected]
        equal(len(moved), math.prod(case[2]), f"{case}: elements that are moved")
        equal({dst: src for src, dst in moved}, expected, f"{case}: where elements come from")
        filled = [dst for src, dst in elements if src is None]
        equal(sorted(filled), sorted(padding), f"{case}: padding")


def touched(scene, elements):
    """Counts, as the page's table has them: elements, padding, lines read, lines written, of these partly."""
    bits = [view["bits"] for view in scene["views"]]
    lines = lambda side, offset: range(offset * bits[side] // LINE_BITS,
                                       ((offset + 1) * bits[side] - 1) // LINE_BITS + 1)
    read = {line for src, _ in elements if src is not None for line in lines(0, src)}
    written = {}
    for dst in {dst for _, dst in elements}:
        for bit in range(dst * bits[1], (dst + 1) * bits[1]):
            written[bit // LINE_BITS] = written.get(bit // LINE_BITS, 0) + 1
    end = scene["views"][1]["span"] * bits[1]
    partly = sum(count < min(LINE_BITS, end - line * LINE_BITS) for line, count in written.items())
    fills = sum(src is None for src, _ in elements)
    return [len(elements) - fills, fills, len(read), len(written), partly]


def counts(page):
    """The table beside the nest, by the names of its rows."""
    return page.browser.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.reorder .counts tr')].slice(1).map((row) => "
        "[row.querySelector('th').textContent, [...row.querySelectorAll('td')].map((cell) => +cell.textContent)]));")


def playing(page):
    """Play visits the elements in the library's order, and each is lit on both sides."""
    for case in CASES[:3]:
        scene = page.command.json("show", *arguments_of(case))
        elements = elements_of(scene)
        page.open(*arguments_of(case), hash="#unit=element")
        page.browser.execute_script(
            "window.visited = []; const before = walk.onStep; walk.onStep = (index) => { before(index); const lit = "
            "panes.map((pane) => { const node = pane.grid.querySelector('.on'); return node && pane.records.get(node)"
            ".cell; }); visited.push([state.step, ...lit]); };"
            "const fast = document.createElement('option'); fast.value = '2000'; walk.speed.append(fast);"
            "walk.speed.value = '2000';")
        page.button("Play").click()
        page.wait_for(f"visited.length >= {len(elements)} && walk.timer === null")
        visited = page.browser.execute_script("return visited")
        equal([step for step, *_ in visited], list(range(len(elements))), f"{case}: the steps of Play")
        for (step, src, dst), (expected_src, expected_dst) in zip(visited, elements):
            equal(dst, expected_dst, f"{case}: the destination at step {step}")
            if expected_src is not None:
                equal(src, expected_src, f"{case}: the source at step {step}")


def in_order(page):
    """What the page unfolds is what the library said, for every kind of plan."""
    for case in CASES:
        scene = page.command.json("show", *arguments_of(case))
        page.open(*arguments_of(case))
        found = page.browser.execute_script(
            "return planOrder.moves.map((m) => [m.box, m.block, m.fill ? null : m.src, m.dst, m.count])")
        equal(found, [list(move) for move in moves_of(scene["reorder"])], f"{case}: moves")


def counting(page):
    """Lines of 64 bytes of a step, of its block, so far and in all, as Python counts them."""
    for case, unit in zip(CASES, itertools.cycle(("move", "element", "block"))):
        scene = page.command.json("show", *arguments_of(case))
        elements, owners, moves = elements_of(scene), [], []
        for number, (box, block, _, _, count) in enumerate(moves_of(scene["reorder"])):
            owners += [(box, block)] * count
            moves += [number] * count
        page.open(*arguments_of(case), hash=f"#unit={unit}")
        step = -1
        for _ in range(6):
            page.button("Step").click()
            begin, step = step + 1, page.browser.execute_script("return state.step")
            same = {"element": [begin], "move": [k for k, m in enumerate(moves) if m == moves[begin]],
                    "block": [k for k, owner in enumerate(owners) if owner == owners[begin]]}[unit]
            equal(list(range(begin, step + 1)), same, f"{case}: what a step by {unit} moves")
            found = counts(page)
            block = [element for element, owner in zip(elements, owners) if owner == owners[step]]
            box = (scene["reorder"]["boxes"] + scene["reorder"]["fills"])[owners[step][0]]
            for name, part in (("this step", elements[begin:step + 1]), (f"this {box['unit']}", block),
                               ("so far", elements[:step + 1]), ("in all", elements)):
                equal(found[name], touched(scene, part), f"{case}, step {step}: {name}")
            if step + 1 == len(elements):
                break


def boxes(page):
    """The boxes are listed with method and reason, a click goes to one, and colours are by box."""
    case = CASES[1]
    scene = page.command.json("show", *arguments_of(case))
    page.open(*arguments_of(case), hash="#colour=box")
    listed = page.browser.find_elements(By.CSS_SELECTOR, ".boxes li")
    known = scene["reorder"]["boxes"] + scene["reorder"]["fills"]
    equal(len(listed), len(known), "boxes")
    for node, box in zip(listed, known):
        assert box["heading"] in node.text and box["method"] in node.text and box["why"] in node.text, node.text
    owners = [box for box, *_, count in moves_of(scene["reorder"]) for _ in range(count)]
    for number, node in enumerate(listed):
        node.find_element(By.TAG_NAME, "button").click()
        step = page.browser.execute_script("return state.step")
        equal(owners[step], number, "the box that a click goes to")
        equal(owners.index(number), page.browser.execute_script("return planOrder.around(state.step, 'move')[0]"),
              "the first move of the box")
        equal(page.browser.execute_script("return [...document.querySelectorAll('.boxes button')].map((node) => "
                                          "node.getAttribute('aria-current'))").index("step"), number, "the mark")
    origin = known[1]["origin"]
    coloured = page.cell("memory", f"offset {offset_of(scene['views'][1], origin)}: element n=0 c={origin[1]} h=0 w=0")
    assert "s1" in coloured.get_attribute("class").split(), "the colour of the second box"


def nest(page):
    """The nest's present values name the element."""
    page.open("--from", "nchw", "--to", "nhwc", "--dims", "2,16,4,20", hash="#unit=element&step=500")
    index = page.browser.execute_script("return walk.at(state.step).index")
    words = page.browser.execute_script("return document.querySelector('.reorder .nest').textContent").split("\n")
    values = {line.split(" in 0..")[0].split()[-1]: int(line.split("now ")[1]) for line in words if "now " in line}
    assert len(values) >= 2, words
    for name, value in values.items():
        expected = 0
        for letter in name:
            expected = expected * dict(n=2, c=16, h=4, w=20)[letter] + index["nchw".index(letter)]
        equal(value, expected, f"the present value of {name}")
    marked = page.browser.execute_script("return document.querySelectorAll('.memory .moving').length")
    assert marked > 0, "the block is outlined"


def fingers(page):
    """A tap keeps an element, and scrolls nothing."""
    command = page.browser.execute_cdp_cmd
    command("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    command("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 1})
    page.open("--from", "nchw", "--to", "nhwc", "--dims", "1,3,4,5")
    for label in ("element n=0 c=0 h=1 w=2: offset 7", "element n=0 c=0 h=3 w=1: offset 16"):
        node = page.cell("tensor", label)
        page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
        box = page.browser.execute_script("const r = arguments[0].getBoundingClientRect(); "
                                          "return [r.x + r.width / 2, r.y + r.height / 2]", node)
        at = page.browser.execute_script("return scrollY")
        command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": box[0], "y": box[1]}]})
        command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for(f"state.index !== null && document.querySelector('.tensor .on')?.ariaLabel === '{label}'")
        equal(page.browser.execute_script("return scrollY"), at, "the page stays where it is")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", page.button("Step"))
    rect = page.browser.execute_script("const r = arguments[0].getBoundingClientRect(); "
                                       "return [r.x + r.width / 2, r.y + r.height / 2]", page.button("Step"))
    command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": rect[0], "y": rect[1]}]})
    command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for("state.step === 0")
    command("Emulation.setTouchEmulationEnabled", {"enabled": False})
    command("Emulation.clearDeviceMetricsOverride", {})


def paper(page):
    """On paper nothing is cut off, and what cannot be used is not there."""
    command = page.browser.execute_cdp_cmd
    command("Emulation.setDeviceMetricsOverride", {"width": 720, "height": 1000, "deviceScaleFactor": 1,
                                                   "mobile": False})
    for arguments in (arguments_of(CASES[1]), ("nChw8c", "--dims", "1,9,8,8")):
        page.open(*arguments, hash="#step=5")
        command("Emulation.setEmulatedMedia", {"media": "print"})
        page.wait_for("matchMedia('print').matches")
        page.browser.execute_async_script("setTimeout(arguments[0], 100)")
        hidden = page.browser.execute_script(
            "return [...document.querySelectorAll('button, input, select, .inspector')].filter((node) => "
            "node.checkVisibility() && !node.closest('.boxes')).map((node) => node.outerHTML.slice(0, 80))")
        equal(hidden, [], f"{arguments}: controls on paper")
        cut = page.browser.execute_script(
            "return [...document.querySelectorAll('.scroller, .nest, .boxes, main')].filter((node) => "
            "node.checkVisibility() && getComputedStyle(node).overflow !== 'visible' && "
            "(node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight)).map((n) => n.className)")
        equal(cut, [], f"{arguments}: what is cut off on paper")
        wide = page.browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 720, f"{arguments}: {wide} wide on paper"
        command("Emulation.setEmulatedMedia", {"media": ""})
    command("Emulation.clearDeviceMetricsOverride", {})


def seen_by_all(page):
    """Narrow and wide, light and dark, with axe-core where it is there."""
    for scheme in ("light", "dark"):
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        for case, hash in ((CASES[1], "#step=9"), (CASES[1], "#step=350&unit=block&colour=box"),
                           (CASES[5], "#step=30")):
            for width in (360, 1280):
                page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                             {"width": width, "height": 800, "deviceScaleFactor": 1,
                                              "mobile": width < 600})
                page.open(*arguments_of(case), hash=hash)
                wide = page.browser.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, f"{case} at {width} pixels is {wide} wide"
            accessible_page(page, f"{scheme}, {case}")
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def main():
    command = Command(sys.argv[1])
    browser = start()
    try:
        page = Page(browser, command)
        once_each(command)
        print("ok once_each")
        for part in (in_order, playing, counting, boxes, nest, fingers, paper, seen_by_all):
            part(page)
            print(f"ok {part.__name__}")
        equal([entry["message"] for entry in browser.get_log("browser")], [], "the console")
    finally:
        browser.quit()
        command.remove()


if __name__ == "__main__":
    main()
