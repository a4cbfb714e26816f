// SPDX-License-Identifier: Apache-2.0
//
// The dependency graph around an event: what it waited for and what waited for it
// (view/html/page_graph.h). It follows the chain of those that were waited for last; the other
// nodes nearest to each of these are added as leaves.

import {data, tables, whenRowsChange} from './data.js';
import {eventOnPath, nameOf} from './events.js';

const {api, commands, jobs, nodes, edges} = tables;

const THREAD = 0, FETCH = 1, COMMAND = 2, COMPLETION = 3;
const STEPS = {'-1': 7, 1: 4}, MOST_IN_LAYER = 6, MOST_LEAVES = 3;

let index = null;
whenRowsChange(() => { index = null; });

// Indexes edges by node, and nodes by event.
function indexed() {
  if (index !== null) return index;
  const into = Array.from({length: nodes.rows}, () => []), out = into.map(() => []);
  const from = edges.num('from'), to = edges.num('to');
  for (let e = 0; e < edges.rows; ++e) into[to[e]].push(e), out[from[e]].push(e);
  const byEvent = new Map();
  const kind = nodes.num('kind'), row = nodes.num('row'), resumes = nodes.num('resumes');
  for (let n = 0; n < nodes.rows; ++n) {
    if (kind[n] === FETCH || row[n] < 0) continue;
    const key = kind[n] + '.' + row[n];
    if (kind[n] !== THREAD || resumes[n] || !byEvent.has(key)) byEvent.set(key, n);
  }
  return (index = {into, out, byEvent});
}

// Returns the node of an event, or -1.
export function nodeOf(kind, row) {
  if (nodes.rows === 0 || row < 0) return -1;
  const found = (of, place) => indexed().byEvent.get(of + '.' + place) ?? -1;
  switch (kind) {
    case 'api': return found(THREAD, row);
    case 'command': case 'stall': return found(COMMAND, row);
    case 'job': case 'irq': case 'sent': return found(COMPLETION, row);
    case 'submit': return found(THREAD, jobs.num('api')[row]);
    case 'wait': case 'wake': return found(THREAD, jobs.num('wait_api')[row]);
    case 'path': {
      const of = eventOnPath(row);
      return of === null || of.kind === 'path' ? -1 : nodeOf(of.kind, of.row);
    }
    default: return -1;
  }
}

// Returns {kind, row} of the event that a node is part of, or null if it is not drawn.
function eventOf(n) {
  const row = nodes.num('row')[n];
  return row < 0 ? null : {kind: ['api', 'job', 'command', 'job'][nodes.num('kind')[n]], row};
}

function describe(n) {
  const kind = nodes.num('kind')[n], event = eventOf(n);
  const name = event === null ? 'outside of calls' : nameOf(event.kind, event.row);
  const what = kind === FETCH ? 'fetched' : kind === COMPLETION ? 'complete' : kind === COMMAND ?
    'command' : nodes.num('resumes')[n] ? 'goes on' : event === null ? 'thread' : 'API call';
  return {n, event, name, what, begin: nodes.num('begin')[n], length: nodes.num('length')[n],
          critical: event !== null && kind === COMMAND && Boolean(commands.num('critical')[event.row])};
}

// Walks in one direction (-1 back, 1 ahead) and marks nodes with the side on which they are.
function walk(start, side, side_of) {
  const {into, out} = indexed();
  const binding = edges.num('binding'), slack = edges.num('slack');
  const end = side < 0 ? edges.num('from') : edges.num('to');
  let front = [start], more = 0;
  for (let step = 0; step < STEPS[side] && front.length > 0; ++step) {
    const ahead = [];
    let inLayer = 0;
    for (const n of front) {
      const sorted = [...(side < 0 ? into : out)[n]].sort(
          (a, b) => binding[b] - binding[a] || slack[a] - slack[b] || a - b);
      let leaves = 0;
      for (const e of sorted) {
        const other = end[e];
        if (side_of.has(other)) continue;
        if (inLayer >= MOST_IN_LAYER || (!binding[e] && leaves++ >= MOST_LEAVES)) {
          ++more;
          continue;
        }
        side_of.set(other, side);
        ++inLayer;
        if (binding[e]) ahead.push(other);
      }
    }
    front = ahead;
  }
  return more;
}

// Returns layers by the longest path to the middle, so that nodes are left of what they lead to.
function layersOf(middle, side_of, shown) {
  const from = edges.num('from'), to = edges.num('to');
  const layer = new Map([[middle, 0]]);
  const visit = (n) => {
    if (layer.has(n)) return layer.get(n);
    const side = side_of.get(n);
    layer.set(n, side);
    let far = 1;
    for (const e of shown) {
      const other = side < 0 ? (from[e] === n ? to[e] : -1) : (to[e] === n ? from[e] : -1);
      if (other >= 0 && (other === middle || side_of.get(other) === side)) {
        far = Math.max(far, 1 + Math.abs(visit(other)));
      }
    }
    layer.set(n, side * far);
    return side * far;
  };
  for (const n of side_of.keys()) visit(n);
  return layer;
}

// Returns {middle, nodes: [{n, event, name, what, begin, length, critical, layer, main}], edges:
// [{from, to, reason, gap, slack, binding, main}], moreBefore, moreAfter}, or null.
export function graphOf(kind, row) {
  const middle = nodeOf(kind, row);
  if (middle < 0) return null;
  const sides = new Map([[middle, 0]]);
  const moreBefore = walk(middle, -1, sides), moreAfter = walk(middle, 1, sides);
  const {into} = indexed();
  const shown = [...sides.keys()].flatMap((n) => into[n]).filter(
      (e) => sides.has(edges.num('from')[e]));
  const layer = layersOf(middle, sides, shown);
  const around = [...sides.keys()].map((n) => ({...describe(n), layer: layer.get(n), main: n === middle}));
  const list = shown.map((e) => ({
    from: edges.num('from')[e], to: edges.num('to')[e], gap: edges.num('gap')[e],
    slack: edges.num('slack')[e], binding: edges.num('binding')[e] === 1, main: false,
    reason: data.reasons[edges.num('reason')[e]] || 'order'}));
  // Mark the chain that determined when the event came, and one that the event determined.
  const byNode = new Map(around.map((node) => [node.n, node]));
  for (const [near, far] of [['to', 'from'], ['from', 'to']]) {
    for (let n = middle; n !== undefined;) {
      const link = list.find((edge) => edge[near] === n && edge.binding && !edge.main);
      if (link) link.main = byNode.get(link[far]).main = true;
      n = link && link[far];
    }
  }
  return {middle, nodes: around, edges: list, moreBefore, moreAfter};
}

export const hasGraph = (kind, row) => nodeOf(kind, row) >= 0;
