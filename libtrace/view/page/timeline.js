// SPDX-License-Identifier: Apache-2.0
//
// The timeline as a whole: selection, keys, mouse.

import {data, report} from './data.js';
import {byId, h} from './dom.js';
import {formatNs} from './text.js';
import {colourOf, hasPath, isOnPath, kindOf, nameOf, waitedFor} from './events.js';
import {firstAt, fixPinned, invalidate, isDrawn, laidOut, layOut, nsPerPixel, onScreen, pan, placeOf, reveal, rowAt, run,
        show, timeAt, view, whole, xOf, zoom} from './viewport.js';
import {labelsOf} from './labels.js';
import {hideTip, showTip} from './tooltip.js';
import {moveTrack, showMenuOf, showTrackMenu, startTrackMenu} from './track_menu.js';
import {RULER, counterText, drawRuler, drawTracks, scrollBox, shownWindow} from './draw.js';
import {phaseAt, phaseText} from './phases.js';
import {linksOfSelection} from './arrows.js';
import {showDetails, showGraph, showNothing, showsGraph} from './details.js';
import {graphOf} from './graph.js';
import {showStats} from './stats.js';
import {searchLoaded, searched, step} from './search.js';
import {isAddressShown} from './address.js';
import {ask, fetchPlace, idOf, isBusy, isServed, keepUp, rowOf, rowsLoaded, whenLoaded} from './source.js';

let changed = () => {};
export function onChange(listener) { changed = listener; }

export const scrollTo = (y) => { scrollBox().scrollTop = y; };

export function select(place, closer = false) {
  view.selected = place, view.area = null;
  if (place === null) {
    showNothing();
  } else {
    showDetails(place, (other) => select(other));
    reveal(place, scrollTo, closer);
  }
  invalidate();
}

// Shows an event that need not be loaded: {kind, row (of the trace's table), begin, end}.
async function goTo({kind, row, begin, end}, moves = true) {
  let place = placeOf(kind, rowOf(kind, row));
  if (place === null) {
    const width = view.to - view.from;
    const tiny = end - begin < width / 2000, span = tiny ? Math.max((end - begin) * 20, 400) : width;
    if (moves && (tiny || end < view.from || begin > view.to)) {
      show((begin + end) / 2 - span / 2, (begin + end) / 2 + span / 2);
    }
    place = await fetchPlace(kind, row);
  }
  if (place !== null) select(place);
}

// Selects an event by its kind and its row of the trace's table, as in an address.
export async function selectById(kind, id, moves) {
  const place = placeOf(kind, rowOf(kind, id));
  if (place !== null) return select(place);
  const event = isServed() ? await ask('event', {s: `${kind}.${id}`}) : null;
  return event === null ? undefined : goTo(event, moves);
}

export function selectArea(area) {
  view.area = area, view.selected = null;
  showStats(area);
  invalidate();
}

export function drawTimeline() {
  const box = scrollBox();
  view.width = box.clientWidth, view.height = box.clientHeight, view.top = box.scrollTop;
  if (view.width === 0 || view.height === 0) return;
  view.gutter = Math.round(Math.max(104, Math.min(230, view.width * 0.17)));
  fixPinned();
  drawRuler();
  drawTracks();
  changed();
  keepUp();
}

// Returns the innermost event at a place of the canvas.
function eventAt(x, y) {
  const row = rowAt(laidOut(y));
  if (!row || !row.track || row.track.shape !== 'events' || x < view.gutter) return null;
  const {track} = row;
  const lane = Math.floor((laidOut(y) - row.y) / track.laneHeight);
  const slack = nsPerPixel() * 3, at = timeAt(x);
  let best = null, least = Infinity;
  for (let i = firstAt(track, at - slack); i < track.n && track.begin[i] <= at + slack; ++i) {
    if (track.lane[i] !== lane || track.end[i] < at - slack) continue;
    const off = Math.max(track.begin[i] - at, at - track.end[i], 0);
    if (off <= least) least = off, best = {track, i};
  }
  return best;
}

