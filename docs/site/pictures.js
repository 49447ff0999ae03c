// The pictures in documents: pointing at a cell lights up all cells of the picture that say the same, which are the same
// element in other layouts.

/** The cells of a picture, which are small rectangles with words in them: [node, words]. */
function cellsOf(svg) {
  const number = (node, name) => Number(node.getAttribute(name));
  const rects = [...svg.querySelectorAll("rect")]
    .map((node) => ({ node, x: number(node, "x"), y: number(node, "y"), width: number(node, "width"), height: number(node, "height"), words: "" }))
    .filter((cell) => cell.width > 0 && cell.width <= 120 && cell.height <= 60);
  for (const text of svg.querySelectorAll('text[text-anchor="middle"]')) {
    const x = number(text, "x");
    const y = number(text, "y");
    // Of rectangles on one another the last is on top.
    const cell = rects.findLast((one) => one.x < x && x < one.x + one.width && one.y < y && y < one.y + one.height);
    if (cell) cell.words += `${text.textContent} `;
  }
  return rects.filter((cell) => cell.words);
}

for (const svg of document.querySelectorAll(".picture svg")) {
  const cells = cellsOf(svg);
  const wordsOf = new Map(cells.map((cell) => [cell.node, cell.words]));
  const light = (words) => {
    for (const cell of cells) cell.node.classList.toggle("lit", cell.words === words);
  };
  svg.addEventListener("pointerover", (event) => light(wordsOf.get(event.target)));
  svg.addEventListener("pointerleave", () => light(null));
}
