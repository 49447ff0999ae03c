// What stands beside the graph: policies with their totals, the search, what is known of a box, reorders, all nodes.

function button(text, action, properties = {}) {
  const node = make("button", { type: "button", text, ...properties });
  node.addEventListener("click", action);
  return node;
}

/** A table that scrolls by itself where it is wider than its place. */
function table(label, headings, rows) {
  const head = make("tr", {}, ...headings.map((text) => make("th", { scope: "col", text })));
  const scroller = make("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": label });
  scroller.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  return scroller;
}

function cells(...contents) {
  return contents.map((content) => (typeof content === "string" ? make("td", { text: content }) : make("td", {}, content)));
}

/** Hits of the search, in the order in which they stand in the graph. */
class Search {
  constructor() {
    this.hits = [];
    this.found = new Set();
    this.input = make("input", { type: "search", placeholder: "node, tensor, layout, kind", "aria-label": "Search the graph" });
    this.count = make("span", { class: "count", role: "status" });
    this.root = make("div", { class: "search" }, this.input, button("Previous", () => this.step(-1)), button("Next", () => this.step(1)), this.count);
    this.input.addEventListener("input", () => {
      state.query = this.input.value.slice(0, 200);
      this.look();
      view.refresh();
      writeHash(false);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    });
  }

  /** Looks anew, after another query or another plan. */
  look() {
    if (this.input.value !== state.query) this.input.value = state.query;
    const wanted = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    this.hits = [];
    if (wanted.length > 0) {
      boxes.forEach((_, box) => {
        if (!state.plan.has(box)) return;
        const text = state.plan.searched(box);
        if (wanted.every((word) => text.includes(word))) this.hits.push(box);
      });
    }
    this.hits.sort((a, b) => boxes[a].y - boxes[b].y || boxes[a].x - boxes[b].x);
    this.found = new Set(this.hits);
    this.say();
  }

  say() {
    const at = this.hits.indexOf(state.box);
    const all = this.hits.length;
    const found = `${all} found`;
    this.count.textContent = state.query === "" ? "" : at === -1 ? found : `${at + 1} of ${all}`;
  }

  step(by) {
    if (this.hits.length === 0) return;
    const at = this.hits.indexOf(state.box);
    const next = at === -1 ? (by > 0 ? 0 : this.hits.length - 1) : (at + by + this.hits.length) % this.hits.length;
    select(this.hits[next], true);
  }
}

/** The policies with their totals, each compared with the one that is shown. */
class Policies {
  constructor() {
    this.root = make("section", { class: "policies", "aria-label": "Policies" });
  }

  show() {
    const rows = plans.map((plan) => this.row(plan));
    const headings = ["policy", "predicted", "difference", "cost", "reorders", "moved", "at load"];
    if (plans.some((plan) => plan.measured_us !== null)) headings.splice(2, 0, "measured");
    const focused = this.root.contains(document.activeElement);
    this.root.replaceChildren(table("Policies with their totals", headings, rows), this.comparison());
    if (focused) this.root.querySelector("[aria-pressed=true]")?.focus();
  }

  row(plan) {
    const shown = plan === state.plan;
    const name = plan.complete
      ? button(plan.policy, () => choosePlan(plan), { "aria-pressed": `${shown}` })
      : make("span", { text: plan.policy });
    const number = (value) => (value === null || value === undefined ? "-" : `${value}`);
    const out = [
      plan.predicted_us === null ? "-" : timeText(plan.predicted_us),
      this.share(plan),
      plan.cost_us === null ? "-" : timeText(plan.cost_us),
      number(plan.reorders),
      plan.reorder_bytes === null ? "-" : bytesText(plan.reorder_bytes),
      number(plan.load_reorders),
    ];
    if (plans.some((one) => one.measured_us !== null)) out.splice(2, 0, plan.measured_us === null ? "-" : timeText(plan.measured_us));
    if (plan.problem) out[out.length - 1] += ` ${plan.problem}`;
    return make("tr", { class: shown ? "shown" : "" }, make("th", { scope: "row" }, name), ...cells(...out));
  }

