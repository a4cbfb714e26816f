// SPDX-License-Identifier: Apache-2.0
//
// Finds events by a part of their names.

import {byId} from './dom.js';
import {clean, formatCount} from './text.js';
import {nameOf} from './events.js';
import {ask, isServed} from './source.js';
import {invalidate, view} from './viewport.js';

const MOST = 100000;
// Hits: {track, i}, or of a served trace {kind, row, begin}, of which `first` is the number of the
// first one that was sent, of `count`.
let hits = [], first = 0, count = 0;
let at = -1;
let wanted = '', asked = Promise.resolve();

// Whether a name in small letters holds what is wanted. [A-B] in it is also any number from A to B, as the
// report folds names: analysis/names.h.
function matcher(text) {
  const parts = text.split(/\[(\d+)-(\d+)\]/);
  if (parts.length === 1) return (name) => name.includes(text);
  const literal = (part) => part.replace(/[.*+?^${}()|[\]\\\/-]/g, '\\$&');
  let source = literal(parts[0]);
  const limits = [];
  for (let i = 1; i < parts.length; i += 3) {
    limits.push([Number(parts[i]), Number(parts[i + 1])]);
    source += '(?<!\\d)(\\d+)(?!\\d)' + literal(parts[i + 2]);
  }
  const pattern = new RegExp(source, 'g');
  const fits = (match) => limits.every(([least, most], i) => match[i + 1] >= least && match[i + 1] <= most);
  return (name) => name.includes(text) || [...name.matchAll(pattern)].some(fits);
}

// What of the events that are here has the name.
function found() {
  const list = [], matches = new Map(), isWanted = matcher(wanted);  // names are few
  view.search = new Map();
  for (const group of view.groups) {
    for (const track of group.tracks) {
      for (let i = 0; i < (track.n || 0) && list.length < MOST; ++i) {
        const name = nameOf(track.kinds[i], track.rows[i]);
        let matching = matches.get(name);
        if (matching === undefined) {
          matches.set(name, matching = isWanted(name.toLowerCase()));
        }
        if (!matching) continue;
        list.push({track, i});
        if (!view.search.has(track)) view.search.set(track, new Set());
        view.search.get(track).add(i);
      }
    }
  }
  return list;
}

// Other events are here now: those that match are marked.
export function searchLoaded() {
  if (wanted !== '') found();
}

async function searchServed(text) {
  const of = wanted, answer = await ask('search', {q: text, at: Math.floor(view.from)});
  if (answer === null || of !== wanted) return;
  ({count, first} = answer);
  hits = answer.hits.map(([kind, row, begin]) => ({kind, row, begin}));
  showCount();
}

export function search(text) {
  wanted = clean(text).trim().toLowerCase();
  hits = [], first = 0, count = 0, at = -1, view.search = null;
  if (wanted !== '') {
    hits = found();
    if (isServed()) {
      hits = [];
      asked = searchServed(text.trim());
    } else {
      hits.sort((a, b) => a.track.begin[a.i] - b.track.begin[b.i]);
      count = hits.length;
    }
  }
  showCount();
  invalidate();
  return hits.length;
}

// When the answer is here.
export const searched = () => asked;

function showCount() {
  byId('search-count').textContent = view.search === null ? '' :
      `${at >= 0 ? formatCount(first + at + 1) + ' of ' : ''}${formatCount(count)}${
          count >= MOST ? '+' : ''}`;
}

const reachOf = (hit) => (hit.track ? hit.track.end[hit.i] : hit.begin);

// The next hit, or with by = -1 the one before; or null.
export function step(by) {
  if (hits.length === 0) return null;
  // The first step goes to what is seen.
  if (at < 0) at = Math.max(0, hits.findIndex((hit) => reachOf(hit) >= view.from)) - by;
  at = (at + by + hits.length) % hits.length;
  showCount();
  return hits[at];
}
