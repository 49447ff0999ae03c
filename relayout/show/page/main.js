// The page itself: joins the panes, and keeps what is pointed at, what is pinned and the address together.

/** What is lit up for a moment, over what is pinned. */
let shown = null;

// What shows the scene; build() makes all anew for another one.
let inspector;
let slices;
let panes;
let walk;
let choices;
let typedSides = null; // the fields, where the page has the library

function pinned() {
  if (state.step !== null) {
    const { view, index } = walk.at(state.step);
    if (!index) return null;
    const slot = isElement(scene.views[view], index) ? "element" : "padding";
    return { slot, view, index, offset: offsetOf(scene.views[view], index) };
  }
  if (!state.index) return null;
  const view = scene.views[state.view];
  const slot = isElement(view, state.index) ? "element" : "padding";
  return { slot, view: state.view, index: state.index, offset: offsetOf(view, state.index) };
}

/** Lights a target up in all panes; `reveal`: those turn to it but for `source`, the one under the pointer. */
function light(target, reveal, source) {
  for (const pane of [slices, ...panes]) pane.light(target, reveal && pane !== source);
  inspector.show(target);
}

/** A pane has made its cells anew: they are lit and marked as the others. */
function onRender() {
  slices.light(shown, false);
  for (const pane of panes) pane.light(shown, false);
  mark();
}

function mark() {
  for (const pane of panes) pane.mark(walk.seen(pane.buffer));
  slices.mark(walk.seen(bufferOf(state.view)));
  if (!planOrder) return;
  for (const [pane, at] of [...panes.map((pane) => [pane, pane.buffer.members[0].at]), [slices, state.view]]) {
    if (walk.plan) markPlanIn(pane, at, planOrder, state.step, state.unit);
    else unmarkPlan(pane);
  }
}

const actionsOf = (buffer) => {
  const complete = (record) => ({ ...record, buffer });
  return {
    preview(record, source) {
      shown = record ? complete(record) : pinned();
      light(shown, shown !== null, source);
    },
    pin(record, push) {
      walk.pause();
      state.step = null;
      if (record.index) {
        if (record.view !== state.view && !sharedIndex) {
          state.view = record.view;
          choices.view.querySelector("select").value = `${state.view}`;
          slices.render();
          walk.load();
        }
        state.index = record.index;
        writeHash(push);
      }
      shown = complete(record);
      walk.show();
      light(shown, true);
      mark();
    },
  };
};

function choice(words, options, value, take) {
  const select = make("select", {}, ...options.map(([key, text]) => make("option", { value: key, text })));
  select.value = value;
  select.addEventListener("change", () => {
    take(select.value);
    writeHash(true);
    renderAll();
  });
  return make("label", { text: `${words} ` }, select);
}

/** The choices above the panes, of the scene. */
function makeChoices() {
  const labels = [["index", "index"], ["offset", "offset"]];
  if (scene.views.some((view) => view.values)) labels.push(["value", "value"]);
  const colours = colourings.map(({ key, words }) => [key, words]);
  const sides = scene.views.map((view, at) => [`${at}`, view.name || view.expression]);
  const takeSide = (value) => {
    state.view = Number(value);
    state.index = null;
    state.step = null;
    walk.load();
  };
  return {
    colour: choice("Colour by", colours, state.colour, (value) => (state.colour = value)),
    label: choice("In memory's cells", labels, state.label, (value) => (state.label = value)),
    view: choice(scene.kind === "fields" ? "Field" : "Side", sides, `${state.view}`, takeSide),
  };
}

function renderAll() {
  slices.render();
  for (const pane of panes) pane.render();
  inspector.reserve();
  shown = pinned();
  light(shown, shown !== null);
  mark();
}

/** Shows what the address says: at first, and behind the back button. */
function readAddress() {
  walk.pause();
  typedSides?.readFrom(inAddress());
  readHash();
  for (const key of ["colour", "label", "view"]) choices[key].querySelector("select").value = `${state[key]}`;
  walk.load();
  renderAll();
}

