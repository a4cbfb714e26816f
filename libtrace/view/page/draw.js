// SPDX-License-Identifier: Apache-2.0
//
// Draws what the viewport holds of the timeline.

import {data, tables} from './data.js';
import {causeColour, ink, textOn} from './colours.js';
import {byId} from './dom.js';
import {formatNs, formatRate, shortened} from './text.js';
import {colourOf, edgesOf, isOnPath, nameOf} from './events.js';
import {GUTTER, firstAt, nsPerPixel, rowAt, timeAt, view, xOf} from './viewport.js';
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
  g.textBaseline = 'middle', g.direction = 'ltr', g.font = '11.5px system-ui, "DejaVu Sans", sans-serif';
  return g;
}

// Round times, about 110 pixels apart.
function ticks() {
  const wanted = nsPerPixel() * 110;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = Math.max(1, power * [1, 2, 5, 10].find((each) => each * power >= wanted));
  const list = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) list.push(at);
  return [list, step];
}

// Times above, the run's phases below.
export const RULER = 30;
export function drawRuler() {
  const g = prepared(byId('ruler'), RULER + bandHeight());
  const [list, step] = ticks();
  const [from, to] = data.run;
  if (to > from) {
    g.fillStyle = ink('shade');
    const left = Math.max(GUTTER, xOf(from));
    g.fillRect(left, 24, Math.max(0, xOf(to) - left), 6);
  }
  g.fillStyle = ink('dim');
  g.fillText(`${formatNs(view.to - view.from)} shown`, 10, 15);
  // As many digits as distinguish one tick from the next.
  const [scale, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(
      ([each]) => Math.max(Math.abs(view.to), step) >= each) || [1, 'ns'];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  for (const at of list) {
    const x = xOf(at);
    if (x < GUTTER) continue;
    g.fillRect(x, 20, 1, 10);
    g.fillText(`${(at / scale).toFixed(digits)} ${unit}`, x + 4, 12);
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

// An edge that may lie from..to: it fades over what is not certain.
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

// Under a command that is wide enough: how much of it each cause of stalls took. Where in the
// command that was, the device does not say.
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

// Colours by event, until the theme changes.
let colours = new WeakMap();
function colourAt(track, i) {
  let list = colours.get(track);
  if (list === undefined) colours.set(track, list = new Array(track.n));
  if (list[i] === undefined) list[i] = colourOf(track.kinds[i], track.rows[i]);
  return list[i];
}

// The widest bound of a track's times.
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

// What lies on the critical path has a bar along its upper edge.
const PATH_MARK = 3;
function drawPathMark(g, x, y, width) {
  g.fillStyle = ink('path');
  g.fillRect(x, y, width, PATH_MARK);
}

// What belongs to the whole run stays as it is when the path is lit.
const ALWAYS_LIT = new Set(['piece', 'loss', 'path', 'range']);
const isDimmed = (kind, row) => view.lit && !ALWAYS_LIT.has(kind) && !isOnPath(kind, row);

function drawEvent(g, track, i, y, height) {
  const kind = track.kinds[i], row = track.rows[i];
  const right = view.width;
  const edges = softest(track) > nsPerPixel() ? edgesOf(kind, row) : null;
  // All of where it may have been; what is not certain fades.
  const isInstant = track.begin[i] === track.end[i];
  const x0 = xOf(track.begin[i] - (edges && !isInstant ? edges[0] : 0));
  const x1 = xOf(track.end[i] + (edges && !isInstant ? edges[3] : 0));
  const x = Math.max(GUTTER, x0), width = Math.max(Math.min(right, x1) - x, 1.2);
  if (isInstant) {
    g.fillStyle = ink('text');
    g.beginPath();
    g.moveTo(x0 - 3.5, y + height), g.lineTo(x0 + 3.5, y + height), g.lineTo(x0, y + 2);
    g.fill();
  } else {
    g.fillStyle = track.hatched ? hatch(g, ink('loss')) : colourAt(track, i);
    g.fillRect(x, y, width, height);
  }
  if (kind === 'job' && g.globalAlpha === 1) {
    // Until its first command starts it waits.
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
  if (width > 26 && height > 9) {
    const name = nameOf(kind, row), most = Math.floor((width - 8) / 6);
    g.fillStyle = kind === 'piece' || kind === 'stall' ? textOn(colourOf(kind, row)) : ink('text');
    if (track.hatched) {
      g.fillStyle = ink('card');
      g.fillRect(x + 2, y + 1, Math.min(width - 4, g.measureText(shortened(name, most)).width + 4), height - 2);
      g.fillStyle = ink('text');
    }
    if (most > 2) g.fillText(shortened(name, most), x + 4, y + height / 2 - (height > 16 ? 1 : 0), width - 6);
  }
  const {selected, hover, search} = view;
  const found = search && search.has(track) && search.get(track).has(i);
  if ((selected && selected.track === track && selected.i === i) || found ||
      (hover && hover.track === track && hover.i === i)) {
    g.strokeStyle = found ? ink('bad') : ink('text'), g.lineWidth = selected && selected.i === i &&
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
  for (let i = firstAt(track, view.from); i < n && track.begin[i] <= view.to; ++i) {
    const lane = track.lane[i], end = track.end[i];
    if (end < view.from) continue;
    // What would lie in the pixel that was drawn last in this lane is not drawn.
    const isShort = end - track.begin[i] < pixel;
    if (isShort && end < last[lane]) continue;
    const room = end === track.begin[i] ? 5 * pixel : pixel;
    last[lane] = Math.max(last[lane], (isShort ? track.begin[i] : end) + room);
    // Where not all are here, what is behind them shows how dense they are.
    const kind = track.kinds[i], row = track.rows[i];
    g.globalAlpha = isDimmed(kind, row) && !isMarked(track, i) ? 0.18 : isShort && thinned ? 0.3 : 1;
    if (isShort && plain && end > track.begin[i] && !isMarked(track, i)) {
      g.fillStyle = colourAt(track, i);
      g.fillRect(xOf(track.begin[i]), top + lane * track.laneHeight, 1.2, track.laneHeight - 2);
      if (isOnPath(kind, row)) drawPathMark(g, xOf(track.begin[i]), top + lane * track.laneHeight, 1.2);
      g.globalAlpha = 1;
      continue;
    }
    drawEvent(g, track, i, top + lane * track.laneHeight, track.laneHeight - 2);
    g.globalAlpha = 1;
  }
}

function drawCounter(g, track, top) {
  const height = track.laneHeight - 2, {at, values} = track;
  g.fillStyle = ink('accent'), g.globalAlpha = 0.45;
  let low = 0, high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= view.from) low = middle + 1; else high = middle;
  }
  let column = -1, most = 0;
  for (let i = Math.max(0, low - 1); i < at.length && at[i] <= view.to; ++i) {
    const x = Math.max(GUTTER, xOf(at[i]));
    const next = Math.min(view.width, i + 1 < at.length ? xOf(at[i + 1]) : x + 1);
    // Several in a pixel: the highest.
    most = Math.floor(x) === column ? Math.max(most, values[i]) : values[i];
    column = Math.floor(x);
    const tall = track.most > 0 ? values[i] / track.most * height : 0;
    g.fillRect(x, top + height - tall, Math.max(next - x, 1), tall);
  }
  g.globalAlpha = 1;
  g.fillStyle = ink('dim');
  const text = track.unit === '%' || track.unit === 'jobs' ? `${Math.round(track.most)} ${track.unit}` :
      formatRate(track.most, track.unit.replace(/\/s$/, ''));
  g.textAlign = 'right';
  g.fillText(text, GUTTER - 6, top + height - 7, 90);
  g.textAlign = 'left';
}

function drawLabel(g, row, y) {
  if (row.track) {
    g.fillStyle = ink('text');
    g.fillText(shortened(row.track.label, 32), 16,
               y + Math.min(row.height, row.track.laneHeight) / 2, GUTTER - 24);
    return;
  }
  g.fillStyle = ink('track');
  g.fillRect(0, y, view.width, row.height - 1);
  g.fillStyle = ink('text');
  g.font = '600 ' + g.font;
  g.fillText(`${row.group.closed ? '▸' : '▾'} ${row.group.label}`, 6, y + row.height / 2);
  g.font = g.font.replace(/^(600|bold) /, '');
}

// Where events were lost, any track may lack some.
function drawGaps(g) {
  for (const {track} of view.rows) {
    if (!track || !track.hatched) continue;
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
    if (x > GUTTER) g.fillRect(x, 0, 1, view.height);
  }
  const first = rowAt(view.top);
  const shown = first === null ? [] : view.rows.slice(view.rows.indexOf(first)).filter(
      (row) => row.y < view.top + view.height);
  const rightOfNames = (draw) => {
    g.save();
    g.beginPath();
    g.rect(GUTTER, 0, view.width - GUTTER, view.height);
    g.clip();
    draw();
    g.restore();
  };
  rightOfNames(() => {
    for (const row of shown) {
      if (row.track && row.track.shape === 'events') drawEvents(g, row.track, row.y - view.top);
    }
  });
  for (const row of shown) {
    if (row.track && row.track.shape === 'counter') drawCounter(g, row.track, row.y - view.top);
    drawLabel(g, row, row.y - view.top);
  }
  rightOfNames(() => {
    drawGaps(g);
    drawArrows(g);
    drawArea(g);
  });
  g.fillStyle = ink('line');
  g.fillRect(GUTTER - 1, 0, 1, view.height);
  if (view.cursor > GUTTER) g.fillRect(view.cursor, 0, 1, view.height);
}

function drawArea(g) {
  const {area} = view;
  if (!area) return;
  const x = xOf(area.from), width = xOf(area.to) - x;
  g.fillStyle = ink('shade');
  g.fillRect(x, area.top - view.top, width, area.bottom - area.top);
  g.fillStyle = ink('accent');
  for (const edge of [x, x + width]) g.fillRect(edge, 0, 1, view.height);
}

export const shownWindow = () => [timeAt(GUTTER), timeAt(view.width)];
export function forgetColours() {
  hatches.clear();
  colours = new WeakMap();
}
