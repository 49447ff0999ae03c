// The walk: the order in which a loop nest, or the plan of a reorder, visits elements; what it touches so far, and the
// misses of a cache.

const MOST_STEPS = 1 << 18;

/** Whether a text is an order: letters of dims, outermost first, none twice; "memory", "plan"; or "" for row-major. */
function isOrder(view, text) {
  if (text === "plan") return planOrder !== null;
  const letters = [...text];
  return text === "memory" || (new Set(letters).size === letters.length && letters.every((letter) => view.letters.includes(letter)));
}

/** The loops of an order, outermost first: {dim, place, extent, words}. */
function loopsOf(view, order) {
  if (order === "memory") {
    // Digits that repeat a value are loops as well, the outermost ones.
    const repeated = digitsOf(view).filter((digit) => digit.extent > 1 && digit.stride === 0);
    return [...repeated, ...[...levelsOf(view)].reverse()].map(({ dim, place, extent, outermost }) => ({
      dim,
      place,
      extent,
      words: `${view.letters[dim]}${place > 1 ? `/${place}` : ""}${outermost ? "" : `%${extent}`}`,
    }));
  }
  return [...(order || view.letters)].map((letter) => {
    const dim = view.letters.indexOf(letter);
    return { dim, place: 1, extent: view.dims[dim], words: letter };
  });
}

/** The indices in the order of the loops, without padding, at most MOST_STEPS of them. Dims without a loop stay at 0. */
function walkOf(view, loops) {
  const out = [];
  if (elementsOf(view) === 0) return out;
  const values = loops.map(() => 0);
  for (;;) {
    const index = view.dims.map(() => 0);
    loops.forEach(({ dim, place }, k) => {
      index[dim] += values[k] * place;
    });
    if (isElement(view, index)) out.push(index);
    if (out.length === MOST_STEPS) return out;
    let k = loops.length - 1;
    while (k >= 0 && ++values[k] === loops[k].extent) values[k--] = 0;
    if (k < 0) return out;
  }
}

/** What the elements of a walk touch: lines, pages, and misses of a cache that drops the line used longest ago. */
class WalkCounts {
  constructor(view, walk, cacheBytes) {
    this.view = view;
    this.walk = walk;
    this.room = Math.max(1, Math.floor(cacheBytes / LINE_BYTES));
    this.clear();
  }

  clear() {
    this.steps = 0;
    this.lines = new Set();
    this.pages = new Set();
    this.cached = new Map();
    this.misses = 0;
  }

  /** The counts after so many steps. Steps forward cost what is new; one back begins anew. */
  upTo(steps) {
    if (steps < this.steps) this.clear();
    for (; this.steps < steps; ++this.steps) this.add(this.walk[this.steps]);
    return [this.steps, this.lines.size, this.pages.size, this.misses];
  }

  add(index) {
    const [first, last] = bytesOf(this.view, offsetOf(this.view, index));
    for (let line = Math.floor(first / LINE_BYTES); line <= Math.floor(last / LINE_BYTES); ++line) {
      this.lines.add(line);
      this.pages.add(Math.floor((line * LINE_BYTES) / PAGE_BYTES));
      if (this.cached.has(line)) this.cached.delete(line);
      else ++this.misses;
      this.cached.set(line, true);
      if (this.cached.size > this.room) this.cached.delete(this.cached.keys().next().value);
    }
  }
}

