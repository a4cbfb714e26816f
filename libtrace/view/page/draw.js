// SPDX-License-Identifier: Apache-2.0
//
// Draws the visible part of the timeline.

import {data, tables} from './data.js';
import {causeColour, ink, isDark, textOn} from './colours.js';
import {fitting, forgetLabels, write} from './labels.js';
import {byId} from './dom.js';
import {formatNs, formatRate} from './text.js';
import {colourOf, edgesOf, isOnPath, nameOf} from './events.js';
import {firstAt, nsPerPixel, onScreen, rowAt, timeAt, view, xOf} from './viewport.js';
import {drawArrows} from './arrows.js';
import {drawCoverage, isThinned} from './coverage.js';
import {bandHeight, drawPhaseBand} from './phases.js';

export const scrollBox = () => byId('scroll');

function prepared(canvas, height) {
  const ratio = devicePixelRatio, width = view.width;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
  }
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  forgetLabels(canvas);
  g.textBaseline = 'middle', g.direction = 'ltr', g.font = '11.5px system-ui, "DejaVu Sans", sans-serif';
  return g;
}

// Returns round times about 110 pixels apart.
function ticks() {
  const wanted = nsPerPixel() * 110;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = Math.max(1, power * [1, 2, 5, 10].find((each) => each * power >= wanted));
  const list = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) list.push(at);
  return [list, step];
}

