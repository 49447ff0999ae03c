// The sides as people type them: fields whose texts the library itself reads, compiled to WebAssembly. A page whose
// library was built without it has no fields (docs/show.md).

const PAUSE_MILLISECONDS = 500;
const KEYS = ["text", "dims", "dtype"];

/** The library in WebAssembly, as wasm/entry.cc offers it. */
class Core {
  /** Unpacks what the page carries; throws where the browser cannot. */
  static async load(base64) {
    const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const core = new Core(await WebAssembly.compile(await new Response(stream).arrayBuffer()));
    core.start();
    return core;
  }

  constructor(module) {
    this.module = module;
  }

  /** An instance of its own; what the library would ask an operating system for is there for messages that nobody reads. */
  start() {
    const imports = {};
    for (const { module, name } of WebAssembly.Module.imports(this.module)) {
      imports[module] ??= {};
      imports[module][name] = () => 0;
    }
    this.functions = new WebAssembly.Instance(this.module, imports).exports;
    this.functions._initialize?.();
  }

  /** What typed sides mean: {scene} or {problem, side, choices}. */
  ask(sides) {
    const strings = sides.flatMap((side) => KEYS.map((key) => side[key].replaceAll("\0", " ")));
    const bytes = new TextEncoder().encode(strings.map((string) => `${string}\0`).join(""));
    try {
      const { memory, relayout_room, relayout_typed, relayout_said_bytes } = this.functions;
      const room = relayout_room(bytes.length);
      new Uint8Array(memory.buffer, room, bytes.length).set(bytes);
      const said = relayout_typed(sides.length);
      return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, said, relayout_said_bytes())));
    } catch {
      this.start(); // what was left half done is thrown away
      return { problem: "This takes more memory than the page has.", side: sides.length - 1 };
    }
  }
}

const sidesEqual = (a, b) => a.length === b.length && a.every((side, at) => KEYS.every((key) => side[key] === b[at][key]));

/** The fields of one side. */
class TypedRow {
  constructor(at, onInput) {
    this.problem = make("p", { class: "problem", role: "status", id: `problem-${at}` });
    this.choices = make("div", { class: "controls" });
    this.fields = {
      text: this.field(at === 0 ? "nChw16c, torch (1,64,5,4) strides (1280,1,256,64), ..." : "a layout of the same tensor"),
      dims: this.field(at === 0 ? "2,17,5,4" : "the same"),
      dtype: this.field(at === 0 ? "f32" : "the same"),
    };
    const words = { text: at === 0 ? "layout" : "second layout", dims: "dims", dtype: "type" };
    const labels = KEYS.map((key) => {
      const label = words[key].charAt(0).toUpperCase() + words[key].slice(1);
      const field = this.fields[key];
      field.setAttribute("aria-describedby", this.problem.id);
      field.setAttribute("aria-label", key === "text" ? label : `${label} of the ${at === 0 ? "first" : "second"} layout`);
      field.addEventListener("input", () => onInput(false));
      field.addEventListener("change", () => onInput(true));
      field.addEventListener("keydown", (event) => event.key === "Enter" && onInput(true));
      return make("label", { text: label }, field);
    });
    const name = `The ${at === 0 ? "first" : "second"} side`;
    this.root = make("div", { role: "group", "aria-label": name }, make("div", { class: "fields" }, ...labels), this.problem, this.choices);
  }

  field(placeholder) {
    return make("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder });
  }

  get side() {
    return Object.fromEntries(KEYS.map((key) => [key, this.fields[key].value.trim()]));
  }

  /** Fills the fields; one that already says this keeps its cursor. */
  set side(side) {
    for (const key of KEYS) if (this.fields[key].value.trim() !== side[key]) this.fields[key].value = side[key];
  }

  say(problem) {
    this.problem.textContent = problem;
    for (const key of KEYS) this.fields[key].setAttribute("aria-invalid", problem !== "");
  }
}

/** All sides, their texts in the address, and the scene that follows. */
class TypedSides {
  /** `onScene` shows a scene, `onAddress` what the address says. */
  constructor(firstScene, onScene, onAddress) {
    this.onAddress = onAddress;
    this.first = firstScene;
    this.firstSides = firstScene.typed ?? [];
    this.onScene = onScene;
    this.sides = this.firstSides; // that are shown
    this.session = false; // whether the last step of the history is of texts that are still being typed
    this.rows = [];
    this.body = make("div");
    this.add = make("button", { type: "button", text: "Compare with another layout" });
    this.remove = make("button", { type: "button", text: "Remove the second layout" });
    this.add.addEventListener("click", () => this.addRow());
    this.remove.addEventListener("click", () => this.removeRow());
    this.root = make("section", { class: "typed", "aria-label": "Type a layout" }, this.body, make("div", { class: "controls" }, this.add, this.remove));
    this.fill(this.sides);
  }

