// The state of a page of plans in its address, so that it can be kept, sent, and undone by the browser's back button.

const complete = plans.filter((plan) => plan.complete);

const state = {
  plan: plans[scene.chosen],
  other: null, // the plan that it is compared with, or null
  box: null, // that is selected
  query: "",
  view: null, // {x, y, zoom}: the point in the middle, and pixels for each unit
};

function planNamed(policy) {
  return complete.find((plan) => plan.policy === policy) ?? null;
}

function hashOfState() {
  const out = new URLSearchParams();
  if (state.plan !== plans[scene.chosen]) out.set("policy", state.plan.policy);
  if (state.other) out.set("compare", state.other.policy);
  if (state.box !== null) out.set("at", state.box);
  if (state.query) out.set("q", state.query);
  if (state.view) out.set("view", [state.view.x, state.view.y].map(Math.round).concat(state.view.zoom.toPrecision(3)).join(","));
  return out.toString();
}

/** Takes what the address says; what is no state of this page is left out. */
function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.plan = planNamed(given.get("policy")) ?? plans[scene.chosen];
  state.other = planNamed(given.get("compare"));
  if (state.other === state.plan) state.other = null;
  state.query = (given.get("q") ?? "").slice(0, 200);
  const at = given.get("at") ?? "";
  state.box = /^\d{1,9}$/.test(at) && Number(at) < boxes.length && state.plan.has(Number(at)) ? Number(at) : null;
  const view = (given.get("view") ?? "").split(",").map(Number);
  const usable = view.length === 3 && view.every((value) => Number.isFinite(value) && Math.abs(value) < 1e9) && view[2] > 0;
  state.view = usable ? { x: view[0], y: view[1], zoom: view[2] } : null;
}

/** Writes the state to the address; `push`: as a step that the back button undoes. */
function writeHash(push) {
  const hash = hashOfState();
  if (hash === location.hash.slice(1)) return;
  try {
    if (push) history.pushState(null, "", `#${hash}`);
    else history.replaceState(null, "", `#${hash}`);
  } catch {
    // The frame of a notebook has no address of its own; the page goes on without.
  }
}
