// Memory as rows of cells: a window of a buffer, in rows of whole runs, of an image's pixels, or of banks.

const WINDOW_CELLS = 1200;
const LETTER_PIXELS = 7.3;
const LEAST_CELL = 22;

// Where the pointer was last: what scrolls by under a pointer that rests is not pointed at.
let pointerAt = "";
const placeOf = (event) => `${event.screenX},${event.screenY}`;
const pointerHasMoved = (event) => placeOf(event) !== pointerAt;
// Browsers say that a cell is entered or left before they say that the pointer has moved.
document.addEventListener("pointermove", (event) => (pointerAt = placeOf(event)));

/** Adds what pointers, fingers and keys do to a grid of cells. `records` maps each cell's node to what it shows. */
function listenToCells(grid, records, pane, { preview, pin, move }) {
  const recordAt = (event) => {
    const node = event.target.closest("[role=gridcell]");
    return node && records.get(node);
  };
  grid.addEventListener("pointerover", (event) => {
    const record = recordAt(event);
    if (record && event.pointerType !== "touch" && pointerHasMoved(event)) preview(record, pane);
  });
  grid.addEventListener("pointerleave", (event) => pointerHasMoved(event) && preview(null, pane));
  grid.addEventListener("click", (event) => {
    const record = recordAt(event);
    if (record) pin(record, true);
  });
  grid.addEventListener("keydown", (event) => {
    const record = recordAt(event);
    if (!record) return;
    if (event.key === "Enter" || event.key === " ") pin(record, true);
    else if (!move(record, event.key)) return;
    event.preventDefault();
  });
}

/** A cell's node: a text, its classes, and what a screen reader says of it. */
function cellNode(text, classes, label) {
  return make("div", { role: "gridcell", class: `cell ${classes}`, text, "aria-label": label, tabIndex: -1 });
}

/** One cell of those that are shown can be reached by Tab, at first the first. */
function reachByTab(grid) {
  const first = grid.querySelector("[role=gridcell]");
  if (first && !grid.querySelector("[role=gridcell][tabindex='0']")) first.tabIndex = 0;
}

/** Sides of a cell at which a frame ends, as classes. Where two frames meet, the cell behind draws the line of both. */
function edges(own, left, right, above, below) {
  if (own === null) return "";
  return (
    (left !== own ? " edge-left" : "") +
    (right ? "" : " edge-right") +
    (above !== own ? " edge-top" : "") +
    (below ? "" : " edge-bottom")
  );
}

class MemoryPane {
  constructor(buffer, actions) {
    this.buffer = buffer;
    this.view = buffer.members[0].view;
    this.records = new WeakMap();
    this.byCell = new Map();
    this.begin = 0;
    const name = buffer.name ? `Memory of ${buffer.name}` : "Memory";
    this.title = make("h2", { text: name });
    this.words = make("p", { class: "words" });
    this.head = make("div", { class: "row head", "aria-hidden": "true" });
    this.grid = make("div", { class: "grid", role: "grid", "aria-label": name });
    this.before = make("button", { type: "button", text: "earlier" });
    this.after = make("button", { type: "button", text: "later" });
    this.before.addEventListener("click", () => this.turn(-1));
    this.after.addEventListener("click", () => this.turn(1));
    const turns = make("div", { class: "turns" }, this.before, this.after);
    this.scroller = make("div", { class: "scroller" }, this.head, this.grid);
    this.root = make("section", { class: "pane memory" }, this.title, this.words, this.scroller, turns);
    listenToCells(this.grid, this.records, this, { ...actions, move: (record, key) => this.move(record, key, actions) });
  }

  /** How many cells a row has, and how wide one is, for the room that there is. */
  measure() {
    const { view, buffer } = this;
    const widths = buffer.members.map((member) => {
      const valued = state.label === "value" && member.view.values;
      const letters = valued ? longestValue(member.view) : this.labelOf(this.lastRecord(member)).length;
      return (Math.ceil(LETTER_PIXELS * letters) + 8) / (member.view.bits / buffer.unit);
    });
    this.cell = Math.max(LEAST_CELL, ...widths.map(Math.ceil));
    this.offsetWidth = Math.ceil(LETTER_PIXELS * `${buffer.cells}`.length) + 12;
    const fit = Math.max(2, Math.floor((this.scroller.clientWidth - this.offsetWidth - 4) / this.cell));
    const row = view.swizzle ? (BANKS * BANK_BYTES * 8) / buffer.unit : 0;
    if (view.image) this.columns = view.image.pitch * 4;
    else if (row > 0 && Number.isInteger(row)) this.columns = row;
    else this.columns = columnsOf(this.levels(), buffer.cells, fit);
    this.rows = Math.max(1, Math.floor(WINDOW_CELLS / this.columns));
  }

