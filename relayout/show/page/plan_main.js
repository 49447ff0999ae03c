// The page of plans itself: joins the graph and what stands beside it, and keeps them and the address together.

const view = new GraphView(
  (box) => select(box, false),
  () => {
    state.view = { ...view.centre, zoom: view.zoom };
    clearTimeout(remember.timer);
    remember.timer = setTimeout(() => writeHash(false), 300);
  },
);
/** The view is written to the address once it stands still. */
const remember = { timer: 0 };
const search = new Search();
const policies = new Policies();
const details = new Details();
const reorders = new Reorders();
const lists = new Lists();
const legend = make("p", { class: "legend" });

/** Selects a box, or nothing; `go`: the graph turns to it. */
function select(box, go) {
  if (box !== null && go) view.showBox(box);
  if (box !== state.box) {
    state.box = box;
    writeHash(true);
  }
  search.say();
  details.show();
  reorders.show();
  view.refresh();
}

function choosePlan(plan) {
  if (plan === state.plan) return;
  // The reader wants to see the difference to what was shown before.
  state.other = state.plan;
  state.plan = plan;
  if (state.box !== null && !plan.has(state.box)) state.box = null;
  writeHash(true);
  showAll();
}

function chooseOther(plan) {
  state.other = plan;
  writeHash(true);
  showAll();
}

function showAll() {
  search.look();
  policies.show();
  details.show();
  reorders.show();
  lists.show();
  legend.replaceChildren(...legendOf(state.plan));
  view.refresh();
}

/** Shows what the address says: at first, and behind the back button. */
function readAddress() {
  const before = state.view;
  readHash();
  showAll();
  if (state.view) view.place(state.view);
  else if (!before) {
    if (state.box === null) view.showBegin();
    else view.showBox(state.box);
  } else if (state.box !== null) view.showBox(state.box);
}

function build() {
  const notes = scene.notes.map((text) => make("p", { class: "words", text }));
  const zoom = make(
    "div",
    { class: "zoom" },
    button("−", () => view.zoomBy(1 / 1.3), { "aria-label": "Zoom out" }),
    button("+", () => view.zoomBy(1.3), { "aria-label": "Zoom in" }),
    button("All", () => view.showAll(), { "aria-label": "Show the whole graph" }),
  );
  const beside = make("div", { class: "beside" }, details.root, reorders.root);
  const hint = "Data flows downwards. Drag to move; wheel, pinch, + and - zoom; 0 shows all. Lines and boxes have the colour of the layout; a box that of what it writes.";
  document.body.append(
    make(
      "main",
      { class: "plan" },
      make("header", {}, make("h1", { text: scene.title }), ...notes),
      policies.root,
      make("div", { class: "controls" }, search.root, zoom),
      legend,
      make("div", { class: "columns" }, make("div", { class: "pane" }, view.root, make("p", { class: "words", text: hint })), beside),
      lists.root,
    ),
  );
  document.body.classList.add("ready");
}

build();
readAddress();
addEventListener("popstate", readAddress);
addEventListener("hashchange", readAddress);
addEventListener("resize", () => view.refresh());
addEventListener("beforeprint", () => {
  view.showAll();
  view.draw();
});