// The times are at the top, the run's phases below.
export const RULER = 30;
export function drawRuler() {
  const g = prepared(byId('ruler'), RULER + bandHeight());
  const [list, step] = ticks();
  const [from, to] = data.run;
  if (to > from) {
    g.fillStyle = ink('shade');
    const left = Math.max(view.gutter, xOf(from));
    g.fillRect(left, 24, Math.max(0, xOf(to) - left), 6);
  }
  g.fillStyle = ink('dim');
  byId('shown').textContent = `${formatNs(view.to - view.from)} shown`;
  // Use as many digits as needed to distinguish successive ticks.
  const [scale, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(
      ([each]) => Math.max(Math.abs(view.to), step) >= each) || [1, 'ns'];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  for (const at of list) {
    const x = xOf(at);
    if (x < view.gutter) continue;
    g.fillRect(x, 20, 1, 10);
    const text = `${(at / scale).toFixed(digits)} ${unit}`, room = view.width - x - 6;
    // An incomplete number would be wrong.
    if (fitting(g, text, room) === text) write(g, text, x + 4, 12, room, {free: true});
  }
  if (view.area) {
    g.fillStyle = ink('shade');
    g.fillRect(xOf(view.area.from), 0, xOf(view.area.to) - xOf(view.area.from), RULER);
  }
  drawPhaseBand(g, RULER);
}

const hatches = new Map();
export function hatch(g, colour) {
  const key = colour;
  if (!hatches.has(key)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const t = tile.getContext('2d');
    t.strokeStyle = colour, t.lineWidth = 2;
    t.beginPath();
    for (const x of [-8, 0, 8]) t.moveTo(x, 8), t.lineTo(x + 8, 0);
    t.stroke();
    hatches.set(key, g.createPattern(tile, 'repeat'));
  }
  return hatches.get(key);
}

// Draws an edge that may be anywhere in from..to, with a gradient over the uncertain part.
function softEdge(g, from, to, y, height, opens) {
  if (to - from < 1.5) return;
  const fade = g.createLinearGradient(from, 0, to, 0);
  fade.addColorStop(opens ? 0 : 1, ink('card'));
  fade.addColorStop(opens ? 1 : 0, ink('card') + '00');
  g.fillStyle = fade;
  g.fillRect(from, y - 0.5, to - from, height + 1);
  g.strokeStyle = ink('dim');
  g.setLineDash([2, 2]);
  g.beginPath();
  for (const x of [from, to]) g.moveTo(x, y), g.lineTo(x, y + height);
  g.stroke();
  g.setLineDash([]);
}

// Shows below a sufficiently wide command how much of it each cause of stalls took. The device does
// not report when the stalls happened within the command.
function stallStrip(g, row, x, width, y, height) {
  const {commands} = tables;
  const causes = data.devices[commands.num('device')[row]].stalls.length;
  const held = [...Array(causes).keys()].map((s) => commands.num('stall' + s)[row]);
  const whole = held.reduce((sum, each) => sum + each, commands.num('busy')[row]);
  if (!(whole > 0)) return;
  let at = x;
  held.forEach((stalled, s) => {
    const part = stalled / whole * width;
    if (part < 0.5) return;
    g.fillStyle = causeColour(s);
    g.fillRect(at, y + height - 4, part, 4);
    at += part;
  });
}

// The colours of events, until the theme changes.
let colours = new WeakMap();
function colourAt(track, i) {
  let list = colours.get(track);
  if (list === undefined) colours.set(track, list = new Array(track.n));
  if (list[i] === undefined) list[i] = colourOf(track.kinds[i], track.rows[i]);
  return list[i];
}

// Returns the widest bound of a track's times.
function softest(track) {
  if (track.softest === undefined) {
    track.softest = 0;
    for (let i = 0; i < track.n; ++i) {
      const edges = edgesOf(track.kinds[i], track.rows[i]);
      if (edges) track.softest = Math.max(track.softest, ...edges);
    }
  }
  return track.softest;
}

function isMarked(track, i) {
  const {selected, hover, search} = view;
  return (selected && selected.track === track && selected.i === i) ||
      (hover && hover.track === track && hover.i === i) ||
      (search && search.has(track) && search.get(track).has(i));
}

// Events on the critical path have a bar along their upper edge.
const PATH_MARK = 3;
function drawPathMark(g, x, y, width) {
  g.fillStyle = ink('path');
  g.fillRect(x, y, width, PATH_MARK);
}

// Tracks of the whole run are not dimmed when the path is highlighted.
const ALWAYS_LIT = new Set(['piece', 'loss', 'path', 'range']);
const isDimmed = (kind, row) => view.lit && !ALWAYS_LIT.has(kind) && !isOnPath(kind, row);

// Draws a thin line with a small head.
function drawInstant(g, x, y, height, marked) {
  g.fillStyle = ink(marked ? 'text' : 'mark');
  g.fillRect(x - 0.5, y + 2, 1, height - 3);
  g.beginPath();
  g.moveTo(x - 2.5, y + 2), g.lineTo(x + 2.5, y + 2), g.lineTo(x, y + 6);
  g.fill();
}

// Where instants are too close to each other, faint columns show their number.
const COLUMN = 4;
class Instants {
  constructor(lanes) {
    this.columns = Math.ceil(view.width / COLUMN) + 1;
    this.counts = new Uint32Array(lanes * this.columns);
    this.alone = new Int32Array(lanes * this.columns);
  }

  add(lane, i, x) {
    const at = lane * this.columns + Math.max(0, Math.min(this.columns - 1, Math.floor(x / COLUMN)));
    ++this.counts[at], this.alone[at] = i;
  }

  draw(g, track, top) {
    const {counts} = this, most = counts.reduce((a, b) => Math.max(a, b), 1), height = track.laneHeight - 2;
    counts.forEach((count, at) => {
      if (count === 0) return;
      const column = at % this.columns, y = top + Math.floor(at / this.columns) * track.laneHeight;
      const beside = (by) => (column + by >= 0 && column + by < this.columns ? counts[at + by] : 0);
      const i = this.alone[at], kind = track.kinds[i];
      const dim = isDimmed(kind, track.rows[i]);
      if (count === 1 && beside(-2) + beside(-1) + beside(1) + beside(2) === 0) {
        g.globalAlpha = dim ? 0.18 : 1;
        drawEvent(g, track, i, y, height);
      } else {
        const tall = Math.round(height * (0.3 + 0.5 * Math.log1p(count) / Math.log1p(most)));
        g.fillStyle = ink('mark'), g.globalAlpha = dim ? 0.12 : 0.4;
        g.fillRect(column * COLUMN, y + height - tall, COLUMN - 1, tall);
      }
      g.globalAlpha = 1;
    });
  }
}

// Waits are many and long, so they are fainter than what runs.
const faint = () => (isDark() ? 0.8 : 0.5);

function drawEvent(g, track, i, y, height) {
  const kind = track.kinds[i], row = track.rows[i];
  const right = view.width;
  const edges = softest(track) > nsPerPixel() ? edgesOf(kind, row) : null;
  // Covers the whole range of possible times; the uncertain part fades.
  const isInstant = track.begin[i] === track.end[i];
  const x0 = xOf(track.begin[i] - (edges && !isInstant ? edges[0] : 0));
  const x1 = xOf(track.end[i] + (edges && !isInstant ? edges[3] : 0));
  const x = Math.max(view.gutter, x0), width = Math.max(Math.min(right, x1) - x, 1.2);
  if (isInstant) {
    drawInstant(g, x0, y, height, isMarked(track, i));
  } else if (track.hatched && width < 4) {
    g.fillStyle = ink('loss');
    g.fillRect(x, y, 3, height);  // visible although it is short
  } else {
    g.fillStyle = track.hatched ? hatch(g, ink('loss')) : colourAt(track, i);
    const alpha = g.globalAlpha;
    if (kind === 'stall') g.globalAlpha = alpha * faint();
    g.fillRect(x, y, width, height);
    g.globalAlpha = alpha;
  }
  if (kind === 'job' && g.globalAlpha === 1) {
    // The job waits until its first command starts.
    const start = xOf(tables.jobs.num('start')[row]);
    g.fillStyle = ink('card'), g.globalAlpha = 0.55;
    if (start > x) g.fillRect(x, y, Math.min(start, x + width) - x, height);
    g.globalAlpha = 1;
  }
  if (kind === 'command' && width > 14) stallStrip(g, row, x, width, y, height);
  if (isOnPath(kind, row) && !isInstant) drawPathMark(g, x, y, width);
  if (edges) {
    softEdge(g, xOf(track.begin[i] - edges[0]), xOf(track.begin[i] + edges[1]), y, height, true);
    if (!isInstant) {
      softEdge(g, xOf(track.end[i] - edges[2]), xOf(track.end[i] + edges[3]), y, height, false);
    }
  }
  if (width > 26 && height > 9 && isWhole(y)) {
    const name = nameOf(kind, row), middle = y + height / 2 - (height > 16 ? 1 : 0);
    g.fillStyle = kind === 'piece' ? textOn(colourOf(kind, row)) : ink('text');
    if (track.hatched) {
      g.fillStyle = ink('card');
      const shown = fitting(g, name, width - 8);
      if (shown !== '') g.fillRect(x + 2, y + 1, Math.min(width - 4, g.measureText(shown).width + 4), height - 2);
      g.fillStyle = ink('text');
    }
    write(g, name, x + 4, middle, width - 6, {free: true});
  }
  const {selected, hover, search} = view;
  const found = search && search.has(track) && search.get(track).has(i);
  if ((selected && selected.track === track && selected.i === i) || found ||
      (hover && hover.track === track && hover.i === i)) {
    g.strokeStyle = found ? ink('arrow') : ink('text'), g.lineWidth = selected && selected.i === i &&
        selected.track === track ? 2 : 1;
    g.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 2), height - 1);
    g.lineWidth = 1;
  }
}