class Walk {
  constructor(onStep) {
    this.onStep = onStep;
    this.timer = null;
    this.written = 0; // when the address was, last
    this.orders = make("datalist", { id: "orders" });
    this.order = make("input", { type: "text", list: "orders", autocomplete: "off", spellcheck: "false", size: "8" });
    this.play = make("button", { type: "button", text: "Play" });
    this.back = make("button", { type: "button", text: "Back" });
    this.forth = make("button", { type: "button", text: "Step" });
    this.stop = make("button", { type: "button", text: "Clear" });
    this.speed = make("select", {}, ...[2, 8, 30, 120].map((n) => make("option", { value: `${n}`, text: `${n} a second` })));
    this.speed.value = "8";
    this.cache = make("input", { type: "number", min: "1", max: `${1 << 20}`, step: "1" });
    this.unit = make("select", {}, ...UNITS.map((unit) => make("option", { value: unit, text: unit })));
    this.problem = make("p", { class: "problem", role: "status" });
    this.nest = make("pre", { class: "nest", "aria-label": "Loop nest of the walk" });
    this.counts = make("table", { class: "counts" });
    this.reorder = planOrder && new ReorderPane(planOrder, (element) => this.go(this.endOfUnit(element)));
    this.unitLabel = make("label", { text: "A step moves one " }, this.unit);
    this.cacheLabel = make("label", { text: "Cache, KiB " }, this.cache);
    this.ofNest = make("div", {}, this.nest, this.counts);
    this.controls = make(
      "div",
      { class: "controls" },
      make("label", { text: "Loops, outermost first " }, this.order),
      this.orders,
      this.play,
      this.back,
      this.forth,
      this.stop,
      make("label", { text: "Speed " }, this.speed),
      this.unitLabel,
      this.cacheLabel,
    );
    const parts = [make("h2", { text: planOrder ? "Reorder, and walks" : "Walk" }), this.controls, this.problem, this.ofNest];
    this.root = make("section", { class: "walk" }, ...parts, ...(this.reorder ? [this.reorder.root] : []));
    this.listen();
  }

  listen() {
    this.order.addEventListener("change", () => this.takeOrder());
    this.play.addEventListener("click", () => (this.timer ? this.pause() : this.start()));
    this.forth.addEventListener("click", () => this.go(this.next()));
    this.back.addEventListener("click", () => this.go(this.before()));
    this.unit.addEventListener("change", () => {
      state.unit = this.unit.value;
      writeHash(true);
      this.show();
    });
    this.stop.addEventListener("click", () => this.go(null));
    this.speed.addEventListener("change", () => this.timer && this.start());
    this.cache.addEventListener("change", () => {
      state.cache = Math.min(1 << 20, Math.max(1, Math.floor(Number(this.cache.value)) || 1));
      this.cache.value = `${state.cache}`;
      writeHash(true);
      this.count();
      this.show();
    });
  }

  get view() {
    return scene.views[state.view];
  }

  /** The plan's order, where that is walked. */
  get plan() {
    return state.order === "plan" ? planOrder : null;
  }

  get length() {
    return this.plan?.length ?? this.indices.length;
  }

  /** The index at a step, and the view that it is one of: padding of the destination is not of the source. */
  at(step) {
    if (!this.plan) return { view: state.view, index: this.indices[step] };
    const index = this.plan.index(step);
    const view = index && index.every((i, d) => i < this.view.padded[d]) ? state.view : 1;
    return { view, index };
  }

  /** The last element of the step that has an element. */
  endOfUnit(element) {
    return this.plan ? this.plan.around(element, state.unit)[1] - 1 : element;
  }

  next() {
    const next = (state.step ?? -1) + 1;
    return next < this.length ? this.endOfUnit(next) : next;
  }

  before() {
    if (!this.plan || state.step === null) return (state.step ?? 0) - 1;
    const start = this.plan.around(state.step, state.unit)[0];
    return start === 0 ? null : start - 1;
  }

  /** Reads the order in the field; one that is none stays there with the reason. */
  takeOrder() {
    const { view } = this;
    const text = this.order.value.trim();
    const order = text === view.letters ? "" : text;
    if (!isOrder(view, order)) {
      const plan = planOrder ? "memory, or plan" : "or memory";
      this.problem.textContent = `The loops are letters of ${view.letters}, each at most once, ${plan}; a dim without a loop stays at 0.`;
      return;
    }
    this.pause();
    state.order = order;
    state.step = null;
    writeHash(true);
    this.load();
    this.onStep(null);
  }

