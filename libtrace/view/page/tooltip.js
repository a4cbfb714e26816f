// SPDX-License-Identifier: Apache-2.0
//
// Tooltips for the marks of charts: with the mouse, by touch, and with keys if the chart has the
// focus.

import {byId, h} from './dom.js';

const NEAR = 24;  // maximum distance from a mark, in pixels

let frame = null;
function markFrame() {
  if (frame === null) document.body.append(frame = h('div', {id: 'tip-mark', 'aria-hidden': 'true', hidden: true}));
  return frame;
}

// Shows the mark selected by keys again, since its chart may have moved.
let again = null;

export function hideTip() {
  again = null;
  byId('tip').hidden = true;
  markFrame().hidden = true;
}

// Shows the tooltip next to a place of the window, within its edges.
export function showTip(text, x, y) {
  const tip = byId('tip');
  tip.hidden = false;
  tip.textContent = text;
  const left = x + 14 + tip.offsetWidth > innerWidth - 4 ? x - 14 - tip.offsetWidth : x + 14;
  const top = y + 16 + tip.offsetHeight > innerHeight - 4 ? y - 10 - tip.offsetHeight : y + 16;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4)) + 'px';
  tip.style.top = Math.max(4, top) + 'px';
}

const textOf = ({text}) => (typeof text === 'function' ? text() : text);

function nearest(marks, x, y) {
  let best = -1, least = Infinity;
  marks.forEach((mark, i) => {
    const off = Math.hypot(Math.max(mark.x - x, 0, x - mark.x - mark.w),
                           Math.max(mark.y - y, 0, y - mark.y - mark.h));
    // If several marks contain the place, the smallest one is preferred.
    const rank = off > 0 ? off : mark.w * mark.h * 1e-9;
    if (off <= NEAR && rank < least) least = rank, best = i;
  });
  return best;
}

// Adds tooltips to an element. marks() returns [{x, y, w, h, text}] in its pixels.
export function explain(element, marks) {
  let at = -1;
  const show = (i, x, y) => {
    const list = marks();
    at = i, again = null;
    if (i < 0 || i >= list.length) return hideTip();
    const mark = list[i], box = element.getBoundingClientRect();
    showTip(textOf(mark), x ?? box.left + mark.x + mark.w / 2, y ?? box.top + mark.y + Math.min(mark.h / 2, 40));
    const outline = markFrame();
    outline.hidden = false;
    for (const [side, value] of [['left', box.left + mark.x], ['top', box.top + mark.y], ['width', mark.w], ['height', mark.h]]) {
      outline.style.setProperty(side, value + 'px');
    }
    return undefined;
  };
  const point = (event) => {
    const box = element.getBoundingClientRect();
    show(nearest(marks(), event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
  };
  element.tabIndex = 0;
  element.addEventListener('pointermove', point);
  element.addEventListener('pointerdown', point);
  element.addEventListener('pointerleave', (event) => event.pointerType !== 'touch' && hideTip());
  element.addEventListener('focus', () => {
    if (element.matches(':focus-visible') && marks().length > 0) step(0);
  });
  element.addEventListener('blur', hideTip);
  const step = (to) => {
    const count = marks().length;
    if (count === 0) return;
    show(Math.max(0, Math.min(count - 1, to)));
    const repeat = () => {
      show(at);
      again = repeat;
    };
    again = repeat;
    byId('announce').textContent = textOf(marks()[at]);
  };
  element.addEventListener('keydown', (event) => {
    const last = marks().length - 1;
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last,
                PageDown: at + 20, PageUp: at - 20}[event.key];
    if (event.key === 'Escape') hideTip();
    if (to === undefined || last < 0) return;
    event.preventDefault(), event.stopPropagation();
    step(to);
  });
  return element;
}

// Uses the children of an element as its marks, with the text of data-tip.
export const explainChildren = (element) => explain(element, () => {
  const box = element.getBoundingClientRect();
  return [...element.querySelectorAll('[data-tip]')].map((child) => {
    const of = child.getBoundingClientRect();
    return {x: of.left - box.left, y: of.top - box.top, w: of.width, h: of.height, text: child.dataset.tip};
  });
});

// Titles only appear for a resting mouse: this makes them available for touch and keys.
export function startTooltips() {
  const sayTitle = (element) => {
    const box = element.getBoundingClientRect();
    showTip(element.title, box.left, box.bottom - 12);
  };
  addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'touch' || !(event.target instanceof Element)) return;
    const titled = event.target.closest('[title]');
    if (titled && titled.title) sayTitle(titled); else if (event.target.closest('[tabindex], canvas') === null) hideTip();
  });
  addEventListener('focusin', ({target}) => target.title && target.matches(':focus-visible') && sayTitle(target));
  addEventListener('focusout', hideTip);
  addEventListener('scroll', () => (again === null ? hideTip() : again()), true);
}
