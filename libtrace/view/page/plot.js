// SPDX-License-Identifier: Apache-2.0
//
// Axes and marks of charts. A scale is a function from values to pixels, with its ticks.

import {h} from './dom.js';
import {ink} from './colours.js';
import {forgetLabels, write} from './labels.js';
import {explain} from './tooltip.js';

const LEFT = 70, RIGHT = 12, TOP = 10, BOTTOM = 24;

export function scale(from, to, low, high) {
  const of = (value) => low + (value - from) / ((to - from) || 1) * (high - low);
  const wanted = Math.max(2, Math.abs(high - low) / (low > high ? 45 : 90));
  const raw = ((to - from) || 1) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= raw);
  of.ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to * 1.0001; ++i) of.ticks.push(i * step);
  return of;
}

export function logScale(from, to, low, high) {
  const a = Math.log10(from), b = Math.log10(to);
  const of = (value) => low + (Math.log10(value) - a) / ((b - a) || 1) * (high - low);
  of.ticks = [];
  const step = Math.max(1, Math.ceil((b - a) / Math.max(2, Math.abs(high - low) / 70)));
  for (let power = Math.ceil(a); power <= b; power += step) of.ticks.push(10 ** power);
  return of;
}

// Draws the box, its grid and the texts of the ticks; a null scale has none.
export function frame(g, box, x, y, texts) {
  g.fillStyle = ink('grid');
  for (const tick of x ? x.ticks : []) g.fillRect(x(tick), box.top, 1, box.bottom - box.top);
  for (const tick of y ? y.ticks : []) g.fillRect(box.left, y(tick), box.right - box.left, 1);
  g.fillStyle = ink('dim');
  for (const tick of x ? x.ticks : []) {
    const text = texts.x(tick), half = g.measureText(text).width / 2;
    write(g, text, Math.min(x(tick), g.canvas.clientWidth - half - 1), box.bottom + 11, 2 * half + 1, {align: 'center', free: true});
  }
  for (const tick of y ? y.ticks : []) write(g, texts.y(tick), box.left - 6, y(tick), box.left - 8, {align: 'right', free: true});
  g.fillRect(box.left, box.bottom, box.right - box.left, 1);
}

export function line(g, n, x, y, colour, width = 1.2) {
  g.strokeStyle = colour, g.lineWidth = width;
  g.beginPath();
  for (let i = 0; i < n; ++i) (i === 0 ? g.moveTo(x(i), y(i)) : g.lineTo(x(i), y(i)));
  g.stroke();
  g.lineWidth = 1;
}

// Draws columns from low(i) to high(i), each of which reaches to the next one.
export function area(g, n, x, low, high, colour) {
  g.fillStyle = colour;
  for (let i = 0; i < n; ++i) {
    const bottom = low(i), top = high(i);
    if (bottom > top) g.fillRect(x(i), top, x(i + 1) - x(i) + 0.4, bottom - top);
  }
}

export function bars(g, list) {
  for (const [x, y, width, bottom, colour] of list) {
    g.fillStyle = colour;
    g.fillRect(x, y, width, bottom - y);
  }
}

export function points(g, list, radius) {
  for (const [x, y, colour] of list) {
    g.fillStyle = colour;
    g.beginPath();
    g.arc(x, y, radius, 0, 2 * Math.PI);
    g.fill();
  }
}

export function legend(entries) {
  return h('p', {class: 'dim legend'}, entries.flatMap(([text, colour]) => [
    h('span', null, h('i', {class: 'key', style: {background: colour}}), text), ' ']));
}

// Returns the marks of series along x: a column of the box for each of n bins, with the text
// said(i).
export const columns = (box, n, x, said) => Array.from({length: n}, (_, i) => (
  {x: x(i), w: Math.max(1, x(i + 1) - x(i)), y: box.top, h: box.bottom - box.top, text: () => said(i)}));

const AROUND = 5;
export const around = (x, y, text) => ({x: x - AROUND, y: y - AROUND, w: 2 * AROUND, h: 2 * AROUND, text});

// Returns a card with a canvas. draw(context, box) is called when the canvas gets the event "draw",
// and returns the marks for tooltips.
export function plot(title, above, draw, below) {
  const canvas = h('canvas', {role: 'img', 'aria-label': `${title}; arrow keys step through it`});
  let marks = [];
  canvas.addEventListener('draw', () => {
    const ratio = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight;
    if (width === 0) return;
    canvas.width = width * ratio, canvas.height = height * ratio;
    const g = canvas.getContext('2d');
    g.scale(ratio, ratio);
    g.font = '11px system-ui, "DejaVu Sans", sans-serif', g.textBaseline = 'middle';
    forgetLabels(canvas);
    marks = draw(g, {left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM}) || [];
  });
  explain(canvas, () => marks);
  return h('article', {class: 'card'}, h('h3', null, title), above, canvas, below);
}
