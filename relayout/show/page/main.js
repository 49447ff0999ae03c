// The page itself: joins the panes, and keeps what is pointed at, what is pinned and the address together.

/** What is lit up for a moment, over what is pinned. */
let shown = null;

function pinned() {
  if (state.step !== null) {
    const index = walk.indices[state.step];
    return { slot: "element", view: state.view, index, offset: offsetOf(scene.views[state.view], index) };
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
          fieldChoice.value = `${state.view}`;
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

const inspector = new Inspector();
const slices = new SlicesPane(actionsOf(undefined));
const panes = buffers.map((buffer) => new MemoryPane(buffer, actionsOf(buffer)));
const walk = new Walk((index) => {
  shown = index ? pinned() : null;
  light(shown, true);
  mark();
});

function choice(words, options, value, take) {
  const select = make("select", {}, ...options.map(([key, text]) => make("option", { value: key, text })));
  select.value = value;
  select.addEventListener("change", () => {
    take(select.value);
    writeHash(true);
    renderAll();
  });
  return [make("label", { text: `${words} ` }, select), select];
}

const [colourLabel, colourChoice] = choice(
  "Colour by",
  colourings.map(({ key, words }) => [key, words]),
  state.colour,
  (value) => (state.colour = value),
);
const labels = [["index", "index"], ["offset", "offset"]];
if (scene.views.some((view) => view.values)) labels.push(["value", "value"]);
const [labelLabel, labelChoice] = choice("In memory's cells", labels, state.label, (value) => (state.label = value));
const [fieldLabel, fieldChoice] = choice(
  scene.kind === "fields" ? "Field" : "Side",
  scene.views.map((view, at) => [`${at}`, view.name || view.expression]),
  `${state.view}`,
  (value) => {
    state.view = Number(value);
    state.index = null;
    state.step = null;
    walk.load();
  },
);

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
  readHash();
  colourChoice.value = state.colour;
  labelChoice.value = state.label;
  fieldChoice.value = `${state.view}`;
  walk.load();
  renderAll();
}

function legend() {
  const sample = (slot, text) => make("span", { class: "sample" }, make("span", { class: `cell ${slot}` }), ` ${text}`);
  const framed = scene.views.some((view) => framesOf(view).inside.length > 0);
  const blocks = scene.views.some((view) => framesOf(view).blocks);
  const out = [sample("padding", "padding"), sample("gap", "gap: no index"), sample("on", "pointed at"), sample("seen", "walked over")];
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

function build() {
  const header = make("header", {}, make("h1", { text: scene.title }), ...(scene.views.length > 1 ? facts() : []));
  if (scene.comparison) {
    const verdict = make("p", { class: scene.comparison.index ? "verdict differs" : "verdict", text: scene.comparison.text });
    header.append(verdict);
    if (scene.comparison.index) {
      const go = make("button", { type: "button", text: "Show where they part" });
      go.addEventListener("click", () => slices.actions.pin({ slot: "element", view: state.view, index: scene.comparison.index }, true));
      verdict.append(" ", go);
    }
  }
  const controls = make("div", { class: "controls" }, colourLabel, labelLabel);
  if (scene.views.length > 1) controls.append(fieldLabel);
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
  document.body.append(make("main", {}, header, controls, legend(), inspector.root, columns, walk.root, ...notes));
  document.body.classList.add("ready");
}

build();
readAddress();
addEventListener("popstate", readAddress);
addEventListener("hashchange", readAddress);
// Rows are as long as there is room for.
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  renderAll();
});