function drawEvents(g, track, top) {
  drawCoverage(g, track, top);
  const thinned = isThinned(track);
  const last = new Float64Array(track.lanes).fill(-Infinity);
  const pixel = nsPerPixel();
  const n = track.n, plain = !track.hatched && softest(track) <= pixel;
  const instants = new Instants(track.lanes);
  for (let i = firstAt(track, view.from); i < n && track.begin[i] <= view.to; ++i) {
    const lane = track.lane[i], end = track.end[i];
    if (end < view.from) continue;
    if (end === track.begin[i]) {
      if (isMarked(track, i)) drawEvent(g, track, i, top + lane * track.laneHeight, track.laneHeight - 2);
      else instants.add(lane, i, xOf(end));
      continue;
    }
    // Skip events that are within the last pixel drawn in this lane.
    const isShort = end - track.begin[i] < pixel;
    if (isShort && end < last[lane]) continue;
    last[lane] = Math.max(last[lane], (isShort ? track.begin[i] : end) + pixel);
    // If some events are missing, the coverage behind them shows how dense they are.
    const kind = track.kinds[i], row = track.rows[i];
    g.globalAlpha = isDimmed(kind, row) && !isMarked(track, i) ? 0.18 : isShort && thinned ? 0.3 : 1;
    if (isShort && plain && !isMarked(track, i)) {
      if (kind === 'stall') g.globalAlpha *= faint();
      g.fillStyle = colourAt(track, i);
      g.fillRect(xOf(track.begin[i]), top + lane * track.laneHeight, 1.2, track.laneHeight - 2);
      if (isOnPath(kind, row)) drawPathMark(g, xOf(track.begin[i]), top + lane * track.laneHeight, 1.2);
      g.globalAlpha = 1;
      continue;
    }
    drawEvent(g, track, i, top + lane * track.laneHeight, track.laneHeight - 2);
    g.globalAlpha = 1;
  }
  instants.draw(g, track, top);
}

