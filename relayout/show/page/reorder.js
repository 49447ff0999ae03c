// The plan of a reorder as values: its moves in their order, the blocks that they belong to, and the lines that moves
// touch. Nothing here knows of the document.
//
// scene.reorder is what reorder_json() writes. A *move* is what a kernel is handed as one: `count` elements that follow
// each other on both sides. Elements are numbered in the order in which they are moved.

/** Calls run(src, dst, block) for each turn of folded loops, the last of them the innermost. */
function unfold(loops, src, dst, block, run, depth = 0) {
  if (depth === loops.length) return run(src, dst, block);
  const [times, srcStep, dstStep, blockStep] = loops[depth];
  for (let i = 0; i < times; ++i) unfold(loops, src + i * srcStep, dst + i * dstStep, block + i * blockStep, run, depth + 1);
}

/** All moves of a reorder: {src, dst, count, fill, box, block, first}, where first is the number of the first element. */
function movesOf(reorder) {
  const out = [];
  let first = 0;
  for (const [box, number, from, to, loops, moves] of reorder.blocks) {
    unfold(loops, from, to, number, (fromBlock, toBlock, block) => {
      for (const [src, dst, count, fill, inner] of moves) {
        unfold(inner, fill ? 0 : fromBlock + src, toBlock + dst, 0, (a, b) => {
          out.push({ src: a, dst: b, count, fill: fill === 1, box, block, first });
          first += count;
        });
      }
    });
  }
  return out;
}

/** What some moves touch on both sides: lines of 64 bytes, where both buffers start at lines. */
class Touched {
  constructor(views) {
    this.views = views;
    this.read = new Set();
    this.bits = new Map(); // of each line that is written: how many of its bits are
    this.written = new Set();
    this.elements = 0;
    this.fills = 0;
  }

  /** Bits of the element at an offset in each line that it lies in: [[line, bits], ...]. */
  linesAt(side, offset) {
    const { bits } = this.views[side];
    const lineBits = 8 * LINE_BYTES;
    const out = [];
    for (let at = offset * bits; at < (offset + 1) * bits; ) {
      const line = Math.floor(at / lineBits);
      const end = Math.min((offset + 1) * bits, (line + 1) * lineBits);
      out.push([line, end - at]);
      at = end;
    }
    return out;
  }

  /** One element of a move. */
  add(move, k) {
    if (move.fill) ++this.fills;
    else {
      ++this.elements;
      for (const [line] of this.linesAt(0, move.src + k)) this.read.add(line);
    }
    if (this.written.has(move.dst + k)) return;
    this.written.add(move.dst + k);
    for (const [line, bits] of this.linesAt(1, move.dst + k)) this.bits.set(line, (this.bits.get(line) ?? 0) + bits);
  }

  /** How many lines are written of which some bytes of the buffer are not. */
  get partly() {
    const end = this.views[1].span * this.views[1].bits;
    const lineBits = 8 * LINE_BYTES;
    let out = 0;
    for (const [line, bits] of this.bits) if (bits < Math.min(end - line * lineBits, lineBits)) ++out;
    return out;
  }
}

/** The elements of a plan in their order. */
class PlanOrder {
  constructor() {
    this.views = scene.views;
    this.moves = movesOf(scene.reorder);
    const last = this.moves[this.moves.length - 1];
    this.length = last ? last.first + last.count : 0;
    this.boxes = [...scene.reorder.boxes, ...scene.reorder.fills];
    this.known = new Map();
    this.soFar = new Touched(this.views);
    this.soFarTo = 0;
    this.seen = [new Set(), new Set()];
    this.seenTo = 0;
    this.kept = {};
  }

  /** Works something out for elements [from, to), and keeps it until it is asked for others: blocks stay for many steps. */
  keep(what, from, to, work) {
    const kept = this.kept[what];
    if (kept?.from !== from || kept.to !== to) this.kept[what] = { from, to, value: work() };
    return this.kept[what].value;
  }

