// The algebra of layouts in a page: offsets, and the index at an offset, from digits and a swizzle alone.
//
// A view is what scene_json() writes: digits[d] lists dim d's [extent, stride], innermost first. Nothing here knows of
// the document, so that tests can run it by itself.

/** A function of a view that is worked out once for each. */
function onceForEachView(work) {
  const known = new WeakMap();
  return (view) => {
    if (!known.has(view)) known.set(view, work(view));
    return known.get(view);
  };
}

/** Places of the dims' mixed radices, innermost first in each: {dim, place, extent, stride, outermost, inner}. */
const digitsOf = onceForEachView((view) => {
  const found = [];
  view.digits.forEach((digits, dim) => {
    let place = 1;
    digits.forEach(([extent, stride], k) => {
      const outermost = k + 1 === digits.length;
      // A dim of 3 in blocks of 16 has one digit, which reaches further than the dim.
      const inner = !outermost || (k === 0 && extent > view.dims[dim]);
      found.push({ dim, place, extent, stride, outermost, inner });
      place *= extent;
    });
  });
  return found;
});

function digitValue(digit, index) {
  const value = Math.floor(index[digit.dim] / digit.place);
  return digit.outermost ? value : value % digit.extent;
}

/** The exclusive or at the end of a layout; offsets may have more bits than JavaScript's own operator takes. */
function swizzledOffset(view, offset) {
  if (!view.swizzle) return offset;
  const { bits, source, target } = view.swizzle;
  const field = Math.floor(offset / 2 ** source) % 2 ** bits;
  const old = Math.floor(offset / 2 ** target) % 2 ** bits;
  return offset + ((old ^ field) - old) * 2 ** target;
}

function offsetBeforeSwizzle(view, index) {
  let offset = view.offset0;
  for (const digit of digitsOf(view)) offset += digitValue(digit, index) * digit.stride;
  return offset;
}

/** The offset of an index, which may lie in the padding, in elements. */
function offsetOf(view, index) {
  return swizzledOffset(view, offsetBeforeSwizzle(view, index));
}

function isElement(view, index) {
  return index.every((i, d) => i < view.dims[d]);
}

function elementsOf(view) {
  return view.dims.reduce((product, extent) => product * extent, 1);
}

/** The first byte of an element, and the last. */
function bytesOf(view, offset) {
  return [Math.floor((offset * view.bits) / 8), Math.floor(((offset + 1) * view.bits - 1) / 8)];
}

/** Digits from the smallest step in memory to the largest, as the drawings of memory have them. */
const levelsOf = onceForEachView((view) =>
  digitsOf(view)
    .filter((digit) => digit.extent > 1 && digit.stride !== 0)
    .sort((a, b) => Math.abs(a.stride) - Math.abs(b.stride)),
);

/** How many cells a row of memory has: whole runs, and at most `fit`. */
function columnsOf(levels, span, fit) {
  if (span <= fit) return Math.max(1, span);
  let run = 1;
  let longer = span;
  for (const { stride } of levels) {
    const step = Math.abs(stride);
    if (step <= fit) run = step;
    else longer = Math.min(longer, step);
  }
  let best = run;
  for (let columns = run; columns <= fit; columns += run) if (longer % columns === 0) best = columns;
  return best >= Math.min(8, fit) ? best : Math.max(1, Math.floor(fit / run) * run);
}

/** The digits inside a frame of the pictures (a block, or a plane where there are none), and those around it. */
const framesOf = onceForEachView((view) => {
  const levels = levelsOf(view);
  let inside = levels.filter((level) => level.inner);
  const blocks = inside.length > 0;
  if (!blocks) inside = levels.length > 2 ? levels.slice(0, 2) : [];
  return { inside, blocks, around: inside.length > 0 ? levels.filter((level) => !inside.includes(level)) : [] };
});

const SEARCH_STEPS = 1000000;

/**
 * What lies at an offset: {slot: "element", "padding" or "gap", index}. Where several indices share it, an element is
 * preferred, and of these the first. "unknown" where contrived strides would take too long.
 */
function indexAt(view, offset) {
  if (offset < 0 || elementsOf(view) === 0) return { slot: "gap" };
  const levels = [...levelsOf(view)].reverse();
  // Negative strides are walked from their far end, so that all steps are positive.
  let rest = swizzledOffset(view, offset) - view.offset0;
  for (const { extent, stride } of levels) if (stride < 0) rest -= (extent - 1) * stride;
  const reach = [0];
  for (const { extent, stride } of [...levels].reverse()) reach.unshift(reach[0] + (extent - 1) * Math.abs(stride));
  const values = levels.map(() => 0);
  let steps = 0;
  let found = { slot: "gap" };
  const search = (k, left) => {
    if (++steps > SEARCH_STEPS) return true;
    if (k === levels.length) {
      if (left !== 0) return false;
      const index = view.dims.map(() => 0);
      levels.forEach(({ dim, place, extent, stride }, n) => {
        index[dim] += place * (stride < 0 ? extent - 1 - values[n] : values[n]);
      });
      const element = isElement(view, index);
      if (element || found.slot === "gap") found = { slot: element ? "element" : "padding", index };
      return element;
    }
    const step = Math.abs(levels[k].stride);
    const least = Math.max(0, Math.ceil((left - reach[k + 1]) / step));
    for (let value = Math.min(levels[k].extent - 1, Math.floor(left / step)); value >= least; --value) {
      values[k] = value;
      if (search(k + 1, left - value * step)) return true;
    }
    return false;
  };
  if (search(0, rest) && steps > SEARCH_STEPS) return { slot: "unknown" };
  return found;
}

/** The offset's formula with an index filled in: ["480*0 + 160*(16/8) + ... ", "0 + 320 + ...", "= 408"]. */
function filledFormula(view, index) {
  const digits = digitsOf(view).filter((digit) => digit.extent > 1 && digit.stride !== 0);
  digits.sort((a, b) => Math.abs(b.stride) - Math.abs(a.stride));
  const words = digits.map((digit) => {
    const i = index[digit.dim];
    let part = digit.place > 1 ? `${i}/${digit.place}` : `${i}`;
    if (!digit.outermost) part += `%${digit.extent}`;
    if (digit.stride === 1) return part;
    return `${digit.stride}*${part === `${i}` ? part : `(${part})`}`;
  });
  const numbers = digits.map((digit) => `${digit.stride * digitValue(digit, index)}`);
  if (view.offset0 !== 0) {
    words.unshift(`${view.offset0}`);
    numbers.unshift(`${view.offset0}`);
  }
  const sum = offsetBeforeSwizzle(view, index);
  const lines = [words.join(" + ") || "0"];
  if (numbers.length > 1 || words[0] !== numbers[0]) lines.push(`= ${numbers.join(" + ") || "0"}`);
  if (numbers.length > 1) lines.push(`= ${sum}`);
  if (view.swizzle) lines.push(`${view.swizzle.text}(${sum}) = ${swizzledOffset(view, sum)}`);
  return lines;
}