export const counterText = ({unit}, value) => (unit === '%' || unit === 'jobs' ? `${Math.round(value)} ${unit}` :
    formatRate(value, unit.replace(/\/s$/, '')));

function drawCounter(g, track, top) {
  const height = track.laneHeight - 2, {at, values} = track;
  let low = 0, high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= view.from) low = middle + 1; else high = middle;
  }
  // For each pixel, draws the mean and, more faintly, the maximum.
  const left = view.gutter, wide = Math.max(0, view.width - left), most = new Float64Array(wide), mean = new Float64Array(wide);
  for (let i = Math.max(0, low - 1); i < at.length && at[i] <= view.to; ++i) {
    const x = Math.max(0, xOf(at[i]) - left), next = i + 1 < at.length ? xOf(at[i + 1]) - left : x + 1;
    for (let pixel = Math.floor(x); pixel < Math.min(wide, next); ++pixel) {
      most[pixel] = Math.max(most[pixel], values[i]);
      mean[pixel] += values[i] * (Math.min(next, pixel + 1) - Math.max(x, pixel));
    }
  }
  g.fillStyle = ink('accent');
  for (const [heights, alpha] of track.most > 0 ? [[most, 0.2], [mean, 0.35]] : []) {
    g.globalAlpha = alpha;
    for (let from = 0, to; from < wide; from = to) {
      for (to = from + 1; to < wide && heights[to] === heights[from];) ++to;
      const tall = Math.min(1, heights[from] / track.most) * height;
      g.fillRect(left + from, top + height - tall, to - from, tall);
    }
  }
  g.globalAlpha = 1;
  g.fillStyle = ink('dim');
  if (isWhole(top + height - 13)) write(g, counterText(track, track.most), view.gutter - 6, top + height - 7, view.gutter - 20, {align: 'right'});
}

// Text that pinned tracks would cut is omitted.
let edge = 0;
const isWhole = (y) => y >= edge;