function tipOf({track, i}) {
  const kind = track.kinds[i], length = track.end[i] - track.begin[i];
  return `${nameOf(kind, track.rows[i])} · ${length > 0 ? formatNs(length) : kindOf(kind).what}`;
}

// Returns the value of the counter under the mouse.
function counterAt(x, y) {
  const row = rowAt(laidOut(y));
  if (!row || !row.track || row.track.shape !== 'counter' || x < view.gutter) return null;
  const {at, values, label} = row.track, time = timeAt(x);
  let low = 0, high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] <= time) low = middle + 1; else high = middle;
  }
  return low === 0 ? null : `${label}: ${counterText(row.track, values[low - 1])} at ${formatNs(time)}`;
}

// Returns the whole name of a track whose label is cut.
function labelAt(x, y) {
  const label = x < view.gutter && labelsOf(byId('tracks')).find((each) => each.text !== each.full && each.x < view.gutter &&
      Math.abs(each.y + each.h / 2 - y) < each.h);
  return label ? label.full : null;
}

// A press that may become a click, an area or a pan: {x, y, time, pans}.
let press = null;

function pressed(event) {
  if (event.button !== 0 && event.button !== 1) return;
  const box = scrollBox().getBoundingClientRect();
  press = {x: event.clientX - box.left, y: event.clientY - box.top, from: view.from, to: view.to,
           pans: event.shiftKey || event.button === 1 || event.pointerType === 'touch', moved: false};
  press.time = timeAt(press.x);
  press.row = press.x < view.gutter ? rowAt(laidOut(press.y)) : null;
  scrollBox().setPointerCapture(event.pointerId);
}

function moved(event) {
  const box = scrollBox().getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  view.cursor = x;
  if (press === null) {
    view.hover = eventAt(x, y);
    const text = view.hover ? tipOf(view.hover) : labelAt(x, y) ?? counterAt(x, y);
    if (text === null) hideTip(); else showTip(text, event.clientX, event.clientY);
    invalidate();
    return;
  }
  if (!press.moved && Math.hypot(x - press.x, y - press.y) < 4) return;
  press.moved = true;
  hideTip();
  if (press.row && press.row.track) {
    dragTrack(press.row, laidOut(y));
  } else if (press.pans) {
    const by = (press.x - x) * nsPerPixel();
    show(press.from + by, press.to + by);
  } else if (press.x >= view.gutter) {
    const time = timeAt(Math.max(view.gutter, x));
    view.area = {from: Math.min(press.time, time), to: Math.max(press.time, time),
                 top: laidOut(Math.min(press.y, y)), bottom: laidOut(Math.max(press.y, y))};
    invalidate();
  }
}

// A track that is dragged by its name takes the place of a track when it covers more than half of
// it.
function dragTrack({track}, y) {
  const all = view.rows, from = all.find((row) => row.track === track), over = rowAt(y);
  if (!from || !over || !over.track || over.track === track || over.pinned !== from.pinned ||
      (over.group !== from.group && !over.pinned)) return;
  const by = all.indexOf(over) - all.indexOf(from);
  const reached = by > 0 ? y > over.y + over.height - from.height : y < over.y + from.height;
  if (reached) moveTrack(track, from.group, by);
}

function released(event) {
  if (press === null) return;
  const {moved: dragged, pans, x, y, row: named} = press;
  press = null;
  if (dragged) {
    if (!pans && !named && view.area) selectArea(view.area);
    return;
  }
  const row = rowAt(laidOut(y));
  if (row && !row.track) {
    row.group.closed = !row.group.closed;
    layOut();
    invalidate();
    return;
  }
  if (row && row.track && x < view.gutter) {
    hideTip();
    showMenuOf(row, event.clientX, event.clientY);
    return;
  }
  select(eventAt(x, y), event.detail === 2);
}

