// What the page shows, as values: the buffers of a scene, what lies in their cells, and what colours cells.

// The scene that is shown, and what follows from it; takeScene() sets all.
let scene;
let buffers;
let sharedIndex; // whether an index of one view is an index of all others too: the two sides of a comparison
let planOrder; // the elements of scene.reorder in their order, or null
let colourings; // how cells can be coloured: {key, words, of(view, index, offset)}, which gives a number
const COLOURS = 8;
const LINE_BYTES = 64;
const PAGE_BYTES = 4096;
const BANKS = 32;
const BANK_BYTES = 4;

function greatestCommonDivisor(a, b) {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/**
 * Memory as cells of `unit` bits each: one buffer for each view of its own, one for all fields of a record. Where
 * fields have elements of several sizes, a cell is the largest that all are multiples of.
 */
function buffersOfScene() {
  const all = scene.views.map((view, at) => ({ view, at }));
  if (scene.kind === "fields") {
    const unit = scene.views.reduce((bits, view) => greatestCommonDivisor(bits, view.bits), 0);
    return [{ name: "", unit, cells: (scene.bytes * 8) / unit, members: all }];
  }
  return all.map((member) => ({
    name: member.view.name,
    unit: member.view.bits,
    cells: member.view.span,
    members: [member],
  }));
}

/** The buffer that a view lies in. */
function bufferOf(viewAt) {
  return buffers[scene.kind === "fields" ? 0 : viewAt];
}

/** What lies in a cell: {slot, view, index, offset, first, width}; first and width are the element's cells. */
function cellAt(buffer, cell) {
  let found = { slot: "gap", first: cell, width: 1 };
  for (const { view, at } of buffer.members) {
    const width = view.bits / buffer.unit;
    const offset = Math.floor(cell / width);
    const there = indexAt(view, offset);
    if (there.slot === "gap") continue;
    found = { ...there, view: at, offset, first: offset * width, width };
    if (there.slot === "element") break;
  }
  return found;
}

/** "n=0 c=16 h=2 w=3"; "the one element" of a scalar. */
function indexText(view, index) {
  if (index.length === 0) return "the one element";
  return index.map((i, d) => `${view.letters[d]}=${i}`).join(" ");
}

/** The number of an element in row-major order. */
function elementNumber(view, index) {
  return index.reduce((number, i, d) => number * view.dims[d] + i, 0);
}

function valueText(view, index) {
  return view.values ? view.values[elementNumber(view, index)] : null;
}

/** The letters of the longest value. */
const longestValue = onceForEachView((view) => view.values.reduce((most, value) => Math.max(most, value.length), 0));

/** The values that tell frames apart, and their number in row-major order: [] and 0 where there are no frames. */
function frameOf(view, index) {
  const { around } = framesOf(view);
  const values = around.map((digit) => digitValue(digit, index));
  return { values, number: around.reduceRight((sum, digit, k) => sum * digit.extent + values[k], 0) };
}

function colouringsOfScene() {
  const first = scene.views[0];
  const out = [];
  if (scene.kind === "fields") {
    out.push({ key: "field", words: "field", of: (at) => at });
  } else {
    out.push({
      key: "run",
      words: "run in memory",
      of: (at, index) => {
        const levels = levelsOf(scene.views[at]);
        return levels.length > 1 ? digitValue(levels[1], index) : 0;
      },
    });
    for (let d = 0; d < first.dims.length && sharedIndex; ++d) {
      out.push({ key: `dim-${first.letters[d]}`, words: `dim ${first.letters[d]}`, of: (_, index) => index[d] });
    }
  }
  if (planOrder) out.unshift({ key: "box", words: "box of the plan", of: (_, index) => planOrder.boxOf(index) });
  const byte = (at, offset) => bytesOf(scene.views[at], offset)[0];
  out.push(
    { key: "block", words: "block", of: (at, index) => frameOf(scene.views[at], index).number },
    { key: "line", words: "cache line (64 bytes)", of: (at, _, offset) => Math.floor(byte(at, offset) / LINE_BYTES) },
    { key: "page", words: "page (4096 bytes)", of: (at, _, offset) => Math.floor(byte(at, offset) / PAGE_BYTES) },
    {
      key: "bank",
      words: "bank (32 of 4 bytes)",
      of: (at, _, offset) => Math.floor(byte(at, offset) / BANK_BYTES) % BANKS,
    },
  );
  return out;
}

/** Shows another scene from now on. The state is the caller's to reset. */
function takeScene(given) {
  scene = given;
  buffers = buffersOfScene();
  sharedIndex = scene.kind === "sides" && scene.views.every((view) => view.dims.join() === scene.views[0].dims.join());
  planOrder = scene.reorder ? new PlanOrder() : null;
  colourings = colouringsOfScene();
}

takeScene(JSON.parse(document.getElementById("scene").textContent));