function drawLabel(g, row, y) {
  const {track, group} = row;
  if (track) {
    g.fillStyle = ink('text');
    const label = group && row.pinned ? `${track.label} · ${group.label}` : track.label;
    const middle = track.shape === 'counter' ? 8 : Math.min(row.height, track.laneHeight) / 2;
    if (isWhole(y + middle - 6)) write(g, label, 12, y + middle, view.gutter - 18);
    return;
  }
  g.fillStyle = ink('track');
  g.fillRect(0, y, view.width, row.height - 1);
  g.fillStyle = ink('text');
  g.font = '600 ' + g.font;
  if (isWhole(y + 4)) write(g, `${group.closed ? '▸' : '▾'} ${group.label}`, 6, y + row.height / 2, view.width - 12);
  g.font = g.font.replace(/^(600|bold) /, '');
}

// All tracks may lack events where some were lost.
function drawGaps(g) {
  for (const track of view.groups.flatMap(({tracks}) => tracks)) {
    if (!track.hatched) continue;
    g.fillStyle = hatch(g, ink('loss')), g.globalAlpha = 0.22;
    let last = -Infinity;
    for (let i = firstAt(track, view.from); i < track.n && track.begin[i] <= view.to; ++i) {
      const x = Math.max(last, xOf(track.begin[i])), end = Math.max(xOf(track.end[i]), x + 1);
      if (end <= last + 1) continue;
      g.fillRect(x, 0, end - x, view.height);
      last = end;
    }
    g.globalAlpha = 1;
  }
}

export function drawTracks() {
  const g = prepared(byId('tracks'), view.height);
  byId('spacer').style.height = view.total + 'px';
  g.fillStyle = ink('grid');
  for (const at of ticks()[0]) {
    const x = xOf(at);
    if (x > view.gutter) g.fillRect(x, 0, 1, view.height);
  }
  const rightOfNames = (draw) => {
    g.save();
    g.beginPath();
    g.rect(view.gutter, 0, view.width - view.gutter, view.height);
    g.clip();
    draw();
    g.restore();
  };
  const drawRows = (from, to, by) => {
    const first = rowAt(from);
    const shown = first === null ? [] : view.rows.slice(view.rows.indexOf(first)).filter((row) => row.y < to);
    rightOfNames(() => {
      for (const row of shown) {
        if (row.track && row.track.shape === 'events') drawEvents(g, row.track, row.y - by);
      }
    });
    for (const row of shown) {
      if (row.track && row.track.shape === 'counter') drawCounter(g, row.track, row.y - by);
      drawLabel(g, row, row.y - by);
    }
  };
  const gutterLine = (from, to) => {
    g.fillStyle = ink('line');
    g.fillRect(view.gutter - 1, from, 1, to - from);
  };
  gutterLine(view.pinned, view.height);
  edge = view.pinned;
  drawRows(view.top + view.pinned, view.top + view.height, view.top);
  edge = 0;
  if (view.pinned > 0) {
    g.clearRect(0, 0, view.width, view.pinned);
    gutterLine(0, view.pinned);
    drawRows(0, view.pinned, 0);
    g.fillStyle = ink('line');
    g.fillRect(0, view.pinned - 2, view.width, 2);
  }
  rightOfNames(() => {
    drawGaps(g);
    drawArrows(g);
    drawArea(g);
  });
  g.fillStyle = ink('line');
  if (view.cursor > view.gutter) g.fillRect(view.cursor, 0, 1, view.height);
}

function drawArea(g) {
  const {area} = view;
  if (!area) return;
  const x = xOf(area.from), width = xOf(area.to) - x, top = onScreen(area.top);
  g.fillStyle = ink('shade');
  g.fillRect(x, top, width, onScreen(area.bottom) - top);
  g.fillStyle = ink('accent');
  for (const edge of [x, x + width]) g.fillRect(edge, 0, 1, view.height);
}

export const shownWindow = () => [timeAt(view.gutter), timeAt(view.width)];
export function forgetColours() {
  hatches.clear();
  colours = new WeakMap();
}
