// The state of the page in its address, so that it can be kept, sent, and undone by the browser's back button.

/** What a step of a plan can be. */
const UNITS = ["element", "move", "block", "box"];

/** What a scene shows before anything is chosen. */
function firstState() {
  return {
    view: 0,
    index: null, // of the element that is pinned
    colour: scene.kind === "fields" ? "field" : "run",
    label: scene.views.some((view) => view.values) ? "value" : "index",
    order: planOrder ? "plan" : "", // of the walk: letters, outermost first, "memory", or "plan"
    unit: "move", // what a step of the plan moves
    step: null, // of the walk
    cache: 32, // KiB
  };
}

const state = firstState();

function hashOfState() {
  const out = new URLSearchParams();
  typedSides?.writeTo(out);
  if (state.view !== 0) out.set("view", state.view);
  if (state.index) out.set("index", state.index.join(","));
  const defaults = firstState();
  for (const key of ["colour", "label", "order", "unit", "cache"]) {
    if (state[key] !== defaults[key]) out.set(key, state[key]);
  }
  if (state.step !== null) out.set("step", state.step);
  return out.toString();
}

/** What the address says. */
const inAddress = () => new URLSearchParams(location.hash.slice(1));

function wholeNumber(text, most) {
  return /^\d{1,15}$/.test(text) && Number(text) <= most ? Number(text) : null;
}

/** Takes what the address says; what is no state of this page is left out. */
function readHash() {
  Object.assign(state, firstState());
  const given = inAddress();
  const view = wholeNumber(given.get("view") ?? "0", scene.views.length - 1);
  if (view !== null) state.view = view;
  const shown = scene.views[state.view];
  const index = (given.get("index") ?? "").split(",").map((text) => wholeNumber(text, Number.MAX_SAFE_INTEGER));
  const fits = index.length === shown.dims.length && index.every((i, d) => i !== null && i < shown.padded[d]);
  if (fits) state.index = index;
  if (colourings.some(({ key }) => key === given.get("colour"))) state.colour = given.get("colour");
  if (["index", "offset", "value"].includes(given.get("label"))) state.label = given.get("label");
  if (given.has("order") && isOrder(shown, given.get("order"))) state.order = given.get("order");
  if (UNITS.includes(given.get("unit"))) state.unit = given.get("unit");
  state.step = wholeNumber(given.get("step") ?? "", Number.MAX_SAFE_INTEGER);
  const cache = wholeNumber(given.get("cache") ?? "", 1 << 20);
  if (cache) state.cache = cache;
}

/** Writes the state to the address; `push`: as a step that the back button undoes. */
function writeHash(push) {
  const hash = hashOfState();
  if (hash === location.hash.slice(1)) return;
  const address = `#${hash}`;
  try {
    if (push) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // The frame of a notebook has no address of its own; the page goes on without.
  }
}
