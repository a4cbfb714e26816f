// SPDX-License-Identifier: Apache-2.0
//
// Elements. Text goes in as text: nothing here makes markup of a string.

// h('td', {class: 'number', title: name}, 'text', child): functions are listeners, null is left
// out.
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

// head: [text, kind]; kind 'n' is a number, 't' text. rows: lists of texts or elements.
export function tableOf(head, rows, about) {
  const cell = (tag) => (content, i) =>
      h(tag, {class: head[i][1] === 'n' ? 'n' : null,
              scope: tag === 'th' ? 'col' : null}, content);
  return h('table', about,
           h('thead', null, h('tr', null, head.map(([text], i) => cell('th')(text, i)))),
           h('tbody', null, rows.map((row) => h('tr', null, row.map(cell('td'))))));
}