  /** How much longer a plan takes than the one that is shown. */
  share(plan) {
    const [mine, theirs] = [state.plan.predicted_us, plan.predicted_us];
    if (plan === state.plan || !mine || theirs === null) return "-";
    const percent = (100 * (theirs - mine)) / mine;
    return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)} %`;
  }

  /** How many nodes the other plan has otherwise; these have dashed frames in the graph. */
  comparison() {
    const options = complete.filter((plan) => plan !== state.plan);
    const choice = make("select", { "aria-label": "Mark what differs from" }, make("option", { value: "", text: "no plan" }), ...options.map((plan) => make("option", { value: plan.policy, text: plan.policy })));
    choice.value = state.other ? state.other.policy : "";
    choice.addEventListener("change", () => chooseOther(planNamed(choice.value)));
    const out = make("p", { class: "comparison" }, make("label", { text: "Dashed: what differs from " }, choice));
    if (!state.other) return out;
    const counts = { layout: 0, implementation: 0, reorder: 0 };
    boxes.forEach((_, box) => {
      if (!state.plan.has(box) && !state.other.has(box)) return;
      const how = difference(state.plan, state.other, box);
      if (how) ++counts[how];
    });
    const all = boxes.filter(({ kind }) => kind !== REORDER).length;
    out.append(` ${counts.layout} of ${all} nodes and ends have another layout, ${counts.implementation} only another implementation; ${counts.reorder} reorders are in one of the two alone, or between other layouts.`);
    return out;
  }
}

/** What is known of the box that is selected. */
class Details {
  constructor() {
    this.root = make("section", { class: "details", "aria-live": "polite", "aria-label": "What is selected" });
  }

  show() {
    if (state.box === null) {
      const hint = "Click a box to see its layouts, or a diamond to see why a reorder is there.";
      this.root.replaceChildren(make("h2", { text: "Nothing is selected" }), make("p", { class: "words", text: hint }));
      return;
    }
    const { kind } = boxes[state.box];
    const rows = kind === NODE ? this.nodeRows() : kind === REORDER ? this.reorderRows() : this.endRows();
    const nodes = rows.flatMap(([name, content]) => [make("dt", { text: name }), make("dd", {}, ...[content].flat().map((one) => (typeof one === "string" ? make("div", { text: one }) : one)))]);
    this.root.replaceChildren(make("h2", { text: state.plan.title(state.box) }), make("dl", {}, ...nodes));
  }

  /** A button that leads to a box. */
  link(box) {
    return button(state.plan.title(box), () => select(box, true), { class: "link" });
  }

  tensorText(copy) {
    const { tensor, exact, viewOf } = state.plan.copies[copy];
    const [name, dims, dtype] = scene.tensors[tensor];
    const inside = viewOf === -1 ? "" : `, in the memory of ${state.plan.tensorName(viewOf)}`;
    return `${name}  ${dims.join("x") || "scalar"} ${dtype}  ${state.plan.formText(copy)}${exact ? ` (${exact})` : ""}${inside}`;
  }

  nodeRows() {
    const { number } = boxes[state.box];
    const [, , pass, postOps] = scene.nodes[number];
    const step = state.plan.steps[number];
    const remarks = [step.reference ? "a slow reference" : "", step.roundsMore ? "rounds more" : ""].filter(Boolean).join(", ");
    const rows = [["by", step.implementation + (remarks ? ` (${remarks})` : "")], ["time", timeText(step.us)]];
    if (pass) rows.push(["pass", pass]);
    if (postOps.length > 0) rows.push(["then", postOps]);
    const reads = step.src.filter((copy) => copy !== -1).map((copy) => {
      const text = this.tensorText(copy);
      return state.plan.atLoad.has(copy) ? `${text}, reordered once at load from ${state.plan.formText(state.plan.copies[copy].from)}` : text;
    });
    rows.push(["reads", reads.length > 0 ? reads : "nothing"]);
    rows.push(["writes", step.dst.filter((copy) => copy !== -1).map((copy) => this.tensorText(copy))]);
    return [...rows, ...this.neighbours(), ...this.elsewhere()];
  }

  reorderRows() {
    const { copy, words: source } = state.plan.reorderOf.get(state.box);
    const { from, reason, bytes, us } = state.plan.copies[copy];
    const rows = [
      ["from", this.tensorText(from)],
      ["to", this.tensorText(copy)],
      ["moves", bytes === null ? "not known" : `${bytesText(bytes)} (${bytes} bytes read and written)`],
      ["time", timeText(us)],
      ["why", reason ? [reason, source] : [source]],
    ];
    return [...rows, ...this.neighbours()];
  }

  endRows() {
    return [["tensor", this.tensorText(state.plan.copyOf(state.box))], ...this.neighbours()];
  }

  neighbours() {
    const out = [];
    const above = [...new Set(state.plan.in[state.box].map(({ line }) => lines[line].from))];
    const below = [...new Set(state.plan.out[state.box].map(({ line }) => lines[line].to))];
    if (above.length > 0) out.push(["comes from", above.map((box) => this.link(box))]);
    if (below.length > 0) out.push(["goes to", below.map((box) => this.link(box))]);
    return out;
  }

  /** The same node under the other policy, where it differs. */
  elsewhere() {
    if (!state.other || !difference(state.plan, state.other, state.box)) return [];
    const step = state.other.steps[boxes[state.box].number];
    const form = state.other.formOf(state.box);
    return [[`by ${state.other.policy}`, `${form === -1 ? "" : `${scene.forms[form]} by `}${step.implementation}, ${timeText(step.us)}`]];
  }
}

/** All reorders of a run, the costliest first; each row leads to its diamond. */
class Reorders {
  constructor() {
    this.root = make("section", { class: "reorders", "aria-label": "Reorders" });
  }

  show() {
    const list = state.plan.byCost;
    const heading = make("h2", { text: list.length === 0 ? `No reorders under ${state.plan.policy}` : `Reorders under ${state.plan.policy}, the costliest first` });
    if (list.length === 0) {
      this.root.replaceChildren(heading);
      return;
    }
    const rows = list.map(({ box, copy, words: source }) => {
      const { from, bytes, us, reason } = state.plan.copies[copy];
      const go = button(state.plan.tensorName(copy), () => select(box, true), { class: "link" });
      const change = `${state.plan.formText(from)} to ${state.plan.formText(copy)}`;
      const className = box === state.box ? "shown" : "";
      const why = make("td", { class: "words", colSpan: 4, text: [reason, source].filter(Boolean).join(". ") });
      return [make("tr", { class: className }, make("th", { scope: "row" }, go), ...cells(change, bytesText(bytes), timeText(us))), make("tr", { class: `${className} why` }, why)];
    });
    this.root.replaceChildren(heading, table("Reorders", ["tensor", "change", "moves", "takes"], rows.flat()));
  }
}

/** All nodes, and reorders of constants, as lists, made when they are opened: the graph in words. */
class Lists {
  constructor() {
    this.nodes = this.folded("All nodes as a list", () => this.nodeTable());
    this.load = this.folded("Reorders of constants, once at load", () => this.loadTable());
    this.root = make("section", { class: "lists", "aria-label": "Lists" }, this.nodes, this.load);
  }

  folded(words, content) {
    const place = make("div", {});
    const out = make("details", {}, make("summary", { text: words }), place);
    out.fill = () => place.replaceChildren(...(out.open ? [content()] : []));
    out.addEventListener("toggle", out.fill);
    return out;
  }

  show() {
    this.nodes.fill();
    this.load.fill();
  }

  nodeTable() {
    const { plan } = state;
    const layouts = (copies) => copies.filter((copy) => copy !== -1 && scene.tensors[plan.copies[copy].tensor][1].length > 1).map((copy) => plan.formText(copy));
    const rows = scene.nodes.map(([name, kind], box) => {
      const step = plan.steps[box];
      return make("tr", {}, make("th", { scope: "row" }, button(name, () => select(box, true), { class: "link" })), ...cells(kind, step.implementation, layouts(step.src).join(" "), layouts(step.dst).join(" "), timeText(step.us)));
    });
    return table("All nodes", ["name", "kind", "by", "reads", "writes", "takes"], rows);
  }

  loadTable() {
    const { plan } = state;
    const rows = [...plan.atLoad].map((copy) => {
      const { from, bytes, reason } = plan.copies[copy];
      return make("tr", {}, make("th", { scope: "row", text: plan.tensorName(copy) }), ...cells(`${plan.formText(from)} to ${plan.formText(copy)}`, bytesText(bytes), reason));
    });
    return rows.length === 0 ? make("p", { text: "None." }) : table("Reorders of constants", ["tensor", "change", "moves", "why"], rows);
  }
}

/** The layouts that the shown plan has, with their colours. */
function legendOf(plan) {
  const used = new Set(boxes.flatMap((_, box) => (plan.has(box) && plan.formOf(box) !== -1 ? [plan.formOf(box)] : [])));
  for (const { copy } of plan.flows) used.add(plan.copies[copy].form);
  const sample = (className, text) => make("span", { class: "sample" }, make("span", { class: className }), ` ${text}`);
  const out = [...used].sort((a, b) => a - b).map((form) => sample(`cell s${colourOf(form)}`, scene.forms[form]));
  out.push(sample("diamond", "reorder"));
  if (plan.steps.some((step) => step.reference)) out.push(sample("cell slow", "slow reference"));
  return out;
}