  /** The number of the move that has an element. */
  moveAt(element) {
    let low = 0;
    let high = this.moves.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.moves[middle].first <= element) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The index of the destination that an element is moved to; of padding, one in the padding. */
  index(element) {
    if (!this.known.has(element)) {
      const move = this.moves[this.moveAt(element)];
      this.known.set(element, indexAt(this.views[1], move.dst + element - move.first).index ?? null);
    }
    return this.known.get(element);
  }

  /** The elements [from, to) of the move, block or box that an element is in. */
  around(element, unit) {
    if (unit === "element") return [element, element + 1];
    let from = this.moveAt(element);
    let to = from;
    const same = (n) => {
      const [a, b] = [this.moves[n], this.moves[from]];
      return a && a.box === b.box && (unit === "box" || a.block === b.block);
    };
    if (unit !== "move") {
      while (same(to + 1)) ++to;
      while (same(from - 1)) --from;
    }
    return [this.moves[from].first, this.moves[to].first + this.moves[to].count];
  }

  /** Calls run(move, k) for the elements [from, to). */
  each(from, to, run) {
    for (let n = from < to ? this.moveAt(from) : this.moves.length; n < this.moves.length && this.moves[n].first < to; ++n) {
      const move = this.moves[n];
      for (let k = Math.max(0, from - move.first); k < Math.min(move.count, to - move.first); ++k) run(move, k);
    }
  }

  touched(from, to) {
    const out = new Touched(this.views);
    this.each(from, to, (move, k) => out.add(move, k));
    return out;
  }

  /** What the first `to` elements touch; steps forward add to what is known. */
  touchedUpTo(to) {
    if (to < this.soFarTo) {
      this.soFar = new Touched(this.views);
      this.soFarTo = 0;
    }
    this.each(this.soFarTo, to, (move, k) => this.soFar.add(move, k));
    this.soFarTo = to;
    return this.soFar;
  }

  /** Offsets of one side that the first `to` elements have; as before. */
  seenUpTo(side, to) {
    if (to < this.seenTo) {
      this.seen = [new Set(), new Set()];
      this.seenTo = 0;
    }
    this.each(this.seenTo, to, (move, k) => {
      if (!move.fill) this.seen[0].add(move.src + k);
      this.seen[1].add(move.dst + k);
    });
    this.seenTo = to;
    return this.seen[side];
  }

  /** Offsets of one side that the elements [from, to) have. */
  offsets(side, from, to) {
    const out = new Set();
    this.each(from, to, (move, k) => {
      if (side === 1) out.add(move.dst + k);
      else if (!move.fill) out.add(move.src + k);
    });
    return out;
  }

  /** The box that moves to an index of the destination, from 0 on, or -1; boxes of padding come last. */
  boxOf(index) {
    if (!this.byOffset) {
      this.byOffset = new Map();
      this.each(0, this.length, (move, k) => this.byOffset.set(move.dst + k, move.box));
    }
    const found = this.byOffset.get(offsetOf(this.views[1], index));
    if (found !== undefined || scene.reorder.complete) return found ?? -1;
    return this.boxes.findIndex(({ origin, extents }) =>
      origin.length > 0 && index.every((i, d) => i >= origin[d] && i < origin[d] + extents[d]));
  }

  /**
   * The present value of each axis of a box: those of loops from the number of the block, the others from the index.
   * null where that does not say it.
   */
  values(element) {
    const move = this.moves[this.moveAt(element)];
    const box = this.boxes[move.box];
    const index = this.index(element);
    if (!box) return [];
    const out = box.axes.map(() => null);
    let position = Math.floor(move.block / (box.region_blocks[0] * box.region_blocks[1]));
    for (let a = box.axes.length; a-- > 0; ) {
      const { role, extent, parts } = box.axes[a];
      if (role === "loop") {
        out[a] = position % extent;
        position = Math.floor(position / extent);
      } else if (index && parts.length > 0 && parts.every(([, place]) => place !== 0)) {
        let weight = 1;
        out[a] = 0;
        for (const [dim, place, size] of parts) {
          out[a] += (Math.floor((index[dim] - box.first[dim]) / place) % size) * weight;
          weight *= size;
        }
      }
    }
    return out;
  }
}
