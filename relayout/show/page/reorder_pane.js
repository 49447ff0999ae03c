// What is shown of a reorder's plan: its boxes, the nest with its present values, what a step touches, and the block
// that is being moved in all panes.

/** The classes of cells that plans mark. */
const PLAN_MARKS = ["moving", "moving-left", "moving-right", "moving-top", "moving-bottom", "now", "line"];

/** Marks a cell's node; `inside(left, right, above, below)` are whether the cells beside it are in the block as well. */
function markPlan(node, inBlock, beside, isNow, inLine) {
  node.classList.toggle("moving", inBlock);
  ["left", "right", "top", "bottom"].forEach((side, n) => node.classList.toggle(`moving-${side}`, inBlock && !beside[n]));
  node.classList.toggle("now", isNow);
  node.classList.toggle("line", inLine);
}

class ReorderPane {
  /** `go(element)` goes to an element of the plan's order. */
  constructor(order, go) {
    this.order = order;
    this.boxes = order.boxes.map((box, at) => {
      const button = make("button", { type: "button", class: "box" }, this.swatch(at), make("span", { text: ` ${box.heading}` }));
      button.addEventListener("click", () => {
        const first = order.moves.find((move) => move.box === at);
        if (first) go(first.first);
      });
      const words = [`${box.method}: ${box.why}.`, box.past_cache ? "Written past the cache, in whole lines." : ""];
      for (const { side, stretches, run } of box.buffers) {
        words.push(`${side === "src" ? "Read" : "Written"} by way of the cache, in stretches of ${run} elements: ${stretches} a chunk.`);
      }
      return make("li", {}, button, make("p", { class: "words", text: words.filter(Boolean).join(" ") }));
    });
    this.now = make("p", { class: "words", role: "status" });
    this.nest = make("pre", { class: "nest", tabIndex: 0, "aria-label": "Loop nest of the box that is moved" });
    this.counts = make("table", { class: "counts" });
    const more = scene.reorder.more > 0 ? [make("p", { text: `and ${scene.reorder.more} more boxes` })] : [];
    const cut = scene.reorder.complete ? "" : ` The first ${order.length} elements are played.`;
    this.root = make(
      "div",
      { class: "reorder" },
      make("p", { text: `As a whole: ${scene.reorder.summary}.${cut}` }),
      make("ol", { class: "boxes", "aria-label": "Boxes of the plan, in their order" }, ...this.boxes),
      ...more,
      this.now,
      this.nest,
      make("div", { class: "scroller", role: "region", tabIndex: 0, "aria-label": "What moves touch" }, this.counts),
    );
  }

  swatch(at) {
    const moves = at < scene.reorder.boxes.length;
    return make("span", { class: `cell swatch ${moves ? `s${at % COLOURS}` : "padding"}`, "aria-hidden": "true" });
  }

  /** `element` is the last one that was moved, or null before the first; `unit` is what a step moves. */
  show(element, unit) {
    const { order } = this;
    const move = element === null ? null : order.moves[order.moveAt(element)];
    this.boxes.forEach((node, at) => {
      const button = node.querySelector("button");
      if (move?.box === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    this.showNow(move, element);
    this.showNest(move ?? order.moves[0], element);
    this.showCounts(element, unit);
  }

  showNow(move, element) {
    if (!move) {
      this.now.textContent = "Nothing is moved yet: step or play.";
      return;
    }
    const box = this.order.boxes[move.box];
    const at = element - move.first;
    const words = move.fill ? `offset ${move.dst + at} is set to the padding's value` : `offset ${move.src + at} to offset ${move.dst + at}`;
    const block = box ? `${box.unit} ${move.block + 1} of ${box.blocks}: ` : "";
    this.now.textContent = `Element ${element + 1} of ${this.order.length}; ${block}${words}`;
  }

  showNest(move, element) {
    const box = move && this.order.boxes[move.box];
    if (!box) {
      this.nest.textContent = "";
      return;
    }
    const values = element === null ? [] : this.order.values(element);
    let axis = 0;
    const stepped = box.nest.filter(([, , steps]) => steps !== "");
    const widest = Math.max(0, ...stepped.map(([depth, words]) => 2 * depth + words.length));
    const widestStep = Math.max(0, ...stepped.map(([, , steps]) => steps.length));
    const lines = box.nest.map(([depth, words, steps]) => {
      const value = words.startsWith("for ") ? values[axis++] : null;
      const start = `${"  ".repeat(depth)}${words}`.padEnd(widest);
      const now = value === null || value === undefined ? "" : `   now ${value}`;
      return make("span", { class: "loop", text: `${`${start}   ${steps.padEnd(widestStep)}${now}`.trimEnd()}\n` });
    });
    this.nest.replaceChildren(...lines);
  }

  showCounts(element, unit) {
    const { order } = this;
    const head = ["", "elements", "padding", "lines read", "lines written", "written partly"];
    const rows = [make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })))];
    const add = (words, touched) => {
      const cells = [touched.elements, touched.fills, touched.read.size, touched.bits.size, touched.partly];
      rows.push(make("tr", {}, make("th", { scope: "row", text: words }), ...cells.map((n) => make("td", { text: `${n}` }))));
    };
    if (element !== null) {
      const box = order.boxes[order.moves[order.moveAt(element)].box];
      add("this step", order.touched(order.around(element, unit)[0], element + 1));
      const block = order.around(element, "block");
      add(`this ${box?.unit ?? "block"}`, order.keep("touched", ...block, () => order.touched(...block)));
    }
    add("so far", order.touchedUpTo(element === null ? 0 : element + 1));
    this.inAll ??= order.touched(0, order.length);
    add(scene.reorder.complete ? "in all" : `the first ${order.length}`, this.inAll);
    this.counts.replaceChildren(...rows);
  }
}

/** Marks the block, the elements of the step and their lines in a pane of memory and in the slices. */
function markPlanIn(pane, at, order, element, unit) {
  const empty = new Set();
  const [block, now] = ["block", unit].map((what) => {
    if (element === null) return empty;
    const [from, to] = order.around(element, what);
    if (what === "block") return order.keep(`block ${at}`, from, to, () => order.offsets(at, from, to));
    return order.offsets(at, from, element + 1);
  });
  const lines = new Set();
  const touched = new Touched(order.views);
  for (const offset of now) for (const [line] of touched.linesAt(at, offset)) lines.add(line);
  const inLine = (offset) => lines.size > 0 && touched.linesAt(at, offset).some(([line]) => lines.has(line));
  for (const [offset, node, beside] of pane.offsetsShown()) {
    markPlan(node, block.has(offset), beside.map((other) => block.has(other)), now.has(offset), inLine(offset));
  }
}

function unmarkPlan(pane) {
  for (const [, node] of pane.offsetsShown()) node.classList.remove(...PLAN_MARKS);
}
