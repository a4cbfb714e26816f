// SPDX-License-Identifier: Apache-2.0
//
// Loads the timeline's events if the page does not have all of them: `acceltrace serve` returns
// what is to be drawn in a window of time. More than the visible part is loaded, so that the view
// can move at once and is refined when more has arrived.

import {data, tables, takeWindow} from './data.js';
import {byId} from './dom.js';
import {kindOf, nameOf} from './events.js';
import {forgetEvents, invalidate, layOut, nsPerPixel, placeOf, view, whole} from './viewport.js';

export const isServed = () => data.served !== undefined;

// Width in pixels of the intervals for which one event of a lane is sent.
const STRETCH = 1.5;
// A view that is closer by this factor than the loaded one is requested again.
const CLOSER = 1.3;

let loaded = isServed() ? {from: data.from, to: data.to, scale: data.bucket_ns / STRETCH,
                           whole: data.whole, selected: ''} : null;
let busy = 0, inFlight = null, failedAt = -Infinity;
const listeners = [];
export const whenLoaded = (listener) => listeners.push(listener);
export const isBusy = () => busy > 0;
export const idOf = (kind, row) => kindOf(kind).table.idOf(row);
export const rowOf = (kind, id) => (kindOf(kind) ? kindOf(kind).table.rowOf(id) : -1);

// Returns the server's answer, or null.
export async function ask(what, about) {
  ++busy;
  try {
    const answer = await fetch(new URL(what + '?' + new URLSearchParams(about), location.href));
    if (!answer.ok) throw new Error(String(answer.status));
    const json = await answer.json();
    if (byId('notice').dataset.ended) byId('notice').hidden = true;
    delete byId('notice').dataset.ended;
    return json;
  } catch {
    failedAt = performance.now();
    byId('notice').hidden = false, byId('notice').dataset.ended = '1';
    byId('notice').textContent = 'acceltrace serve does not answer: what was loaded is still here.';
    return null;
  } finally {
    --busy;
    invalidate();
  }
}

const keyOf = (place) => (place === null ? '' :
    place.track.kinds[place.i] + '.' + idOf(place.track.kinds[place.i], place.track.rows[place.i]));

function placeOfKey(key) {
  if (key === '') return null;
  const [kind, id] = key.split('.');
  return placeOf(kind, rowOf(kind, Number(id)));
}

const nameAtPlace = (place) => (place === null ? '' :
    nameOf(place.track.kinds[place.i], place.track.rows[place.i]));

function take(window, about, scale) {
  const selected = keyOf(view.selected), called = nameAtPlace(view.selected);
  takeWindow(window);
  forgetEvents();
  view.hover = null;
  layOut();
  // During a live recording, rows may move.
  const place = placeOfKey(selected);
  view.selected = nameAtPlace(place) === called ? place : null;
  loaded = {from: window.from, to: window.to, scale, whole: window.whole, selected: about.s || ''};
  for (const listener of listeners) listener();
  invalidate();
}

// Loads the visible part and as much on both sides. `selected` is the KIND.ID of an event to
// include.
async function load(selected) {
  const width = view.to - view.from, pixels = Math.max(100, view.width - view.gutter);
  const about = {from: Math.floor(view.from - width / 2), to: Math.ceil(view.to + width / 2) + 1,
                 pixels: Math.ceil(2 * pixels / STRETCH)};
  if (selected !== '') about.s = selected;
  const scale = nsPerPixel();
  const window = await ask('window', about);
  if (window !== null) take(window, about, scale);
  return window !== null;
}

// Only one request runs at a time; the next one uses the view at its time.
function loadNext(selected) {
  inFlight = load(selected).finally(() => { inFlight = null; });
  return inFlight;
}

// Loads the visible part again because the trace has grown.
export async function reload() {
  while (inFlight !== null) await inFlight;
  await loadNext(keyOf(view.selected));
}

// Called for each frame: checks whether what is loaded still suffices.
export function keepUp() {
  if (!isServed() || inFlight !== null || performance.now() - failedAt < 2000) return;
  const [begin, end] = whole();
  const covers = loaded.from <= Math.max(view.from, begin) && loaded.to >= Math.min(view.to, end);
  const fine = loaded.whole || loaded.scale <= nsPerPixel() * CLOSER;
  const selected = keyOf(view.selected);
  if (covers && fine && (selected === '' || selected === loaded.selected)) return;
  loadNext(selected);
}

// Loads an event of which only the id is known, along with the visible window. Returns its place,
// or null.
export async function fetchPlace(kind, id) {
  ++busy;
  try {
    while (inFlight !== null) await inFlight;
    await loadNext(`${kind}.${id}`);
    return placeOf(kind, rowOf(kind, id));
  } finally {
    --busy;
    invalidate();
  }
}

export const rowsLoaded = () => Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
