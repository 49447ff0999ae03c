"""Pages: what relayout.show() puts into them. What a page does is tested in tests/show."""
import html
import json
import re

import numpy as np
import pytest
import relayout


def data_of(page):
    text = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page.html, re.DOTALL)[1]
    return json.loads(text)


def test_a_layout():
    layout = relayout.layout("nChw8c", (2, 17, 5, 4))
    data = data_of(relayout.show(layout, dtype="f16"))
    (view,) = data["views"]
    assert data["title"] == "nChw8c  2x17x5x4"
    assert data["typed"] == [{"text": "nChw8c", "dims": "2,17,5,4", "dtype": "f16"}]
    assert (view["dtype"], view["bits"], view["dims"], view["padded"]) == ("f16", 16, [2, 17, 5, 4], [2, 24, 5, 4])
    assert [[tuple(digit) for digit in digits] for digits in view["digits"]] == [list(d) for d in layout.digits]


def test_two_layouts_are_compared():
    a, b = relayout.layout("nchw", (1, 3, 4, 5)), relayout.layout("nhwc", (1, 3, 4, 5))
    assert data_of(relayout.show(a, b))["comparison"]["index"] == [0, 0, 0, 1]
    assert data_of(relayout.show(a, a))["comparison"]["index"] is None
    same = r"must be the same, in the same order; expected are dims \(1, 3, 4, 5\)"
    with pytest.raises(relayout.InvalidArgumentError, match=same):
        relayout.show(a, relayout.layout("ab", (3, 4)))


def test_an_array_has_its_values():
    x = np.arange(6, dtype=np.int16).reshape(2, 3).T
    (view,) = data_of(relayout.show(x))["views"]
    assert view["values"] == [str(value) for row in x.tolist() for value in row]
    assert (view["dtype"], view["dims"]) == ("s16", [3, 2])
    with pytest.raises(relayout.LimitError, match="16385 elements"):
        relayout.show(np.zeros(16385))


def test_a_notebook_gets_a_frame(tmp_path):
    page = relayout.show(relayout.layout("ab", (2, 3)), title="<b> & \"c\"")
    assert page.html.count("<b>") == 0
    frame = page._repr_html_()
    # Without the library that only fields for typing need, where the page has it.
    shown = re.sub(r'<script type="text/plain" id="core">.*?</script>\n', "", page.html)
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == shown
    assert 'id="core"' not in shown
    page.save(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == page.html


def unfolded(loops, src, dst):
    if not loops:
        yield src, dst
        return
    times, src_step, dst_step, _ = loops[0]
    for i in range(times):
        yield from unfolded(loops[1:], src + i * src_step, dst + i * dst_step)


def moved_by(outline, src, dst):
    """What the moves of an outline make of flat arrays, in their order; each element is written once."""
    written = np.zeros(dst.size, int)
    for _, _, from_block, to_block, loops, moves in outline["blocks"]:
        for a, b in unfolded(loops, from_block, to_block):
            for more_src, more_dst, count, fill, inner in moves:
                for c, d in unfolded(inner, a + more_src, b + more_dst):
                    dst[d:d + count] = 0 if fill else src[c:c + count]
                    written[d:d + count] += 1
    return written


@pytest.mark.parametrize("to", ["nhwc", "nChw8c", "nchw"])
def test_the_outline_of_a_conversion_moves_each_element(to):
    x = np.arange(2 * 17 * 4 * 5, dtype=np.float32).reshape(2, 17, 4, 5)
    planned = relayout.plan_conversion(x, "nchw", to)
    outline = planned.outline
    assert sum(box["elements"] for box in outline["boxes"]) == x.size
    assert all(box["why"] and box["method"] for box in outline["boxes"])
    expected = planned.run(x)
    made = np.full(expected.size, np.nan, np.float32)
    written = moved_by(outline, x.reshape(-1), made)
    assert (written == 1).all()
    assert (made == expected.reshape(-1)).all()


def test_a_page_of_two_layouts_has_their_reorder():
    a, b = relayout.layout("nchw", (1, 3, 4, 5)), relayout.layout("nhwc", (1, 3, 4, 5))
    assert data_of(relayout.show(a, b))["reorder"]["complete"]
    assert "reorder" not in data_of(relayout.show(a, b, plan=False))
    assert "reorder" not in data_of(relayout.show(a))
    repeated = np.broadcast_to(np.arange(4, dtype=np.float32), (3, 4))
    assert "reorder" not in data_of(relayout.show(np.ones((3, 4), np.float32), repeated))