function wheel(event) {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const box = scrollBox().getBoundingClientRect();
    const at = Math.max(view.gutter, event.clientX - box.left);
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.006), timeAt(at));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    pan((event.deltaX || event.deltaY) / 1200);
  }
}

async function stepServed(kind, row, by) {
  const next = await ask('step', {s: `${kind}.${idOf(kind, row)}`, by});
  if (next !== null) await goTo(next);
}

// Moves to the next or previous event on the track; without a selection, to the first visible one.
function stepEvent(by) {
  if (view.selected === null) {
    for (const {track} of view.rows) {
      if (!track || track.shape !== 'events' || track.n === 0) continue;
      const i = firstAt(track, view.from);
      if (i < track.n && track.begin[i] <= view.to) return select({track, i});
    }
    return undefined;
  }
  const {track, i} = view.selected;
  if (isServed()) return stepServed(track.kinds[i], track.rows[i], by);
  if (i + by >= 0 && i + by < track.n) select({track, i: i + by});
  return undefined;
}

// Moves to the nearest event in time on the next track.
function stepTrack(by) {
  if (view.selected === null) return stepEvent(1);
  const tracks = view.rows.filter(({track}) => track && track.shape === 'events' && track.n > 0)
      .map(({track}) => track);
  const {track, i} = view.selected;
  const next = tracks[tracks.indexOf(track) + by];
  if (!next) return undefined;
  const at = track.begin[i];
  const near = Math.min(next.n - 1, firstAt(next, at));
  return select({track: next, i: near});
}

// Follows the arrows from the selection, forwards or backwards.
function follow(forwards) {
  if (view.selected === null) return;
  const {track, i} = view.selected;
  const same = (place) => place.track === track && place.i === i;
  const link = linksOfSelection().find(({a, b}) => same(forwards ? a : b));
  if (link) select(forwards ? link.b : link.a);
}

function focusSelection() {
  if (view.selected) return reveal(view.selected, scrollTo, true);
  return view.area ? show(view.area.from, view.area.to) : undefined;
}

const HELD = {w: () => zoom(0.94, cursorTime()), s: () => zoom(1 / 0.94, cursorTime()),
              a: () => pan(-0.03), d: () => pan(0.03)};
const cursorTime = () => (view.cursor > view.gutter && view.cursor < view.width ?
    timeAt(view.cursor) : undefined);
const held = new Set();
let moving = 0;

function move() {
  moving = 0;
  for (const key of held) HELD[key]();
  if (held.size > 0) moving = requestAnimationFrame(move);
}

// Highlights the critical path by dimming everything else.
export function light(on) {
  view.lit = on && hasPath();
  byId('lit').setAttribute('aria-pressed', String(view.lit));
  invalidate();
}

function toggleGraph() {
  showGraph(!showsGraph());
  changed();
}

const KEYS = {
  arrowleft: () => stepEvent(-1), arrowright: () => stepEvent(1),
  arrowup: () => stepTrack(-1), arrowdown: () => stepTrack(1),
  '[': () => follow(false), ']': () => follow(true), f: focusSelection,
  escape: () => select(null), r: () => show(...run()), 0: () => show(...whole()),
  c: () => light(!view.lit), g: toggleGraph, t: showTrackMenu, n: () => goToHit(1), p: () => goToHit(-1), '+': () => zoom(0.6), '=': () => zoom(0.6),
  '-': () => zoom(1 / 0.6),
};

export async function goToHit(by) {
  if (isBusy()) await searched();
  const hit = step(by);
  if (hit === null) return undefined;
  return hit.track ? select(hit) : selectById(hit.kind, hit.row);
}