  /** Takes the library. Texts that stand in the fields or in the address already are read now. */
  take(core, address) {
    this.core = core;
    if (address.has("text1")) this.onAddress();
    else this.show(false);
  }

  fill(sides) {
    const rows = Math.max(1, sides.length);
    while (this.rows.length > rows) this.rows.pop().root.remove();
    while (this.rows.length < rows) {
      this.rows.push(new TypedRow(this.rows.length, (done) => this.onInput(done)));
      this.body.append(this.rows.at(-1).root);
    }
    sides.forEach((side, at) => (this.rows[at].side = side));
    this.add.hidden = rows > 1;
    this.remove.hidden = rows === 1;
  }

  addRow() {
    this.fill([this.rows[0].side, { text: "", dims: "", dtype: "" }]);
    this.rows[1].fields.text.focus();
  }

  removeRow() {
    this.fill([this.rows[0].side]);
    this.show(true);
    this.add.focus();
  }

  /** Something was typed; `done`: by Enter, or by leaving the field. */
  onInput(done) {
    clearTimeout(this.timer);
    if (!done) this.timer = setTimeout(() => this.show(false), PAUSE_MILLISECONDS);
    else this.show(true);
  }

  /** Reads the fields and shows what they say, or why they say nothing. */
  show(done) {
    const sides = this.rows.map((row) => row.side);
    while (sides.length > 1 && sides.at(-1).text === "") sides.pop();
    if (!this.core || (sides.length === 1 && sides[0].text === "") || sidesEqual(sides, this.sides)) {
      if (sidesEqual(sides, this.sides)) this.say(null);
      if (done) this.session = false;
      return;
    }
    const shown = this.showSides(sides);
    if (shown) writeHash(!this.session);
    if (shown || done) this.session = !done;
  }

  /** Shows sides if the library can read them. */
  showSides(sides) {
    const answer = sidesEqual(sides, this.firstSides) ? { scene: this.first } : this.core.ask(sides);
    this.say(answer);
    if (!answer.scene) return false;
    // What a text says of dims and type stands in the fields from now on.
    this.sides = answer.scene.typed ?? [];
    this.rows.forEach((row, at) => this.sides[at] && (row.side = this.sides[at]));
    this.onScene(answer.scene);
    return true;
  }

  /** Says what is wrong at the side that it is with, and what can be chosen there. */
  say(answer) {
    this.rows.forEach((row, at) => {
      const here = answer?.problem !== undefined && answer.side === at;
      row.say(here && !answer.choices ? answer.problem : "");
      row.choices.replaceChildren(...(here && answer.choices ? this.choiceNodes(row, answer.choices) : []));
    });
  }

  /** A list of a text's tensors, one of which can be shown; two of the same dims can be compared. */
  choiceNodes(row, choices) {
    if (choices.length === 0) return [make("p", { class: "problem", text: "None of the tensors of this text has a layout." })];
    const words = ({ name, text, dims, dtype }) => `${name}: ${text} ${dims.replaceAll(",", "x")} ${dtype}`;
    const options = choices.map((choice, at) => make("option", { value: `${at}`, text: words(choice) }));
    const select = make("select", { value: "" }, make("option", { value: "", text: `one of ${choices.length} tensors` }), ...options);
    select.addEventListener("change", () => {
      if (select.value === "") return;
      row.side = choices[Number(select.value)];
      this.show(true);
    });
    const out = [make("label", { text: "Show " }, select)];
    const [a, b] = choices;
    if (choices.length === 2 && a.dims === b.dims && a.dims !== "") {
      const both = make("button", { type: "button", text: `Compare ${a.name} with ${b.name}` });
      both.addEventListener("click", () => {
        this.fill([a, b]);
        this.show(true);
      });
      out.push(both);
    }
    return out;
  }

  /** Adds to the address what was typed, where that is not what the page was opened with. */
  writeTo(address) {
    if (sidesEqual(this.sides, this.firstSides)) return;
    this.sides.forEach((side, at) => {
      for (const key of KEYS) if (side[key] !== "") address.set(`${key}${at + 1}`, side[key]);
    });
  }

  /** Shows what the address says. */
  readFrom(address) {
    if (!this.core) return;
    const sides = [1, 2]
      .filter((number) => address.has(`text${number}`))
      .map((number) => Object.fromEntries(KEYS.map((key) => [key, address.get(`${key}${number}`) ?? ""])));
    const wanted = sides.length > 0 ? sides : this.firstSides;
    this.session = false;
    if (sidesEqual(wanted, this.sides)) {
      this.fill(wanted);
      this.say(null);
      return;
    }
    this.fill(wanted);
    if (wanted.length > 0) this.showSides(wanted);
    else {
      this.sides = wanted;
      this.onScene(this.first);
    }
  }
}
