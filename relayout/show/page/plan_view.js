// The graph: one group of shapes that is moved and scaled as a whole. Shapes are made for what is in view and some room
// around it; from far away boxes have no words and those of one colour are one shape.

const SVG = "http://www.w3.org/2000/svg";
const LEAST_ZOOM = 0.01;
const MOST_ZOOM = 4;
const WORDS_FROM = 0.4; // the zoom from which boxes have words
const CASING_FROM = 0.15; // that from which lines have a darker edge
const DIAMOND = 13; // half of its width

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function words(x, y, text, className) {
  const node = shape("text", { x, y, class: className });
  node.textContent = text;
  return node;
}

/** A box's outline as a path: a diamond, or a rectangle that is `more` larger on each side. */
function outline(box, more = 0) {
  const { kind, x, y, width, height } = boxes[box];
  if (kind === REORDER) {
    const [middleX, middleY, half] = [x + width / 2, y + height / 2, DIAMOND + 1.4 * more];
    return `M${middleX} ${middleY - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z`;
  }
  return `M${x - more} ${y - more}h${width + 2 * more}v${height + 2 * more}h${-width - 2 * more}z`;
}

class GraphView {
  /** `pick` is called with the box that was clicked, or null; `moved` after the view has changed. */
  constructor(pick, moved) {
    this.pick = pick;
    this.moved = moved;
    this.group = shape("g", {});
    this.svg = shape("svg", { class: "graph", focusable: "false", "aria-hidden": "true" }, this.group);
    this.root = make("div", { class: "view", tabIndex: 0, role: "application", "aria-roledescription": "graph" }, this.svg);
    this.root.setAttribute(
      "aria-label",
      "The graph. Arrows move it, plus and minus zoom, 0 shows all, Enter opens the box in the middle. The lists below have the same.",
    );
    this.centre = { x: scene.width / 2, y: 0 };
    this.zoom = 1;
    this.built = null; // what shapes were made for
    this.frame = 0;
    this.resting = 0; // the timer of sharpen()
    this.pointers = new Map();
    this.listen();
  }

  get size() {
    return { width: this.root.clientWidth || 600, height: this.root.clientHeight || 400 };
  }

  /** The part of the drawing that is in view. */
  get visible() {
    const { width, height } = this.size;
    const [halfWidth, halfHeight] = [width / 2 / this.zoom, height / 2 / this.zoom];
    return { left: this.centre.x - halfWidth, right: this.centre.x + halfWidth, top: this.centre.y - halfHeight, bottom: this.centre.y + halfHeight };
  }

  /** All of the drawing, or where it would be too small to read, its begin. */
  showBegin() {
    const { width, height } = this.size;
    const all = Math.min(width / scene.width, height / scene.height, 1);
    if (all >= 0.7) return this.showAll();
    this.zoom = Math.min(1, Math.max(0.8, width / 900));
    const top = boxes.reduce((first, box) => (box.y < first.y ? box : first), boxes[0]);
    this.centre = { x: top.x + top.width / 2, y: height / 2 / this.zoom };
    this.change();
  }

  showAll() {
    const { width, height } = this.size;
    this.zoom = Math.max(LEAST_ZOOM, Math.min(width / scene.width, height / scene.height, 1));
    this.centre = { x: scene.width / 2, y: scene.height / 2 };
    this.change();
  }

  /** Puts a box into the middle, near enough to be read. */
  showBox(box) {
    const { x, y, width, height } = boxes[box];
    this.centre = { x: x + width / 2, y: y + height / 2 };
    this.zoom = Math.max(this.zoom, 0.7);
    this.change();
  }

