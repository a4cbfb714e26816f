// SPDX-License-Identifier: Apache-2.0
//
// The page's address describes the view: #timeline&t=FROM,TO&s=KIND.ROW&a=FROM,TO&c=1&g=1&q=TEXT,
// where times are ns since the first event, and which tracks are pinned, hidden and moved:
// &p=ID,...&h=ID,...&o=ID,...; or #query&sql=TEXT, where each query is an entry in the browser's
// history.

import {kindOf} from './events.js';
import {showsGraph} from './details.js';
import {view} from './viewport.js';
import {arrangement} from './arrange.js';

let timer = 0, ranQuery = '';

function text(tab, query) {
  const parts = [tab];
  if (tab === 'timeline') {
    parts.push(`t=${view.from.toFixed(1)},${view.to.toFixed(1)}`);
    if (view.selected) {
      const {track, i} = view.selected;
      const kind = track.kinds[i];
      parts.push(`s=${kind}.${kindOf(kind).table.idOf(track.rows[i])}`);
    }
    if (view.area) parts.push(`a=${view.area.from.toFixed(1)},${view.area.to.toFixed(1)}`);
    if (view.lit) parts.push('c=1');
    if (showsGraph()) parts.push('g=1');
    if (query) parts.push('q=' + encodeURIComponent(query));
  }
  parts.push(...arrangement());
  if (tab === 'query' && ranQuery) parts.push('sql=' + encodeURIComponent(ranQuery));
  return '#' + parts.join('&');
}

let latest = () => '';

// Updates the address with a delay, using the view at that time, since browsers limit how often an
// address may change.
export function showAddress(tab, query) {
  latest = () => text(tab, query);
  if (timer !== 0) return;
  timer = setTimeout(() => {
    timer = 0;
    const hash = latest();
    if (hash === location.hash) return;
    try {
      history.replaceState(null, '', hash);
    } catch {
      // Some environments do not let a page change its address; then there is no link to copy.
    }
  }, 120);
}

// Adds a query that is run to the history, so that the browser's back button leads to the previous
// one.
export function rememberQuery(sql) {
  if (sql === ranQuery && location.hash === text('query', '')) return;
  ranQuery = sql;
  try {
    history.pushState(null, '', text('query', ''));
  } catch {
    // Same as in showAddress().
  }
}

export const isAddressShown = () => timer === 0;

// Returns {tab, window, selected: {kind, row}, area, lit, graph, query, arranged: {p, h, o}}
// without malformed parts.
export function readAddress() {
  const [tab, ...parts] = location.hash.slice(1).split('&');
  const address = {tab, arranged: {}};
  const pair = (value) => {
    const numbers = value.split(',').map(Number);
    return numbers.length === 2 && numbers.every(Number.isFinite) && numbers[0] < numbers[1] ?
        numbers : undefined;
  };
  const decoded = (value) => {
    try {
      return decodeURIComponent(value);
    } catch {
      return undefined;
    }
  };
  for (const part of parts) {
    if (part.startsWith('sql=')) address.sql = ranQuery = decoded(part.slice(4)) || '';
    const [name, value] = [part.slice(0, 2), part.slice(2)];
    if (name === 't=') address.window = pair(value);
    if (name === 'a=') address.area = pair(value);
    const event = /^([a-z_]+)\.(\d+)$/.exec(value);
    if (name === 's=' && event) address.selected = {kind: event[1], row: Number(event[2])};
    if (/^[pho]=/.test(part)) address.arranged[part[0]] = value;
    if (name === 'c=') address.lit = value === '1';
    if (name === 'g=') address.graph = value === '1';
    if (name === 'q=') address.query = decoded(value);
  }
  return address;
}
