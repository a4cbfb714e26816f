// SPDX-License-Identifier: Apache-2.0
//
// The visible part of the timeline: a window of time, the rows and their places, the selection.
// Every change goes through here, so that the page is drawn once per frame and its address
// describes the view.

import {data, Table} from './data.js';
import {buildGroups} from './tracks.js';
import {groupId, groupsInOrder, hide, isHidden, isPinned, pinnedOf, tracksInOrder} from './arrange.js';

const HEADER = 22, GAP = 3;
const MOST_PINNED = 0.6;  // of the height
const NARROWEST_NS = 5;

export const view = {
  from: 0, to: 1, width: 800, height: 400, top: 0,
  gutter: 210,     // width of the names of tracks
  groups: null, rows: [], total: 0,
  pinned: 0,       // height of what is above all scrolling rows
  selected: null,  // {track, i}
  area: null,      // {from, to, top, bottom}, with y in rows' coordinates
  hover: null, search: null,
  lit: false,      // the critical path is highlighted
};

let redraw = () => {};
let frame = 0;
export const isDrawn = () => frame === 0;
export function onRedraw(draw) { redraw = draw; }
export function invalidate() {
  if (frame === 0) {
    frame = requestAnimationFrame(() => {
      frame = 0;
      redraw();
    });
  }
}

// The whole recording, in the page's time.
let extent = null;  // a wider range in a comparison
export const whole = () => extent || [0, Math.max(1, data.end)];
export function widen(begin, end) {
  extent = [Math.min(begin, 0), Math.max(end, 1, data.end)];
}
export function run() {
  const [from, to] = data.run;
  return to > from ? [from - (to - from) * 0.02, to + (to - from) * 0.02] : whole();
}

// Other events were loaded; groups stay open or closed.
export function forgetEvents() {
  const closed = new Map(view.groups.map((group) => [group.id, group.closed]));
  view.groups = buildGroups((json) => new Table(json));
  for (const group of view.groups) if (closed.has(group.id)) group.closed = closed.get(group.id);
  trackIds.clear(), places.clear();
}

const PINNED = {id: 'pinned', label: 'Pinned', tracks: []};

export function layOut() {
  if (view.groups === null) view.groups = buildGroups((json) => new Table(json));
  view.rows = [];
  let y = 0;
  const add = (group, tracks) => {
    view.rows.push({group, y, height: HEADER});
    y += HEADER;
    for (const {track, of} of group.closed ? [] : tracks) {
      const height = track.lanes * track.laneHeight + GAP;
      track.y = y, track.height = height;
      view.rows.push({track, group: of, pinned: group === PINNED, y, height});
      y += height;
    }
  };
  const pinned = pinnedOf(view.groups);
  if (pinned.length > 0) add(PINNED, pinned.map(({track, group}) => ({track, of: group})));
  view.pinnedTotal = y;
  fixPinned();
  for (const group of groupsInOrder(view.groups)) {
    if (isHidden(groupId(group))) continue;
    const tracks = tracksInOrder(group).filter((track) => !isPinned(track) && !isHidden(track.id));
    if (tracks.length > 0) add(group, tracks.map((track) => ({track, of: group})));
  }
  view.total = y + 10;
}

// If pinned tracks would leave too little space for others, they scroll like these.
export function fixPinned() {
  view.pinned = view.pinnedTotal <= view.height * MOST_PINNED ? view.pinnedTotal : 0;
}

// Converts the y of a row on the screen to its y among all rows, and back.
export const laidOut = (y) => (y < view.pinned ? y : y + view.top);
export const onScreen = (y) => (y < view.pinned ? y : y - view.top);

export function rowAt(y) {
  let low = 0, high = view.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.rows[middle].y + view.rows[middle].height <= y) low = middle + 1; else high = middle;
  }
  return low < view.rows.length && view.rows[low].y <= y ? view.rows[low] : null;
}

export const xOf = (time) => view.gutter + (time - view.from) / (view.to - view.from) *
    (view.width - view.gutter);
export const timeAt = (x) => view.from + (x - view.gutter) / (view.width - view.gutter) *
    (view.to - view.from);
export const nsPerPixel = () => (view.to - view.from) / Math.max(1, view.width - view.gutter);

let shown = () => {};
// Called with each window of time that is shown from now on.
export const onShow = (listener) => { shown = listener; };

export function show(from, to) {
  const [begin, end] = whole();
  const most = (end - begin) * 1.1;
  const width = Math.min(most, Math.max(NARROWEST_NS, to - from));
  const middle = (from + to) / 2;
  const low = begin - (end - begin) * 0.05;
  view.from = Math.min(Math.max(middle - width / 2, low), Math.max(low, low + most - width));
  view.to = view.from + width;
  invalidate();
  shown(view.from, view.to);
}

// A factor below 1 zooms in.
export function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

export const pan = (share) => {
  const by = (view.to - view.from) * share;
  show(view.from + by, view.to + by);
};

// Returns the first event of a track that may be visible at `time`.
export function firstAt(track, time) {
  let low = 0, high = track.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.latest[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}

const trackIds = new Map();
export function trackById(id) {
  if (trackIds.size === 0) {
    for (const group of view.groups) for (const track of group.tracks) trackIds.set(track.id, track);
  }
  return trackIds.get(id);
}

const places = new Map();
// Returns {track, i} of a drawn event, or null.
export function placeOf(kind, row) {
  if (places.size === 0) {
    for (const group of view.groups) {
      for (const track of group.tracks) {
        for (let i = 0; i < (track.n || 0); ++i) {
          places.set(track.kinds[i] + '.' + track.rows[i], {track, i});
        }
      }
    }
  }
  return places.get(kind + '.' + row) || null;
}

// Opens the track's group, scrolls to it and shows its time.
export function reveal({track, i}, scroll, closer = false) {
  const group = view.groups.find((each) => each.tracks.includes(track)), under = isPinned(track) ? PINNED : group;
  if (group && (under.closed || isHidden(track.id) || isHidden(groupId(group)))) {
    under.closed = false;
    hide(track.id, false), hide(groupId(group), false);
    layOut();
  }
  const y = track.y + track.lane[i] * track.laneHeight;
  if (y >= view.pinned && (y < view.top + view.pinned + 10 || y > view.top + view.height - 30)) {
    scroll(Math.max(0, y - Math.max(view.height / 3, view.pinned + 20)));
  }
  const from = track.begin[i], to = track.end[i], width = view.to - view.from;
  if (closer) {
    const length = Math.max(to - from, 100);
    show(from - length, to + length);
  } else if (to < view.from || from > view.to || to - from < width / 2000) {
    const span = to - from < width / 2000 ? Math.max((to - from) * 20, 400) : width;
    show((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
  }
  invalidate();
}
