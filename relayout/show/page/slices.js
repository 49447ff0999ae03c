// The logical tensor as slices: a grid of the last two dims for each index of the others, in a window that follows the
// element that is shown.

const MOST_ROWS = 24;
const MOST_COLUMNS = 32;

class SlicesPane {
  constructor(actions) {
    this.actions = actions;
    this.records = new WeakMap();
    this.byIndex = new Map();
    this.at = null; // an index in the window
    this.title = make("h2", { text: "Tensor" });
    this.words = make("p", { class: "words" });
    this.body = make("div", { class: "slices" });
    this.before = make("button", { type: "button", text: "slices before" });
    this.after = make("button", { type: "button", text: "slices behind" });
    this.before.addEventListener("click", () => this.turn(-1));
    this.after.addEventListener("click", () => this.turn(1));
    const turns = make("div", { class: "turns" }, this.before, this.after);
    this.scroller = make("div", { class: "scroller" }, this.body);
    this.root = make("section", { class: "pane tensor" }, this.title, this.words, this.scroller, turns);
    listenToCells(this.body, this.records, this, { ...actions, move: (record, key) => this.move(record, key) });
  }

  /** Which part of the view is shown: rows and columns of a slice, and how many slices of those that there are. */
  measure() {
    const view = scene.views[state.view];
    if (this.view !== view) this.at = view.dims.map(() => 0);
    this.view = view;
    const padded = [...view.padded];
    const rank = padded.length;
    const columns = rank > 0 ? padded[rank - 1] : 1;
    const rows = rank > 1 ? padded[rank - 2] : 1;
    const window = (i, extent, most) => {
      const begin = Math.floor((i ?? 0) / most) * most;
      return [begin, Math.min(extent, begin + most)];
    };
    this.columns = window(this.at[rank - 1], columns, MOST_COLUMNS);
    this.rows = window(this.at[rank - 2], rows, MOST_ROWS);
    this.outer = padded.slice(0, Math.max(0, rank - 2));
    this.slices = this.outer.reduce((product, extent) => product * extent, 1);
    const cells = (this.columns[1] - this.columns[0]) * (this.rows[1] - this.rows[0]);
    this.count = Math.max(1, Math.min(this.slices, Math.floor(WINDOW_CELLS / Math.max(1, cells))));
    const number = this.outer.reduce((sum, extent, d) => sum * extent + this.at[d], 0);
    this.first = Math.floor(number / this.count) * this.count;
  }

  outerIndex(number) {
    const index = this.outer.map(() => 0);
    for (let d = this.outer.length; d-- > 0; number = Math.floor(number / this.outer[d])) index[d] = number % this.outer[d];
    return index;
  }

  labelOf(index) {
    const { view } = this;
    if (!isElement(view, index)) return "";
    if (state.label === "value" && view.values) return valueText(view, index);
    return `${offsetOf(view, index)}`;
  }

  render() {
    this.measure();
    const { view } = this;
    this.byIndex.clear();
    const field = scene.kind === "fields" ? ` of field ${view.name}` : "";
    this.title.textContent = `Tensor${field}`;
    const what = state.label === "value" && view.values ? "value" : "offset";
    this.words.textContent = `${this.wordsOf()}; in each cell its ${what}`;
    const empty = elementsOf(view) === 0;
    const last = view.dims.map((extent) => Math.max(0, extent - 1));
    const letters = empty ? 1 : what === "value" ? longestValue(view) : Math.max(`${view.span - 1}`.length, this.labelOf(last).length);
    this.body.style.setProperty("--cell", `${Math.max(LEAST_CELL, Math.ceil(LETTER_PIXELS * letters) + 8)}px`);
    const end = Math.min(this.slices, this.first + this.count);
    const nodes = [];
    for (let n = this.first; n < end && !empty; ++n) nodes.push(this.slice(this.outerIndex(n)));
    if (empty) nodes.push(make("p", { text: "no elements" }));
    this.body.replaceChildren(...nodes);
    reachByTab(this.body);
    this.before.hidden = this.after.hidden = this.count >= this.slices;
    this.before.disabled = this.first === 0;
    this.after.disabled = end >= this.slices;
  }

  wordsOf() {
    const { view, rows, columns } = this;
    const rank = view.dims.length;
    const parts = [];
    if (this.slices > 1) {
      const end = Math.min(this.slices, this.first + this.count);
      parts.push(this.count < this.slices ? `slices ${this.first} to ${end - 1} of ${this.slices}` : `${this.slices} slices`);
    }
    const part = (d, [begin, end]) => {
      const whole = end - begin === view.padded[d];
      return `${view.letters[d]}${whole ? "" : ` from ${begin} to ${end - 1}`}`;
    };
    if (rank > 1) parts.push(`down ${part(rank - 2, rows)}, across ${part(rank - 1, columns)}`);
    else if (rank === 1) parts.push(`across ${part(0, columns)}`);
    else parts.push("a scalar");
    return parts.join("; ");
  }

