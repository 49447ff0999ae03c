// The inspector: what is known of the cell that is pointed at, with the formula of its offset filled in.

class Inspector {
  constructor() {
    this.root = make("section", { class: "inspector", "aria-live": "polite", "aria-label": "The cell that is shown" });
    this.show(null);
  }

  /** Keeps room for what the last element needs, so that nothing below moves from under the pointer. */
  reserve() {
    this.root.style.minHeight = "";
    const at = state.view;
    const view = scene.views[at];
    const index = view.dims.map((extent) => Math.max(0, extent - 1));
    if (elementsOf(view) > 0) this.show({ slot: "element", view: at, index, offset: offsetOf(view, index) });
    this.root.style.minHeight = `${this.root.offsetHeight}px`;
  }

  /** A target is {slot, view, index, offset, buffer, cell}; null where nothing is shown. */
  show(target) {
    if (!target) {
      const words = "Point at a cell, or go to one by Tab and the arrows. A click keeps it, and the browser's back button takes that back.";
      this.root.replaceChildren(this.listOf([["cell", words]]));
      return;
    }
    if (!target.index) {
      const why = target.slot === "gap" ? "nothing: a gap, which no index has" : "not found: the strides are too contrived";
      this.root.replaceChildren(
        this.listOf([
          ["cell", `${target.cell} of ${target.buffer.name || "memory"}`],
          ["holds", why],
        ]),
      );
      return;
    }
    const view = scene.views[target.view];
    const index = ["index", indexText(view, target.index) + (target.slot === "padding" ? ", in the padding" : "")];
    const [first, ...others] = this.viewsFor(target).map((at) => this.rowsOf(at, target));
    if (others.length === 0) this.root.replaceChildren(this.listOf([index, ...first]));
    else this.root.replaceChildren(this.listOf([index]), make("div", { class: "both" }, ...[first, ...others].map((rows) => this.listOf(rows))));
  }

  /** Pairs of a name and one line or several. */
  listOf(rows) {
    const nodes = rows.flatMap(([name, words]) => [
      make("dt", { text: name }),
      make("dd", {}, ...[words].flat().map((line) => make("div", { text: line }))),
    ]);
    return make("dl", {}, ...nodes);
  }

  /** Both sides of a comparison, where the index lies in both. */
  viewsFor(target) {
    if (!sharedIndex) return [target.view];
    return scene.views.map((_, at) => at).filter((at) => target.index.every((i, d) => i < scene.views[at].padded[d]));
  }

  rowsOf(at, target) {
    const view = scene.views[at];
    const offset = offsetOf(view, target.index);
    const [first, last] = bytesOf(view, offset);
    const of = scene.views.length > 1 && view.name ? ` in ${view.name}` : "";
    const bits = view.bits % 8 === 0 ? "" : `, from bit ${(offset * view.bits) % 8}`;
    const rows = [
      [`offset${of}`, `${offset}`],
      ["byte", (first === last ? `${first}` : `${first} to ${last}`) + bits],
    ];
    if (scene.kind === "fields") rows.unshift(["field", `${view.name}, ${view.dtype}`]);
    const block = this.blockText(view, target.index);
    if (block) rows.push(["block", block]);
    if (view.image) {
      const texel = Math.floor(offset / 4);
      const { pitch } = view.image;
      rows.push(["texel", `x ${texel % pitch}, y ${Math.floor(texel / pitch)}, lane ${offset % 4} (${"RGBA"[offset % 4]})`]);
    }
    if (view.swizzle) rows.push(["bank", `${Math.floor(first / BANK_BYTES) % BANKS}`]);
    rows.push(["formula", [view.formula, `= ${filledFormula(view, target.index)[0]}`, ...filledFormula(view, target.index).slice(1)]]);
    const value = target.slot === "element" ? valueText(view, target.index) : null;
    if (value !== null) rows.push(["value", value]);
    return rows;
  }

  /** "number 3, place 5 of 8": which block, and where inside it. */
  blockText(view, index) {
    const { inside, blocks } = framesOf(view);
    if (!blocks) return "";
    const place = inside.reduceRight((sum, digit) => sum * digit.extent + digitValue(digit, index), 0);
    const size = inside.reduce((product, digit) => product * digit.extent, 1);
    return `number ${frameOf(view, index).number}, place ${place} of ${size}`;
  }
}