  /** The digits of all views in this buffer, with steps in its cells. */
  levels() {
    const steps = this.buffer.members.flatMap(({ view }) =>
      levelsOf(view).map(({ stride }) => ({ stride: Math.abs(stride) * (view.bits / this.buffer.unit) })),
    );
    return steps.sort((a, b) => a.stride - b.stride);
  }

  /** The element whose label is longest: no index is longer than the last. */
  lastRecord({ view, at }) {
    const index = view.dims.map((extent) => Math.max(0, extent - 1));
    return { slot: "element", view: at, index, offset: Math.max(0, view.span - 1) };
  }

  labelOf(record) {
    if (record.slot !== "element") return "";
    const view = scene.views[record.view];
    if (state.label === "offset") return `${record.offset}`;
    if (state.label === "value" && view.values) return valueText(view, record.index);
    // Dims with one index say nothing.
    return record.index.filter((_, d) => view.dims[d] > 1).join(",") || "0";
  }

  wordsOf() {
    const { view, buffer } = this;
    const bits = buffer.unit % 8 === 0 ? `${buffer.unit / 8} byte${buffer.unit === 8 ? "" : "s"}` : `${buffer.unit} bits`;
    let words = `${buffer.cells} cells of ${bits}`;
    if (view.image) words += `; ${view.image.width} x ${view.image.height} texels of 4 lanes, a row of the image a line`;
    else if (view.swizzle) words += "; a line for all 32 banks";
    if (buffer.cells > this.rows * this.columns) {
      words += `; shown are ${this.begin} to ${Math.min(buffer.cells, this.begin + this.rows * this.columns) - 1}`;
    }
    return words;
  }

  render() {
    this.measure();
    const size = this.rows * this.columns;
    this.begin = Math.floor(this.begin / size) * size;
    this.byCell.clear();
    this.words.textContent = this.wordsOf();
    this.scroller.style.setProperty("--cell", `${this.cell}px`);
    this.scroller.style.setProperty("--offset", `${this.offsetWidth}px`);
    this.scroller.style.setProperty("--columns", this.columns);
    this.renderHead();
    const rows = [];
    for (let from = this.begin; from < Math.min(this.buffer.cells, this.begin + size); from += this.columns) {
      rows.push(this.row(from));
    }
    this.grid.replaceChildren(...rows);
    reachByTab(this.grid);
    const several = this.buffer.cells > size;
    this.before.hidden = this.after.hidden = !several;
    this.before.disabled = this.begin === 0;
    this.after.disabled = this.begin + size >= this.buffer.cells;
  }

  /** What stands above the columns: lanes of texels, or banks. */
  renderHead() {
    const { view } = this;
    const nodes = [make("span")];
    for (let column = 0; column < this.columns && (view.image || view.swizzle); ++column) {
      const bank = (column * this.buffer.unit) / (BANK_BYTES * 8);
      const text = view.image ? "RGBA"[column % 4] : Number.isInteger(bank) ? `${bank}` : "";
      nodes.push(make("span", { text }));
    }
    this.head.hidden = nodes.length === 1;
    this.head.replaceChildren(...nodes);
  }

  row(from) {
    const node = make("div", { role: "row", class: "row" }, make("div", { role: "rowheader", class: "offset", text: `${from}` }));
    const end = Math.min(this.buffer.cells, from + this.columns);
    for (let cell = from; cell < end; ) {
      const record = this.recordAt(cell);
      const width = Math.min(record.first + record.width, end) - cell;
      node.append(this.cellNode(record, cell, width));
      cell += width;
    }
    return node;
  }

  recordAt(cell) {
    return { ...cellAt(this.buffer, cell), cell };
  }

  frameId(cell) {
    const record = cell >= 0 && cell < this.buffer.cells ? cellAt(this.buffer, cell) : { slot: "gap" };
    if (record.slot === "gap" || record.slot === "unknown") return null;
    const view = scene.views[record.view];
    return framesOf(view).inside.length > 0 ? `${record.view}:${frameOf(view, record.index).values.join()}` : null;
  }

