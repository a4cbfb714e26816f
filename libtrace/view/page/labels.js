// SPDX-License-Identifier: Apache-2.0
//
// Text on canvases. A text that does not fit ends with "…", or is omitted if too little would be
// readable. The full texts and their places are kept for tooltips, and to avoid overlaps.

const LEAST = 3;       // minimum number of readable letters
const LONGEST = 400;   // number of letters that are examined
const MOST_KEPT = 20000;

const widths = new Map();
function widthOf(g, text) {
  const key = g.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > MOST_KEPT) widths.clear();
    widths.set(key, width = g.measureText(text).width);
  }
  return width;
}

// Returns the part of a text that fits into `room` pixels, or '' if that is too little.
export function fitting(g, text, room) {
  const all = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  const width = widthOf(g, all);
  if (width <= room && all === text) return text;
  if (room < 2) return '';
  let n = Math.min(all.length, Math.ceil(all.length * room / width) + 1);
  const part = () => {
    const code = all.charCodeAt(n - 1);
    return all.slice(0, code >= 0xd800 && code < 0xdc00 ? n - 1 : n).trimEnd() + '…';
  };
  while (n >= LEAST && widthOf(g, part()) > room) --n;
  return n >= LEAST && part().length > LEAST ? part() : '';
}

// The texts on each canvas, also grouped by rows of pixels as high as a text.
const written = new WeakMap();
const of = (canvas) => {
  if (!written.has(canvas)) written.set(canvas, {list: [], rows: new Map()});
  return written.get(canvas);
};
// Returns {text, full, x, y, w, h} of each text on a canvas, in its pixels.
export const labelsOf = (canvas) => of(canvas).list;
export const forgetLabels = (canvas) => written.delete(canvas);

const HEIGHT = 11;
const rowsOf = ({y}) => [Math.floor(y / HEIGHT), Math.floor(y / HEIGHT) + 1];
const overlaps = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

// Writes a text with its middle at y and its begin, end or centre at x, and returns its width. With
// `free`, it must not overlap with another text or a mark in `avoid`.
export function write(g, text, x, y, room, {align = 'left', free = false, avoid = []} = {}) {
  const shown = fitting(g, text, room);
  if (shown === '') return 0;
  const w = widthOf(g, shown);
  const left = align === 'right' ? x - w : align === 'center' ? x - w / 2 : x;
  const box = {text: shown, full: text, x: left, y: y - HEIGHT / 2, w, h: HEIGHT};
  const {list, rows} = of(g.canvas), isTaken = (other) => overlaps(box, other);
  if (free && (avoid.some(isTaken) || rowsOf(box).some((row) => (rows.get(row) || []).some(isTaken)))) return 0;
  list.push(box);
  for (const row of rowsOf(box)) {
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push(box);
  }
  g.textAlign = 'left';
  g.fillText(shown, left, y);
  return w;
}

// Returns the largest width of some texts, limited to `most`.
export const widest = (g, texts, most) =>
    Math.min(most, Math.ceil(texts.reduce((wide, text) => Math.max(wide, widthOf(g, text.slice(0, LONGEST))), 0)));