  slice(outer) {
    const { view } = this;
    const name = outer.map((i, d) => `${view.letters[d]}=${i}`).join(" ");
    const grid = make("div", { class: "grid", role: "grid", "aria-label": name ? `Slice ${name}` : "Tensor" });
    grid.style.setProperty("--columns", this.columns[1] - this.columns[0]);
    const rank = view.dims.length;
    for (let r = this.rows[0]; r < this.rows[1]; ++r) {
      const row = make("div", { role: "row", class: "row" });
      for (let c = this.columns[0]; c < this.columns[1]; ++c) row.append(this.cell([...outer, r, c].slice(outer.length + 2 - rank)));
      grid.append(row);
    }
    const caption = make("figcaption", { text: name });
    return name ? make("figure", {}, caption, grid) : make("figure", {}, grid);
  }

  cell(given) {
    const { view } = this;
    const index = view.dims.length === 0 ? [] : given;
    const slot = isElement(view, index) ? "element" : "padding";
    const offset = offsetOf(view, index);
    const record = { slot, view: state.view, index, offset };
    const around = (d, by) => {
      const other = [...index];
      other[d] += by;
      if (d < 0 || other[d] < 0 || other[d] >= view.padded[d]) return "";
      return frameOf(view, other).values.join();
    };
    const rank = index.length;
    // Blocks of other dims than the two that are shown have one cell in each slice.
    const framed = framesOf(view).blocks && framesOf(view).inside.some((digit) => digit.dim >= rank - 2);
    const own = framed ? frameOf(view, index).values.join() : null;
    const sides = own === null ? "" : edges(own, around(rank - 1, -1), around(rank - 1, 1), around(rank - 2, -1), around(rank - 2, 1));
    const spoken = `${slot} ${indexText(view, index)}: offset ${offset}`;
    const node = cellNode(this.labelOf(index), `${slot}${colourClass(record)}${sides}`, spoken);
    this.records.set(node, record);
    this.byIndex.set(index.join(), node);
    return node;
  }

  /** Lights up the element of a target, and fainter all others at its offset. */
  light(target, reveal) {
    for (const node of this.body.querySelectorAll(".on, .same")) node.classList.remove("on", "same");
    if (!target?.index || (target.view !== state.view && !sharedIndex)) return;
    if (!target.index.every((i, d) => i < this.view.padded[d])) return;
    if (reveal && !this.byIndex.has(target.index.join())) {
      this.at = target.index;
      this.render();
    }
    const offset = offsetOf(this.view, target.index);
    for (const node of this.byIndex.values()) {
      if (this.records.get(node).offset === offset) node.classList.add("same");
    }
    const node = this.byIndex.get(target.index.join());
    if (!node) return;
    node.classList.replace("same", "on");
    for (const other of this.body.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    node.tabIndex = 0;
    if (reveal) scrollInto(this.scroller, node);
  }

  turn(by) {
    const number = Math.min(this.slices - 1, Math.max(0, this.first + by * this.count));
    this.at = [...this.outerIndex(number), ...this.at.slice(this.outer.length)];
    this.render();
    onRender();
  }

  /** Arrows go along the last two dims, Page Up and Page Down along the slices. */
  move(record, key) {
    const rank = record.index.length;
    const steps = {
      ArrowLeft: [rank - 1, -1],
      ArrowRight: [rank - 1, 1],
      ArrowUp: [rank - 2, -1],
      ArrowDown: [rank - 2, 1],
    };
    let index = [...record.index];
    if (steps[key]) {
      const [d, by] = steps[key];
      if (d < 0 || index[d] + by < 0 || index[d] + by >= this.view.padded[d]) return true;
      index[d] += by;
    } else if (key === "PageUp" || key === "PageDown") {
      const number = this.outer.reduce((sum, extent, d) => sum * extent + index[d], 0) + (key === "PageUp" ? -1 : 1);
      if (number < 0 || number >= this.slices) return true;
      index = [...this.outerIndex(number), ...index.slice(this.outer.length)];
    } else {
      return false;
    }
    const slot = isElement(this.view, index) ? "element" : "padding";
    this.actions.pin({ slot, view: state.view, index, offset: offsetOf(this.view, index) }, false);
    this.light({ view: state.view, index }, true);
    this.byIndex.get(index.join())?.focus({ preventScroll: true });
    return true;
  }

  /** As of memory; the cells beside are those of the same slice. */
  *offsetsShown() {
    for (const node of this.byIndex.values()) {
      const { index, offset } = this.records.get(node);
      const beside = [[1, -1], [1, 1], [2, -1], [2, 1]].map(([fromEnd, by]) => {
        const d = index.length - fromEnd;
        if (d < 0 || index[d] + by < 0 || index[d] + by >= this.view.padded[d]) return -1;
        return offsetOf(this.view, index.map((i, n) => (n === d ? i + by : i)));
      });
      yield [offset, node, beside];
    }
  }

  mark(seen) {
    for (const node of this.byIndex.values()) {
      const { slot, offset } = this.records.get(node);
      const cell = offset * (this.view.bits / bufferOf(state.view).unit);
      node.classList.toggle("seen", seen.has(cell));
    }
  }
}