// Handles a key that is not meant for a text field. Returns true if it was for the timeline.
export function timelineKey(event) {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (HELD[key]) {
    // Each press moves by a few frames' worth at once.
    for (let i = 0; i < 4 && !event.repeat; ++i) HELD[key]();
    held.add(key);
    if (moving === 0) moving = requestAnimationFrame(move);
    return true;
  }
  if (!KEYS[key]) return false;
  KEYS[key]();
  return true;
}

export const keyUp = (event) => held.delete(event.key.toLowerCase());

function phaseUnder(event) {
  const box = byId('ruler').getBoundingClientRect(), x = event.clientX - box.left;
  return event.clientY - box.top >= RULER && x >= view.gutter ? phaseAt(timeAt(x)) : null;
}
export function showPhase({from, to}) {
  const more = Math.max(1, to - from) * 0.02;
  show(from - more, to + more);
}

export function startTimeline() {
  layOut();
  show(...run());
  const box = scrollBox();
  box.addEventListener('pointerdown', pressed);
  box.addEventListener('pointermove', moved);
  box.addEventListener('pointerup', released);
  box.addEventListener('pointercancel', () => { press = null; });
  box.addEventListener('pointerleave', () => {
    hideTip();
    view.hover = null, view.cursor = 0;
    invalidate();
  });
  box.addEventListener('wheel', wheel, {passive: false});
  box.addEventListener('scroll', invalidate);
  byId('lit').hidden = !hasPath();
  byId('lit').addEventListener('click', () => light(!view.lit));
  byId('closer').addEventListener('click', () => zoom(0.5));
  byId('wider').addEventListener('click', () => zoom(2));
  startTrackMenu(() => changed());
  const ruler = byId('ruler');
  let drag = null;
  const sayPhase = (event) => {
    const phase = phaseUnder(event);
    ruler.title = phase ? phaseText(phase) : '';
  };
  ruler.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, from: view.from, to: view.to};
    sayPhase(event);
    ruler.setPointerCapture(event.pointerId);
  });
  ruler.addEventListener('pointermove', (event) => {
    if (drag === null) {
      sayPhase(event);
      return;
    }
    drag.moved ||= Math.abs(drag.x - event.clientX) > 3;
    const by = (drag.x - event.clientX) * nsPerPixel();
    show(drag.from + by, drag.to + by);
  });
  ruler.addEventListener('pointerup', (event) => {
    const phase = drag !== null && !drag.moved ? phaseUnder(event) : null;
    drag = null;
    if (phase) showPhase(phase);
  });
  addEventListener('blur', () => held.clear());
  new ResizeObserver(invalidate).observe(box);
  showNothing();
  whenLoaded(() => {
    searchLoaded();
    if (view.selected !== null) showDetails(view.selected, (other) => select(other));
  });
}

// For tests, and for users of the browser's console.
export const inspect = () => ({
  idle: isDrawn() && isAddressShown() && !isBusy(), answered: isDrawn() && !isBusy(), window: shownWindow(), groups: view.groups, area: view.area, total: view.total,
  selected: view.selected && {kind: view.selected.track.kinds[view.selected.i],
                              row: view.selected.track.rows[view.selected.i]},
  selectedId: view.selected && idOf(view.selected.track.kinds[view.selected.i],
                                    view.selected.track.rows[view.selected.i]),
  onScreen, rows: view.rows,
  labels: () => [...document.querySelectorAll('canvas')].filter((each) => each.checkVisibility()).map((each) => ({
    of: each.id || each.getAttribute('aria-label'), width: each.clientWidth, height: each.clientHeight, list: labelsOf(each)})),
  run: data.run, rowsLoaded: rowsLoaded(), selectById, nameOf, reportCounts: () => report.counts,
  arrows: linksOfSelection().length, select, selectArea, placeOf, xOf, eventAt, colourOf, h, light, lit: view.lit, graph: view.selected && graphOf(view.selected.track.kinds[view.selected.i],
      view.selected.track.rows[view.selected.i]), showsGraph: showsGraph(), isOnPath, waitedFor,
});