function legend() {
  const sample = (slot, text) => make("span", { class: "sample" }, make("span", { class: `cell ${slot}` }), ` ${text}`);
  const framed = scene.views.some((view) => framesOf(view).inside.length > 0);
  const blocks = scene.views.some((view) => framesOf(view).blocks);
  const out = [sample("padding", "padding"), sample("gap", "gap: no index"), sample("on", "pointed at"), sample("seen", "walked over")];
  if (planOrder) out.push(sample("moving moving-left moving-right moving-top moving-bottom", "the block that is moved"), sample("line", "in a line of 64 bytes that the step touches"), sample("now", "moved by the step"));
  if (framed) out.unshift(sample("framed", blocks ? "a block" : "a plane"));
  return make("p", { class: "legend" }, ...out);
}

/** What each view is: its expression, type and dims, as people write them. */
function facts() {
  const named = scene.views.filter((view) => view.name !== view.expression);
  return named.map((view) => {
    const dims = view.dims.join("x") || "scalar";
    const name = view.name ? `${view.name}: ` : "";
    return make("p", { class: "fact" }, make("code", { text: `${name}${view.expression}` }), ` ${dims} ${view.dtype}`);
  });
}

/** What stands above the panes: what each side is, and how the two compare. */
function headWords() {
  const out = scene.views.length > 1 ? facts() : [];
  if (!scene.comparison) return out;
  const { text, index } = scene.comparison;
  const verdict = make("p", { class: index ? "verdict differs" : "verdict", text });
  if (index) {
    const go = make("button", { type: "button", text: "Show where they part" });
    go.addEventListener("click", () => slices.actions.pin({ slot: "element", view: state.view, index }, true));
    verdict.append(" ", go);
  }
  return [...out, verdict];
}

const heading = make("h1");
const content = make("div", { class: "content" });

/** Makes all that shows the scene anew. */
function build() {
  inspector = new Inspector();
  slices = new SlicesPane(actionsOf(undefined));
  panes = buffers.map((buffer) => new MemoryPane(buffer, actionsOf(buffer)));
  walk = new Walk((index) => {
    shown = index ? pinned() : null;
    light(shown, true);
    mark();
  });
  choices = makeChoices();
  document.title = heading.textContent = scene.title;
  const controls = make("div", { class: "controls" }, choices.colour, choices.label);
  if (scene.views.length > 1) controls.append(choices.view);
  const memory = make("div", { class: "memories" }, ...panes.map((pane) => pane.root));
  const columns = make("div", { class: "columns" }, slices.root, memory);
  const notes = (scene.notes ?? []).map(({ title, text }) =>
    make(
      "section",
      { class: "walk" },
      make("h2", { text: title }),
      make("pre", { class: "nest", tabIndex: 0, "aria-label": title, text }),
    ),
  );
  // A plan is played beside both memories, so its controls stand above them.
  const above = planOrder ? [walk.controls, walk.problem, walk.reorder.now] : [];
  content.replaceChildren(...headWords(), controls, legend(), ...above, inspector.root, columns, walk.root, ...notes);
}

/** Shows another scene from now on, as at first. */
function showScene(given) {
  walk.pause();
  shown = null;
  takeScene(given);
  Object.assign(state, firstState());
  build();
  walk.load();
  renderAll();
}

build();
const main = make("main", {}, make("header", {}, heading), content);
document.body.append(main);
const packedCore = document.getElementById("core");
if (packedCore) {
  typedSides = new TypedSides(scene, showScene, readAddress);
  content.before(typedSides.root);
  Core.load(packedCore.textContent).then(
    (core) => typedSides.take(core, inAddress()),
    () => typedSides.root.remove(), // a browser that cannot
  );
}
document.body.classList.add("ready");
readAddress();
addEventListener("popstate", readAddress);
addEventListener("hashchange", readAddress);
// Rows are as long as there is room for, on paper too.
matchMedia("print").addEventListener("change", renderAll);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  renderAll();
});
