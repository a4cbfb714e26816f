// SPDX-License-Identifier: Apache-2.0
//
// Colours that people with any kind of colour vision can distinguish (Okabe and Ito's eight, with a
// purple in place of their vermilion), and their meaning in both themes. Red is only used for what
// is lost or broken: a unit that is always busy is not a fault.

const PURPLE = '#5e3c99', ON_BLACK = '#a98fe0';
export const EIGHT = ['#0072b2', '#e69f00', PURPLE, '#cc79a7', '#f0e442', '#009e73', '#56b4e9',
                      '#999999'];
const UNSEEN_COLOUR = '#7a6134';
const ON_DARK = new Set(['#0072b2', PURPLE, '#009e73', UNSEEN_COLOUR]);

// The colours of what a unit did: busy, stalled while it ran, waiting for work.
export const unitColours = () => [EIGHT[0], EIGHT[6], ink('idle')];

const seen = (colour) => (colour === PURPLE && isDark() ? ON_BLACK : colour);
export const classColour = (index) => seen(EIGHT[index % EIGHT.length]);
// The fourth class of time, a device that is not observed inside, has its own colour.
const UNSEEN = 3;
export const timeColour = (index) =>
    index === UNSEEN ? UNSEEN_COLOUR : classColour(index < UNSEEN ? index : index - 1);
// Causes of stalls begin at another colour, so that they differ from the adjacent class.
export const causeColour = (index) => classColour(index * 3 + 2);
export const textOn = (colour) => ON_DARK.has(colour) ? '#ffffff' : '#111111';

const hues = new Map(), inks = new Map();
const media = matchMedia('(prefers-color-scheme: dark)');
let chosen = null;
const listeners = [];

export const isDark = () => (chosen === null ? media.matches : chosen === 'dark');
export const whenThemeChanges = (listener) => listeners.push(listener);

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  hues.clear(), inks.clear();
  for (const listener of listeners) listener();
}

export function toggleTheme() {
  chosen = isDark() ? 'light' : 'dark';
  applyTheme();
}

// Returns a colour of the style sheet for drawing on a canvas.
export function ink(name) {
  let value = inks.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
    inks.set(name, value);
  }
  return value;
}

// Returns a colour for each name. Names are told apart by their text; the colour only helps to
// recognise them.
export function nameColour(name) {
  let colour = hues.get(name);
  if (colour === undefined) {
    let hash = 7;
    const folded = name.replace(/\d+/g, '#');
    for (let i = 0; i < folded.length; ++i) hash = (hash * 31 + folded.charCodeAt(i)) >>> 0;
    const hue = 30 + hash % 300;  // no red
    colour = isDark() ? `hsl(${hue} 38% 36%)` : `hsl(${hue} 52% 80%)`;
    hues.set(name, colour);
  }
  return colour;
}

media.addEventListener('change', applyTheme);
applyTheme();
