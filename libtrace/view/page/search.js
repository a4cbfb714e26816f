// SPDX-License-Identifier: Apache-2.0
//
// Finds events by parts of their names.

import {byId} from './dom.js';
import {clean, formatCount} from './text.js';
import {nameOf} from './events.js';
import {ask, isServed} from './source.js';
import {invalidate, view} from './viewport.js';

const MOST = 100000;
// Hits are {track, i} or, for a served trace, {kind, row, begin}. In the latter case, `first` is
// the number of the first hit that was sent, and `count` the total.
let hits = [], first = 0, count = 0;
let at = -1;
let wanted = '', asked = Promise.resolve();

// Returns a function that tests whether a lower-case name contains the text. [A-B] in the text also
// matches any number from A to B, as the report folds names (analysis/rows/names.h).
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

// Returns the loaded events with such a name.
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

// Marks the hits among newly loaded events.
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

// Resolves when the answer has arrived.
export const searched = () => asked;

function showCount() {
  byId('search-count').textContent = view.search === null ? '' :
      `${at >= 0 ? formatCount(first + at + 1) + ' of ' : ''}${formatCount(count)}${
          count >= MOST ? '+' : ''}`;
}

const reachOf = (hit) => (hit.track ? hit.track.end[hit.i] : hit.begin);

// Returns the next hit, the previous one if by = -1, or null.
export function step(by) {
  if (hits.length === 0) return null;
  // The first step leads to the visible part.
  if (at < 0) at = Math.max(0, hits.findIndex((hit) => reachOf(hit) >= view.from)) - by;
  at = (at + by + hits.length) % hits.length;
  showCount();
  return hits[at];
}
