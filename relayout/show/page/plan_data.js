// What a page of plans shows, as values: boxes and lines of the graph, and what each plan makes of them.
//
// scene is what plan_json() writes; docs/show.md lists its keys.

const scene = JSON.parse(document.getElementById("scene").textContent);
const COLOURS = 8;
const NODE = 0;
const INPUT = 1;
const OUTPUT = 2;
const REORDER = 3;

const boxes = scene.boxes.map(([kind, number, x, y, width, height]) => ({ kind, number, x, y, width, height }));

/** A line's ends, its path in SVG's language, and the box around it. */
const lines = scene.lines.map(([from, to, points]) => {
  let path = `M${points[0]} ${points[1]}`;
  let [left, right] = [points[0], points[0]];
  for (let i = 2; i < points.length; i += 2) {
    const [x, y, nextX, nextY] = points.slice(i - 2, i + 2);
    const middle = (y + nextY) / 2;
    path += (i / 2) % 2 === 1 || x === nextX ? `V${nextY}` : `C${x} ${middle} ${nextX} ${middle} ${nextX} ${nextY}`;
    left = Math.min(left, nextX);
    right = Math.max(right, nextX);
  }
  return { from, to, path, left, right, top: points[1], bottom: points[points.length - 1] };
});

function timeText(us) {
  if (us === null || us === undefined) return "not known";
  let value = us;
  let unit = 0;
  for (; Math.abs(value) >= 999.5 && unit < 2; ++unit) value /= 1000;
  return `${Number(value.toPrecision(3))} ${["us", "ms", "s"][unit]}`;
}

function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "not known";
  if (bytes < 1024) return `${bytes} bytes`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return `${value.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit]}`;
}

/** At most so many letters, with an ellipsis in the middle. */
function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.floor(most / 2);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - head - 1)).join("")}`;
}

/** The number of a form's colour: the last one is that of all forms behind the first seven. */
function colourOf(form) {
  return Math.min(form, COLOURS - 1);
}

/** One policy's plan: what stands in each box, and what flows in and out of it. */
class Plan {
  constructor(given, at) {
    Object.assign(this, given);
    this.at = at;
    this.complete = Boolean(given.steps);
    if (!this.complete) return;
    this.copies = given.copies.map(([tensor, form, exact, from, viewOf, reason, bytes, us]) => ({ tensor, form, exact, from, viewOf, reason, bytes, us }));
    this.steps = given.steps.map(([implementation, src, dst, us, flags]) => ({ implementation, src, dst, us, reference: flags % 2 === 1, roundsMore: flags > 1 }));
    this.flows = given.flows.map(([line, copy]) => ({ line, copy }));
    this.reorderOf = new Map(given.shown.map(([box, copy, words]) => [box, { box, copy, words }]));
    this.boxOfCopy = new Map(given.shown.map(([box, copy]) => [copy, box]));
    this.atLoad = new Set(given.at_load);
    this.in = boxes.map(() => []);
    this.out = boxes.map(() => []);
    for (const flow of this.flows) {
      this.out[lines[flow.line].from].push(flow);
      this.in[lines[flow.line].to].push(flow);
    }
  }

  has(box) {
    return boxes[box].kind !== REORDER || this.reorderOf.has(box);
  }

  /** The copy that colours a box; -1 of a node that writes nothing. */
  copyOf(box) {
    const { kind, number } = boxes[box];
    if (kind === INPUT) return this.inputs[number];
    if (kind === OUTPUT) return this.outputs[number];
    if (kind === REORDER) return this.reorderOf.get(box).copy;
    return this.steps[number].dst.find((copy) => copy !== -1) ?? -1;
  }

  formOf(box) {
    const copy = this.copyOf(box);
    return copy === -1 ? -1 : this.copies[copy].form;
  }

  formText(copy) {
    return scene.forms[this.copies[copy].form];
  }

  tensorName(copy) {
    return scene.tensors[this.copies[copy].tensor][0];
  }

  /** Reorders of each run, the costliest first. */
  get byCost() {
    const key = ({ copy }) => [this.copies[copy].us ?? 0, this.copies[copy].bytes ?? 0];
    return [...this.reorderOf.values()].sort((a, b) => key(b)[0] - key(a)[0] || key(b)[1] - key(a)[1]);
  }

  /** What a box is called, in a line. */
  title(box) {
    const { kind, number } = boxes[box];
    if (kind === NODE) return `${scene.nodes[number][1]} ${scene.nodes[number][0]}`;
    if (kind === OUTPUT) return `output ${scene.outputs[number]}`;
    if (kind === INPUT) return `input ${this.tensorName(this.inputs[number])}`;
    const { copy } = this.reorderOf.get(box);
    return `reorder of ${this.tensorName(copy)} from ${this.formText(this.copies[copy].from)} to ${this.formText(copy)}`;
  }

  /** The words in a box, as plan_drawing.cc has them. */
  words(box) {
    const { kind, number } = boxes[box];
    if (kind === REORDER) {
      const { bytes } = this.copies[this.reorderOf.get(box).copy];
      return [bytes === null ? "" : bytesText(bytes)];
    }
    const copy = this.copyOf(box);
    const form = copy === -1 ? "" : `  ${this.formText(copy)}`;
    if (kind !== NODE) {
      const name = kind === INPUT ? this.tensorName(copy) : scene.outputs[number];
      return [shortened(name, 24), `${kind === INPUT ? "input" : "output"}${form}`];
    }
    const step = this.steps[number];
    const time = step.us === null ? "" : `  ${timeText(step.us)}`;
    return [shortened(scene.nodes[number][0], 28), shortened(scene.nodes[number][1] + form, 30), shortened(step.implementation, 30 - time.length) + time];
  }

  /** All that a search looks through. */
  searched(box) {
    const { kind, number } = boxes[box];
    const copies = [...this.in[box], ...this.out[box]].map((flow) => flow.copy);
    const out = [this.title(box)];
    if (kind === NODE) {
      const step = this.steps[number];
      copies.push(...step.src.filter((copy) => copy !== -1));
      out.push(step.implementation, ...scene.nodes[number][3]);
    }
    for (const copy of copies) out.push(this.tensorName(copy), this.formText(copy));
    return out.join("\n").toLowerCase();
  }
}

const plans = scene.plans.map((plan, at) => new Plan(plan, at));

/** How a box of one plan differs from that of another: "", "layout", "implementation" or "reorder". */
function difference(plan, other, box) {
  if (boxes[box].kind === REORDER) {
    if (plan.has(box) !== other.has(box)) return "reorder";
    const [mine, theirs] = [plan, other].map((one) => {
      const { copy } = one.reorderOf.get(box);
      return `${one.copies[one.copies[copy].from].form} ${one.copies[copy].form}`;
    });
    return mine === theirs ? "" : "reorder";
  }
  if (plan.formOf(box) !== other.formOf(box)) return "layout";
  if (boxes[box].kind !== NODE) return "";
  const [mine, theirs] = [plan, other].map((one) => one.steps[boxes[box].number].implementation);
  return mine === theirs ? "" : "implementation";
}
