// SPDX-License-Identifier: Apache-2.0
//
// Draws the dependency graph in layers: what was waited for on the left, the event in the middle,
// what waited for it on the right. Nodes are buttons, with the lines behind them.

import {h} from './dom.js';
import {colourOf} from './events.js';
import {formatNs, shortened} from './text.js';
import {graphOf} from './graph.js';

const WIDE = 150, HIGH = 42, ACROSS = 78, DOWN = 16, EDGE = 8;
const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, about, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(about)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Gives each node its x and y: layers from left to right, with the main chain along the top.
function layOut(graph) {
  const layers = new Map();
  for (const node of graph.nodes) {
    if (!layers.has(node.layer)) layers.set(node.layer, []);
    layers.get(node.layer).push(node);
  }
  const order = [...layers.keys()].sort((a, b) => a - b);
  let rows = 1;
  order.forEach((layer, column) => {
    layers.get(layer).sort((a, b) => b.main - a.main || a.begin - b.begin || a.n - b.n);
    layers.get(layer).forEach((node, i) => {
      node.x = EDGE + column * (WIDE + ACROSS), node.y = EDGE + i * (HIGH + DOWN);
      node.column = column, node.place = i;
    });
    rows = Math.max(rows, layers.get(layer).length);
  });
  return {wide: order.length * (WIDE + ACROSS) - ACROSS + 2 * EDGE,
          high: rows * (HIGH + DOWN) - DOWN + 2 * EDGE + 34};  // lines may run below the last row
}

const waitText = (edge) => `${edge.reason}, ${formatNs(edge.gap)}`;

function drawEdge(edge, a, b) {
  const x0 = a.x + WIDE, y0 = a.y + HIGH / 2, x1 = b.x, y1 = b.y + HIGH / 2;
  const bend = Math.max(24, (x1 - x0) / 2);
  const group = svg('g', {class: edge.binding ? (edge.main ? 'main' : 'binding') : 'loose'});
  // Lines across several layers pass below the nodes in between.
  const far = b.column - a.column, low = Math.max(y0, y1) + HIGH / 2 + 7 + 4 * far;
  const way = svg('path', {d: far > 1 ?
    `M${x0} ${y0}C${x0 + 34} ${low} ${x0 + 10} ${low} ${x0 + 60} ${low}L${x1 - 60} ${low}` +
        `C${x1 - 10} ${low} ${x1 - 34} ${low} ${x1 - 5} ${y1}` :
    `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1 - 5} ${y1}`});
  way.append(svg('title', {}, waitText(edge) + (edge.binding ? '' :
      `: could have been ${formatNs(edge.slack)} later`)));
  group.append(way, svg('polygon', {points: `${x1},${y1} ${x1 - 7},${y1 - 4} ${x1 - 7},${y1 + 4}`}));
  if (edge.main && b.column === a.column + 1) {
    const middle = (x0 + x1) / 2;
    const flat = Math.abs(y1 - y0) < 2;
    if (edge.gap > 0) group.append(svg('text', {x: middle, y: flat ? y0 - 6 : (y0 + y1) / 2 - 6},
                                       formatNs(edge.gap)));
    group.append(svg('text', {x: middle, y: flat ? y0 + 14 : (y0 + y1) / 2 + 14, class: 'why'},
                     shortened(edge.reason, 12)));
  }
  return group;
}

function labelOf(node, graph) {
  const before = graph.edges.filter((edge) => edge.to === node.n);
  const after = graph.edges.filter((edge) => edge.from === node.n);
  const list = (edges, end) => edges.map((edge) =>
      `${graph.nodes.find(({n}) => n === edge[end]).name} by ${waitText(edge)}`).join('; ');
  return `${node.name}, ${node.what}, ${formatNs(node.length)}` +
      (node.n === graph.middle ? ', the selection' : '') +
      (before.length ? `; waited for ${list(before, 'from')}` : '') +
      (after.length ? `; waited for by ${list(after, 'to')}` : '');
}

function nodeButton(node, graph, go) {
  const colour = node.event ? colourOf(node.event.kind, node.event.row) : 'var(--idle)';
  return h('button', {
    type: 'button', class: 'node' + (node.n === graph.middle ? ' here' : '') +
        (node.critical ? ' critical' : ''),
    tabindex: node.n === graph.middle ? '0' : '-1', 'data-node': node.n,
    'aria-label': labelOf(node, graph), title: `${node.name}\n${node.what} · ${formatNs(node.length)}`, click: () => go(node.event),
    style: {left: node.x + 'px', top: node.y + 'px', width: WIDE + 'px', height: HIGH + 'px',
            'border-left-color': colour}},
  h('b', null, shortened(node.name, 80)),
  h('span', {class: 'dim'}, `${node.what} · ${node.length > 0 ? formatNs(node.length) : 'instant'}`));
}

// Returns the node to which an arrow key leads.
function next(graph, node, key) {
  const {column, place} = node;
  const at = (c, p) => graph.nodes.filter((each) => each.column === c)
      .sort((a, b) => Math.abs(a.place - p) - Math.abs(b.place - p))[0];
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const by = key === 'ArrowUp' ? -1 : 1;
    return graph.nodes.find((each) => each.column === column && each.place === place + by);
  }
  const [near, far, by] = key === 'ArrowLeft' ? ['to', 'from', -1] : ['from', 'to', 1];
  const edges = graph.edges.filter((edge) => edge[near] === node.n)
      .sort((a, b) => b.main - a.main || b.binding - a.binding);
  return edges.length > 0 ? graph.nodes.find(({n}) => n === edges[0][far]) : at(column + by, place);
}

function keys(graph, buttons) {
  return (event) => {
    const node = graph.nodes.find(({n}) => String(n) === event.target.dataset.node);
    if (!node) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.stopPropagation();
      return;
    }
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault(), event.stopPropagation();
    const to = next(graph, node, event.key);
    if (to) buttons.get(to.n).focus();
  };
}

// Returns an element with the graph around an event, or null if the event is in no graph. go({kind,
// row}) selects another one.
export function graphElement(kind, row, go) {
  const graph = graphOf(kind, row);
  if (graph === null) return null;
  const {wide, high} = layOut(graph);
  const byNode = new Map(graph.nodes.map((node) => [node.n, node]));
  const lines = svg('svg', {width: wide, height: high, 'aria-hidden': 'true'});
  for (const edge of [...graph.edges].sort((a, b) => a.main - b.main)) {
    lines.append(drawEdge(edge, byNode.get(edge.from), byNode.get(edge.to)));
  }
  const buttons = new Map(graph.nodes.map((node) => [node.n, nodeButton(node, graph, (event) =>
    event && go(event))]));
  const before = graph.nodes.filter(({layer}) => layer < 0).length;
  const after = graph.nodes.filter(({layer}) => layer > 0).length;
  const element = h('div', {
    class: 'graph', role: 'group', keydown: keys(graph, buttons),
    'aria-label': `Dependency graph: ${before} before, ${after} after; arrow keys move, Enter selects`},
  lines, [...buttons.values()]);
  element.style.setProperty('min-width', wide + 'px');
  element.style.setProperty('min-height', high + 'px');
  return {element, graph, middle: buttons.get(graph.middle)};
}