  place(view) {
    this.centre = { x: view.x, y: view.y };
    this.zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, view.zoom));
    this.change();
  }

  moveBy(x, y) {
    this.centre.x = Math.min(scene.width, Math.max(0, this.centre.x + x / this.zoom));
    this.centre.y = Math.min(scene.height, Math.max(0, this.centre.y + y / this.zoom));
    this.change();
  }

  /** Zooms so that the point of the screen (from the upper left of the view) stays. */
  zoomBy(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.zoom * factor));
    const { width, height } = this.size;
    this.centre.x += (x - width / 2) * (1 / this.zoom - 1 / zoom);
    this.centre.y += (y - height / 2) * (1 / this.zoom - 1 / zoom);
    this.zoom = zoom;
    this.change();
  }

  /** Draws before the next picture of the screen; several changes are drawn at once. */
  change() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
      this.moved();
    });
  }

  /** Shapes are made anew: another plan, selection or search. */
  refresh() {
    this.built = null;
    this.change();
  }

  /** Moves the shapes that there are, as one picture, which browsers do without painting it anew; shapes for another
   *  part, or of another size, are made where these do not suffice, and once zooming has come to rest. */
  draw() {
    const visible = this.visible;
    const near = this.zoom >= WORDS_FROM;
    const { built } = this;
    const within = built && built.near === near && visible.left >= built.left && visible.right <= built.right && visible.top >= built.top && visible.bottom <= built.bottom;
    const growth = built ? this.zoom / built.zoom : 1;
    if (!within || growth > 1.6 || growth < 0.6) this.build(visible, near);
    else if (growth !== 1) this.sharpen();
    const { left, top, zoom } = this.built;
    this.svg.style.transform = `translate(${(left - visible.left) * this.zoom}px, ${(top - visible.top) * this.zoom}px) scale(${this.zoom / zoom})`;
  }

  /** Makes shapes of the right size a moment after the last change of the zoom. */
  sharpen() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.refresh(), 150);
  }

  build(visible, near) {
    clearTimeout(this.resting);
    const [roomX, roomY] = [(visible.right - visible.left) / 4, (visible.bottom - visible.top) / 4];
    const area = { left: visible.left - roomX, right: visible.right + roomX, top: visible.top - roomY, bottom: visible.bottom + roomY };
    this.built = { ...area, near, zoom: this.zoom };
    this.svg.style.width = `${(area.right - area.left) * this.zoom}px`;
    this.svg.style.height = `${(area.bottom - area.top) * this.zoom}px`;
    this.group.setAttribute("transform", `scale(${this.zoom}) translate(${-area.left} ${-area.top})`);
    const shown = [];
    boxes.forEach(({ x, y, width, height }, box) => {
      const meets = x <= area.right && x + width >= area.left && y <= area.bottom && y + height >= area.top;
      if (meets && state.plan.has(box)) shown.push(box);
    });
    const shapes = [...this.lineShapes(area), ...(near ? shown.flatMap((box) => this.boxShapes(box)) : this.farShapes(shown)), ...this.marks(shown)];
    this.group.replaceChildren(...shapes);
  }

  /** Lines of one layout are one path, on a darker one that sets all lines off from the paper. */
  lineShapes(area) {
    const paths = Array.from({ length: COLOURS }, () => []);
    const picked = [];
    for (const { line, copy } of state.plan.flows) {
      const { path, left, right, top, bottom, from, to } = lines[line];
      if (left > area.right || right < area.left || top > area.bottom || bottom < area.top) continue;
      paths[colourOf(state.plan.copies[copy].form)].push(path);
      if (from === state.box || to === state.box) picked.push(path);
    }
    const thin = this.zoom < CASING_FROM;
    const out = thin ? [] : [shape("path", { class: "casing", d: paths.flat().join("") })];
    if (picked.length > 0) out.push(shape("path", { class: "picked", d: picked.join("") }));
    paths.forEach((list, colour) => {
      if (list.length > 0) out.push(shape("path", { class: `line f${colour}${thin ? " thin" : ""}`, d: list.join("") }));
    });
    return out;
  }

  farShapes(shown) {
    const paths = Array.from({ length: COLOURS + 1 }, () => []);
    for (const box of shown) paths[state.plan.formOf(box) === -1 ? COLOURS : colourOf(state.plan.formOf(box))].push(outline(box, boxes[box].kind === REORDER ? 8 : 0));
    return paths.flatMap((list, colour) => (list.length > 0 ? [shape("path", { class: `box b${colour} far`, d: list.join("") })] : []));
  }

  boxShapes(box) {
    const { kind, number, x, y, width, height } = boxes[box];
    const form = state.plan.formOf(box);
    const slow = kind === NODE && state.plan.steps[number].reference ? " slow" : "";
    const className = `box b${form === -1 ? COLOURS : colourOf(form)}${slow}`;
    const texts = state.plan.words(box);
    if (kind === REORDER) {
      return [shape("path", { class: `${className} reorder`, d: outline(box), "data-box": box }), words(x + width / 2 + DIAMOND + 12, y + height / 2 + 4, texts[0], "bytes")];
    }
    const radius = kind === NODE ? 4 : height / 2;
    const out = [shape("rect", { class: className, x, y, width, height, rx: radius, "data-box": box })];
    texts.forEach((text, k) => out.push(words(x + width / 2, y + (kind === NODE ? 16 : 15) + 14 * k, text, k === 0 ? "name" : "more")));
    return out;
  }

  /** What is selected, found, or differs from the other plan. */
  marks(shown) {
    const [found, differs] = [[], []];
    for (const box of shown) {
      if (search.found.has(box)) found.push(outline(box, 4));
      if (state.other && difference(state.plan, state.other, box)) differs.push(outline(box, 2));
    }
    const out = [];
    if (differs.length > 0) out.push(shape("path", { class: "differs", d: differs.join("") }));
    if (found.length > 0) out.push(shape("path", { class: "found", d: found.join("") }));
    if (state.box !== null && shown.includes(state.box)) out.push(shape("path", { class: "selected", d: outline(state.box, 6) }));
    return out;
  }

  /** The box at a point of the screen; a little beside small ones counts. */
  boxAt(clientX, clientY) {
    const frame = this.root.getBoundingClientRect();
    const { width, height } = this.size;
    const x = this.centre.x + (clientX - frame.left - this.root.clientLeft - width / 2) / this.zoom;
    const y = this.centre.y + (clientY - frame.top - this.root.clientTop - height / 2) / this.zoom;
    const slack = 3 / this.zoom;
    const found = boxes.findIndex((box, at) => state.plan.has(at) && x >= box.x - slack && x <= box.x + box.width + slack && y >= box.y - slack && y <= box.y + box.height + slack);
    return found === -1 ? null : found;
  }

  /** The box nearest to the middle of the view. */
  middleBox() {
    const distance = ({ x, y, width, height }) => Math.hypot(x + width / 2 - this.centre.x, y + height / 2 - this.centre.y);
    return boxes.reduce((best, box, at) => (state.plan.has(at) && (best === null || distance(box) < distance(boxes[best])) ? at : best), null);
  }

  listen() {
    const { root } = this;
    root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      root.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, far: 0 });
    });
    root.addEventListener("pointermove", (event) => this.onMove(event));
    const end = (event, click) => {
      const pointer = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (pointer && click && pointer.far < 5 && this.pointers.size === 0) this.pick(this.boxAt(event.clientX, event.clientY));
    };
    root.addEventListener("pointerup", (event) => end(event, true));
    root.addEventListener("pointercancel", (event) => end(event, false));
    root.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const frame = root.getBoundingClientRect();
        const lines = event.deltaMode === 1 ? 30 : 1;
        this.zoomBy(Math.exp(-Math.max(-300, Math.min(300, event.deltaY * lines)) / 500), event.clientX - frame.left, event.clientY - frame.top);
      },
      { passive: false },
    );
    root.addEventListener("keydown", (event) => this.onKey(event));
  }

  onMove(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const [x, y] = [event.clientX - pointer.x, event.clientY - pointer.y];
    const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
    const before = other && Math.hypot(pointer.x - other.x, pointer.y - other.y);
    Object.assign(pointer, { x: event.clientX, y: event.clientY, far: pointer.far + Math.hypot(x, y) });
    if (!other) {
      if (pointer.far >= 5) this.moveBy(-x, -y);
      return;
    }
    // Two fingers: their distance zooms about the point between them.
    const frame = this.root.getBoundingClientRect();
    other.far = 5;
    this.moveBy(-x / 2, -y / 2);
    const now = Math.hypot(pointer.x - other.x, pointer.y - other.y);
    if (before > 0 && now > 0) this.zoomBy(now / before, (pointer.x + other.x) / 2 - frame.left, (pointer.y + other.y) / 2 - frame.top);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 400 : 80;
    const actions = {
      ArrowLeft: () => this.moveBy(-step, 0),
      ArrowRight: () => this.moveBy(step, 0),
      ArrowUp: () => this.moveBy(0, -step),
      ArrowDown: () => this.moveBy(0, step),
      "+": () => this.zoomBy(1.3),
      "=": () => this.zoomBy(1.3),
      "-": () => this.zoomBy(1 / 1.3),
      0: () => this.showAll(),
      Enter: () => this.pick(this.middleBox()),
      Escape: () => this.pick(null),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
