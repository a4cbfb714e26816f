// SPDX-License-Identifier: Apache-2.0
//
// Helpers for elements. Texts are always inserted as text, so that a string cannot become markup.

import {shownOf, sorted} from './sort.js';

// h('td', {class: 'number', title: name}, 'text', child) makes an element: functions become
// listeners, null is omitted.
export function h(tag, about, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(name, value);
    } else if (name === 'style') {
      for (const [property, to] of Object.entries(value)) element.style.setProperty(property, to);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    if (Array.isArray(child)) {
      append(element, child);
    } else {
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
}

export const byId = (id) => document.getElementById(id);

export function replaceChildren(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

// The sort order of tables, by their column headings, so that it is kept when they are built again.
const orders = new Map();
// The next order after a click: numbers begin with the largest, and the third click restores the
// original order.
const NEXT = {n: {0: -1, '-1': 1, 1: 0}, t: {0: 1, 1: -1, '-1': 0}};
const SAID = {0: 'none', 1: 'ascending', '-1': 'descending'};

// A table is as wide as its columns need. If there is not enough space, it uses smaller letters or
// shows each row as a list.
const fits = new ResizeObserver((entries) => entries.forEach(({target}) => fit(target)));
// A table that is narrower than its container does not resize with it.
addEventListener('resize', () => document.querySelectorAll('table').forEach((table) => fit(table)));
function fit(table, anew = false) {
  const box = table.parentElement;
  if (box === null || box.clientWidth === 0 || (!anew && table.fitted === box.clientWidth)) return;
  table.classList.remove('tight', 'stacked');
  const style = getComputedStyle(box);
  const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const isWider = () => table.offsetWidth > room + 1;
  if (isWider()) table.classList.add('tight');
  if (isWider()) table.classList.replace('tight', 'stacked');
  table.fitted = box.clientWidth;
}

// head has [text, kind], where kind 'n' is a number, otherwise text. rows are lists of texts,
// elements or cells (sort.js). Shows the first `most` rows in the selected order.
export function tableOf(head, rows, about, most = Infinity) {
  const key = head.map(([text]) => text).join('\n');
  const body = h('tbody'), line = h('tr'), sortable = rows.length > 1;
  const table = h('table', about, h('thead', null, line), body);
  const draw = () => {
    const {column, direction} = orders.get(key) || {column: 0, direction: 0};
    replaceChildren(body, sorted(rows, column, direction).slice(0, most).map((row) => h('tr', null,
        row.map((content, i) => h('td', {class: head[i][1] === 'n' ? 'n' : null, 'data-label': head[i][0] || null},
                                  shownOf(content))))));
    [...line.children].forEach((th, i) => th.hasAttribute('aria-sort') &&
        th.setAttribute('aria-sort', SAID[i === column ? direction : 0]));
    fit(table, true);
  };
  const choose = (i) => {
    const {column, direction} = orders.get(key) || {column: i, direction: 0};
    orders.set(key, {column: i, direction: NEXT[head[i][1] === 'n' ? 'n' : 't'][column === i ? direction : 0]});
    draw();
  };
  head.forEach(([text, kind], i) => line.append(h('th', {
    class: kind === 'n' ? 'n' : null, scope: 'col', 'aria-sort': sortable && text ? 'none' : null},
  sortable && text ? h('button', {type: 'button', class: 'sort', click: () => choose(i)}, text) : text)));
  draw();
  fits.observe(table);
  return table;
}