  /** Works the walk out for the view and the order of the state. */
  load() {
    const { view } = this;
    if (!isOrder(view, state.order)) state.order = "";
    this.problem.textContent = "";
    this.order.value = state.order || view.letters;
    const reversed = [...view.letters].reverse().join("");
    const offered = [...new Set([...(planOrder ? ["plan"] : []), view.letters, reversed, "memory"])].map((value) => make("option", { value }));
    this.orders.replaceChildren(...offered);
    this.loops = this.plan ? [] : loopsOf(view, state.order);
    this.indices = this.plan ? [] : walkOf(view, this.loops);
    if (state.step !== null && state.step >= this.length) state.step = null;
    this.unit.value = state.unit;
    this.unitLabel.hidden = !this.plan;
    this.cacheLabel.hidden = this.ofNest.hidden = this.plan !== null;
    if (this.reorder) this.reorder.root.hidden = this.reorder.now.hidden = !this.plan;
    this.cache.value = `${state.cache}`;
    this.count();
    this.show();
  }

  /** What the whole walk touches, and the counters of what it has touched so far. */
  count() {
    const views = this.plan ? [] : sharedIndex ? scene.views : [this.view];
    this.touched = views.map((view) => {
      const counter = () => new WalkCounts(view, this.indices, state.cache * 1024);
      return { view, soFar: counter(), all: counter().upTo(this.indices.length) };
    });
  }

  start() {
    this.pause();
    if (state.step !== null && state.step + 1 >= this.length) state.step = null;
    this.play.textContent = "Pause";
    this.timer = setInterval(() => this.go(this.next(), true), 1000 / Number(this.speed.value));
  }

  pause() {
    if (this.timer) writeHash(false);
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  /** Goes to a step; null is before the first. */
  go(step, playing = false) {
    if (!playing) this.pause();
    if (step !== null && (step < 0 || step >= this.length)) {
      this.pause();
      return;
    }
    state.step = step;
    // Browsers take an address only so many times a second.
    if (!playing || performance.now() - this.written > 500) {
      writeHash(false);
      this.written = performance.now();
    }
    this.show();
    this.onStep(step === null ? null : this.at(step).index);
  }

  /** The cells of a buffer that the walk has visited. */
  seen(buffer) {
    const out = new Set();
    if (state.step === null) return out;
    if (this.plan) return this.plan.seenUpTo(buffer.members[0].at, state.step + 1);
    for (const { view, at } of buffer.members) {
      if (at !== state.view && !sharedIndex) continue;
      for (const index of this.indices.slice(0, state.step + 1)) {
        const first = offsetOf(view, index) * (view.bits / buffer.unit);
        for (let k = 0; k < view.bits / buffer.unit; ++k) out.add(first + k);
      }
    }
    return out;
  }

  show() {
    if (this.plan) {
      this.reorder.show(state.step, state.unit);
      return;
    }
    const now = state.step === null ? null : this.indices[state.step];
    const lines = this.loops.map(({ dim, place, extent, words }, k) => {
      const value = now ? `${Math.floor(now[dim] / place) % extent}` : "";
      return make("span", { class: "loop", text: `${"  ".repeat(k)}for ${words} in 0..${extent - 1}${now ? `   now ${value}` : ""}\n` });
    });
    const inside = "  ".repeat(this.loops.length);
    const place = now ? `   offset ${offsetOf(this.view, now)}` : "";
    this.nest.replaceChildren(...lines, make("span", { text: `${inside}x[${[...this.view.letters].join(",")}]${place}` }));
    this.showCounts();
  }

  showCounts() {
    const total = this.indices.length;
    const steps = state.step === null ? 0 : state.step + 1;
    const cut = total === MOST_STEPS ? `the first ${total}` : "in all";
    const head = ["", "elements", "lines", "pages", "cache misses"].map((text) => make("th", { scope: "col", text }));
    const rows = [make("tr", {}, ...head)];
    for (const { view, soFar, all } of this.touched) {
      const name = this.touched.length > 1 ? `${view.name}: ` : "";
      for (const [words, counts] of [["so far", soFar.upTo(steps)], [cut, all]]) {
        const cells = counts.map((n) => make("td", { text: `${n}` }));
        rows.push(make("tr", {}, make("th", { scope: "row", text: name + words }), ...cells));
      }
    }
    this.counts.replaceChildren(...rows);
  }
}