  cellNode(record, cell, width) {
    const last = cell + width - 1;
    const column = (cell - this.begin) % this.columns;
    const sides = edges(
      this.frameId(cell),
      column > 0 ? this.frameId(cell - 1) : "",
      column + width < this.columns ? this.frameId(last + 1) : "",
      this.frameId(cell - this.columns),
      this.frameId(last + this.columns),
    );
    const node = cellNode(this.labelOf(record), `${record.slot}${colourClass(record)}${sides}`, this.spoken(record, cell));
    if (width > 1) node.style.gridColumn = `span ${width}`;
    this.records.set(node, record);
    for (let k = cell; k < cell + width; ++k) this.byCell.set(k, node);
    return node;
  }

  spoken(record, cell) {
    if (record.slot === "gap") return `cell ${cell}: a gap, which no index has`;
    if (record.slot === "unknown") return `cell ${cell}: not found`;
    const view = scene.views[record.view];
    const field = scene.kind === "fields" ? `${view.name} ` : "";
    return `offset ${record.offset}: ${field}${record.slot} ${indexText(view, record.index)}`;
  }

  /** The cell that shows a target, or null where it lies in no cell of this buffer. */
  cellOf(target) {
    if (target.cell !== undefined && target.buffer === this.buffer) return target.cell;
    if (!target.index) return null;
    if (scene.kind === "fields") return target.offset * (scene.views[target.view].bits / this.buffer.unit);
    if (target.view !== this.buffer.members[0].at && !sharedIndex) return null;
    if (!target.index.every((i, d) => i < this.view.padded[d])) return null;
    return offsetOf(this.view, target.index);
  }

  /** Lights the cell up that shows a target; `reveal`: turns to it where another part is shown. */
  light(target, reveal) {
    for (const node of this.grid.querySelectorAll(".on")) node.classList.remove("on");
    const cell = target && this.cellOf(target);
    if (cell === null || cell === undefined) return;
    if (!this.byCell.has(cell) && reveal) {
      this.begin = cell;
      this.render();
    }
    const node = this.byCell.get(cell);
    if (!node) return;
    node.classList.add("on");
    for (const other of this.grid.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    node.tabIndex = 0;
    if (reveal) scrollInto(this.scroller, node);
  }

  turn(by) {
    this.begin = Math.max(0, this.begin + by * this.rows * this.columns);
    this.render();
    onRender();
  }

  move(record, key, { pin }) {
    const end = record.first + record.width;
    const steps = { ArrowLeft: record.first - 1, ArrowRight: end, ArrowUp: record.cell - this.columns };
    steps.ArrowDown = record.cell + this.columns;
    const to = steps[key];
    if (to === undefined || to < 0 || to >= this.buffer.cells) return to !== undefined;
    const found = this.recordAt(to);
    pin({ ...found, cell: found.first }, false);
    this.light({ buffer: this.buffer, cell: found.first }, true);
    this.byCell.get(found.first)?.focus({ preventScroll: true });
    return true;
  }

  /** Offsets with their nodes, and the offsets beside them: left, right, above, below; -1 where a row begins or ends. */
  *offsetsShown() {
    for (const [cell, node] of this.byCell) {
      const column = (cell - this.begin) % this.columns;
      const [left, right] = [column > 0 ? cell - 1 : -1, column + 1 < this.columns ? cell + 1 : -1];
      yield [cell, node, [left, right, cell - this.columns, cell + this.columns]];
    }
  }

  /** Marks the cells of the walk so far. */
  mark(seen) {
    for (const [cell, node] of this.byCell) node.classList.toggle("seen", seen.has(cell));
  }
}

/** Scrolls a box, and never the page, so that a node in it is seen. */
function scrollInto(box, node) {
  const outer = box.getBoundingClientRect();
  const inner = node.getBoundingClientRect();
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + 30;
  if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 30;
  if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left + 60;
  if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right + 30;
}

/** " s3": the colour of a cell that holds an element. */
function colourClass(record) {
  if (record.slot !== "element") return "";
  const colouring = colourings.find(({ key }) => key === state.colour);
  return ` s${colouring.of(record.view, record.index, record.offset) % COLOURS}`;
}
