"use strict";
// The search, and the list of pages, which is closed on narrow screens. Text is only ever set as text, never as marks.

/** Makes an element with text and children. */
function make(tag, name, ...children) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...children);
  return node;
}

const root = document.documentElement.dataset.root;
const pages = document.querySelector(".side details");
const wide = matchMedia("(min-width: 900px)");
const fold = () => {
  if (pages) pages.open = wide.matches;
};
wide.addEventListener("change", fold);
fold();
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest" });

const dialog = document.querySelector("dialog");
const field = dialog.querySelector("input");
const list = dialog.querySelector("ol");
const status = dialog.querySelector(".status");
const button = document.querySelector("#search-open");
button.hidden = false;

/** The index, a script beside the pages, is loaded when it is first asked: [pages, sections, words]. */
let index = null;
function load() {
  if (index) return index;
  index = new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}search-index.js`;
    script.addEventListener("load", () => {
      const [pageList, sections, text] = globalThis.relayoutIndex;
      const words = new Map(text.split("\n").map((line) => {
        const [word, ...numbers] = line.split(" ");
        let last = 0;
        return [word, numbers.map((step) => (last += parseInt(step, 36)))];
      }));
      resolve({ pageList, sections, words, sorted: [...words.keys()] });
    });
    script.addEventListener("error", () => reject(new Error("The index, search-index.js, is not beside the pages.")));
    document.head.append(script);
  });
  return index;
}

const termsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** How well words say a term: 3 for the word itself, 2 for its beginning, 1 for its inside. */
function closeness(words, term) {
  let best = 0;
  for (const word of words) {
    if (word === term) return 3;
    if (word.startsWith(term)) best = Math.max(best, 2);
    else if (term.length > 2 && word.includes(term)) best = Math.max(best, 1);
  }
  return best;
}

/** The sections that have all terms, best first: a page's title counts more than a heading, and a heading than text. */
function search({ pageList, sections, words, sorted }, terms) {
  const titles = pageList.map((page) => termsOf(page[1]));
  const inText = terms.map((term) => {
    const found = new Map();
    for (const word of sorted) {
      if (!word.startsWith(term)) continue;
      for (const number of words.get(word)) found.set(number, Math.max(found.get(number) ?? 0, word === term ? 3 : 1));
    }
    return found;
  });
  const out = [];
  sections.forEach(([page, anchor, heading], number) => {
    const headingWords = termsOf(heading);
    let score = 0;
    for (let i = 0; i < terms.length; ++i) {
      const title = closeness(titles[page], terms[i]) * (anchor === "" ? 40 : 4);
      const own = closeness(headingWords, terms[i]) * 12;
      const text = inText[i].get(number) ?? 0;
      if (title + own + text === 0) return;
      score += title + own + text;
    }
    // A heading that says the terms and little else is meant by them.
    if (headingWords.length > 0) score += headingWords.length === terms.length && headingWords.every((word, i) => word === terms[i]) ? 30 : 0;
    score *= pageList[page][3];
    out.push({ number, score });
  });
  return out.sort((a, b) => b.score - a.score || a.number - b.number);
}

/** A text with the terms marked. */
function marked(name, text, terms) {
  const node = make("div", name);
  const pattern = new RegExp(`(${terms.map((term) => term.replace(/[^\p{L}\p{N}_]/gu, "")).join("|")})`, "giu");
  text.split(pattern).forEach((part, i) => node.append(i % 2 ? make("mark", "", part) : part));
  return node;
}

const MOST = 30;

async function show() {
  const terms = termsOf(field.value);
  if (terms.length === 0) {
    list.replaceChildren();
    status.textContent = "Type words; the arrows go through what is found.";
    return;
  }
  const asked = field.value;
  let data;
  try {
    data = await load();
  } catch (error) {
    status.textContent = error.message;
    return;
  }
  if (field.value !== asked) return;
  const found = search(data, terms);
  status.textContent = found.length === 0 ? "Nothing is found." : `${found.length} found${found.length > MOST ? `; the best ${MOST}` : ""}`;
  list.replaceChildren(...found.slice(0, MOST).map(({ number }) => {
    const [page, anchor, heading, words] = data.sections[number];
    const [address, title, kind] = data.pageList[page];
    const link = make("a", "", marked("title", heading || title, terms), make("div", "place", heading && heading !== title ? `${kind} · ${title}` : kind), marked("words", words, terms));
    link.href = `${root}${address}${anchor ? `#${anchor}` : ""}`;
    return make("li", "", link);
  }));
}

function open() {
  if (!dialog.open) dialog.showModal();
  field.focus();
  field.select();
  load().catch(() => {});
  show();
}

button.addEventListener("click", open);
field.addEventListener("input", show);
dialog.querySelector("button").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest("ol a")) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && links.length > 0) links[Math.min(at + 1, links.length - 1)].focus();
  else if (event.key === "ArrowUp" && at >= 0) (at === 0 ? field : links[at - 1]).focus();
  else if (event.key === "Escape") dialog.close(); // a browser would empty the field first
  else if (event.key === "Enter" && document.activeElement === field && links.length > 0) links[0].click();
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  open();
});
