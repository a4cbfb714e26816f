// SPDX-License-Identifier: Apache-2.0
//
// Finds events by a part of their names.

import {byId} from './dom.js';
import {formatCount} from './text.js';
import {nameOf} from './events.js';
import {invalidate, view} from './viewport.js';

const MOST = 100000;
let hits = [];
let at = -1;

export function search(text) {
  const wanted = text.trim().toLowerCase();
  hits = [], at = -1, view.search = null;
  if (wanted !== '') {
    const matches = new Map();  // names are few
    view.search = new Map();
    for (const group of view.groups) {
      for (const track of group.tracks) {
        for (let i = 0; i < (track.n || 0) && hits.length < MOST; ++i) {
          const name = nameOf(track.kinds[i], track.rows[i]);
          let found = matches.get(name);
          if (found === undefined) matches.set(name, found = name.toLowerCase().includes(wanted));
          if (!found) continue;
          hits.push({track, i});
          if (!view.search.has(track)) view.search.set(track, new Set());
          view.search.get(track).add(i);
        }
      }
    }
    hits.sort((a, b) => a.track.begin[a.i] - b.track.begin[b.i]);
  }
  tell();
  invalidate();
  return hits.length;
}

function tell() {
  byId('search-count').textContent = view.search === null ? '' :
      `${at >= 0 ? formatCount(at + 1) + ' of ' : ''}${formatCount(hits.length)}${
          hits.length >= MOST ? '+' : ''}`;
}

// The next hit, or with by = -1 the one before: {track, i} or null.
export function step(by) {
  if (hits.length === 0) return null;
  // The first step goes to what is seen.
  if (at < 0) at = Math.max(0, hits.findIndex(({track, i}) => track.end[i] >= view.from)) - by;
  at = (at + by + hits.length) % hits.length;
  tell();
  return hits[at];
}
