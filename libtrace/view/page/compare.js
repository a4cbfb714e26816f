// SPDX-License-Identifier: Apache-2.0
//
// Shows two runs next to each other: a timeline of each, in a frame with the page of that trace,
// and a list of differences with links to their places in both.

import {byId, h, replaceChildren} from './dom.js';
import {clean, formatCount, formatNs, formatSpan, isKnown, shortened} from './text.js';
import {isDark, toggleTheme, whenThemeChanges} from './colours.js';

const data = JSON.parse(byId('data').textContent);
const {diff} = data;
const pages = {};   // by side, once it is loaded
let aligned = 'trace';

const SIDES = ['a', 'b'];
const otherOf = (side) => (side === 'a' ? 'b' : 'a');
const places = {};  // of the selected row
// Returns the time of a side at which both are aligned.
const originOf = (side) => (aligned === 'run' ? pages[side].run[0] :
    aligned === 'row' ? places[side].from_ns : 0);

// Called by the frames.
function moved(side, from, to) {
  const other = otherOf(side);
  if (!pages[other]) return;
  const by = originOf(other) - originOf(side);
  pages[other].show(from + by, to + by);
}

// Widens both to the longer range, so that they can show the same times.
function widen() {
  const begin = Math.min(...SIDES.map((side) => -originOf(side)));
  const end = Math.max(...SIDES.map((side) => pages[side].end - originOf(side)));
  for (const side of SIDES) pages[side].widen(begin + originOf(side), end + originOf(side));
}

function align() {
  if (!pages.a || !pages.b) return;
  widen();
  const from = Math.min(...SIDES.map((side) => pages[side].run[0] - originOf(side)));
  const to = Math.max(...SIDES.map((side) => pages[side].run[1] - originOf(side)));
  const more = Math.max(1, to - from) * 0.02;
  for (const side of SIDES) pages[side].show(from - more + originOf(side), to + more + originOf(side));
}

function ready(side, page) {
  pages[side] = page;
  page.dark(isDark());
  align();
  if (pages.a && pages.b) document.documentElement.dataset.ready = '1';
}

window.acceltracePair = {moved, ready};

// Names a side by its file, unless both files have the same name.
function shortName(side) {
  const [a, b] = SIDES.map((each) => clean(data[each].name).replace(/^.*\//, ''));
  return a === b ? clean(data[side].name) : side === 'a' ? a : b;
}

function frameOf(side) {
  const {name, command} = data[side];
  const frame = h('iframe', {'data-side': side, title: `Timeline of ${side.toUpperCase()}, ${clean(name)}`});
  if (data.served) {
    frame.src = new URL(side + '/', location.href);
  } else {
    // The page is included once, although it shows two traces.
    const [before, after] = data.page;
    frame.srcdoc = before + JSON.stringify(data[side].data).replace(/[<>&]/g, (c) =>
        '\\u00' + c.charCodeAt(0).toString(16)) + after;
  }
  return h('div', {class: 'side'},
           h('h2', null, side.toUpperCase(), h('span', {title: clean(name)}, shortName(side),
             h('span', {class: 'dim'}, command ? '  ' + shortened(clean(command), 100) : ''))), frame);
}

const WORDS = {same: 'same', within_bounds: 'within bounds', within_spread: 'within spread',
               once: 'seen once', significant: 'certain'};

const signed = (span) => (span.ns > 0 ? '+' : '') + formatSpan(exact(span));
// A span of the comparison always includes its bounds.
const exact = (span) => (span.lo_ns === span.ns && span.hi_ns === span.ns ? {ns: span.ns} : span);

function relative({a, change}) {
  if (!(a.ns > 0) || !isKnown(change.ns)) return '';
  const share = change.ns / a.ns;
  return `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`;
}

const countOf = ({count_a: a, count_b: b}) => (a === undefined ? '' :
    a === b ? formatCount(a) : `${formatCount(a)} → ${formatCount(b)}`);

function because(change) {
  const parts = (change.parts || []).slice(0, 2).map(({what, ns}) =>
      `${clean(what)} ${ns > 0 ? '+' : ''}${formatNs(ns)}`).join(', ');
  return [clean(change.cause || ''), parts].filter(Boolean).join(' · ');
}

// Shows the place in both timelines.
function go(row, change) {
  for (const each of document.querySelectorAll('tr.here')) each.classList.remove('here');
  row.classList.add('here');
  const found = SIDES.filter((side) => change['at_' + side] && pages[side]);
  for (const side of found) places[side] = change['at_' + side];
  const length = Math.max(...found.map((side) => places[side].to_ns - places[side].from_ns), 100);
  // From now on, both begin at the same place and show the same length.
  byId('align').options[2].disabled = found.length < 2;
  if (found.length === 2) {
    aligned = byId('align').value = 'row';
    widen();
  }
  for (const side of found) pages[side].go(places[side], length);
  byId('announce').textContent = `${change.name}: shown in both timelines`;
}

// The most important columns come first: on a narrow screen the rest has to be scrolled to.
const HEAD = [['', ''], ['change', 'n'], ['relative', 'n'], ['certainty', ''], ['A', 'n'], ['B', 'n'],
              ['count', 'n']];

function rowOf(change, named) {
  const cell = (content, about) => h('td', about, content);
  const grown = change.certainty === 'significant' && change.change.ns > 0;
  const places = SIDES.filter((side) => change['at_' + side]);
  const row = h('tr', {'data-goes': places.length ? '1' : null, tabindex: places.length ? '0' : null,
                       title: places.length ? 'Show it in the timelines' : null},
      cell(named(change)), cell(signed(change.change), {class: 'n' + (grown ? ' longer' : '')}),
      cell(relative(change), {class: 'n'}),
      cell(WORDS[change.certainty] || change.certainty,
           {class: change.certainty === 'significant' ? 'sure' : 'dim'}),
      cell(formatSpan(exact(change.a)), {class: 'n'}), cell(formatSpan(exact(change.b)), {class: 'n'}),
      cell(countOf(change), {class: 'n'}));
  if (places.length) {
    row.addEventListener('click', () => go(row, change));
    row.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      go(row, change);
    });
  }
  const why = change.certainty === 'within_bounds' ? '' : because(change);
  return why ? [row, h('tr', {class: 'why'}, cell(why, {class: 'dim', colspan: String(HEAD.length)}))] : [row];
}

const MOST = 40;

function tableOf(title, note, changes, named) {
  const different = changes.filter((change) => change.certainty !== 'same');
  const same = changes.length - different.length;
  const remark = [note, different.length > MOST ? `the first ${MOST} of ${formatCount(different.length)}` : '',
                  same ? `${formatCount(same)} the same` : ''].filter(Boolean).join('; ');
  return [h('h3', null, title, h('span', {class: 'dim'}, '  ' + remark)),
          different.length === 0 ? h('p', {class: 'dim'}, 'no change') :
            h('div', {class: 'rows'}, h('table', null,
              h('thead', null, h('tr', null, HEAD.map(([text, kind]) =>
                  h('th', {scope: 'col', class: kind || null}, text)))),
              h('tbody', null, different.slice(0, MOST).map((change) => rowOf(change, named)))))];
}

function summary() {
  if (!diff.comparable) return h('p', {class: 'summary longer'}, `These traces cannot be compared: ${clean(diff.why_not)}.`);
  const {run} = diff, share = relative(run);
  return h('p', {class: 'summary'}, `The run took ${formatSpan(exact(run.a))} and takes ${formatSpan(exact(run.b))}: ${
      signed(run.change)}${share ? ` (${share})` : ''}${
      run.certainty === 'within_bounds' ? ', which is within the error bounds' : ''}.`);
}

function drawDifferences() {
  const {jobs} = diff;
  const named = ({name, unit}) => [clean(name), unit ? h('span', {class: 'dim'}, '  ' + clean(unit)) : null];
  const spoken = ({name}) => clean(name).replaceAll('_', ' ');
  const size = ({name, unit}) => (name === 'larger' ? 'larger' : `up to ${formatCount(Number(name))} B`) +
      '  ' + clean(unit || '');
  replaceChildren(byId('differences'), summary(),
      h('p', {class: 'dim'}, `${formatCount(jobs.a)} and ${formatCount(jobs.b)} jobs, ${formatCount(jobs.aligned)} of them aligned${
          jobs.first_difference ? '; ' + clean(jobs.first_difference) : ''}.`),
      diff.notes.map((note) => h('p', {class: 'dim'}, clean(note))),
      diff.comparable ? [
        tableOf('Where the time went', 'each instant counts once', diff.classes, spoken),
        tableOf('Ops', 'sums of start to end', diff.ops, named),
        tableOf('Stages', 'of all jobs together', diff.stages, spoken),
        tableOf('Units', 'time that they were busy', diff.units, named),
        tableOf('Transfers', 'by size', diff.transfers, size),
        tableOf('API calls', 'on their threads', diff.calls, named)] : null);
}

function start() {
  const names = SIDES.map((side) => clean(data[side].name));
  document.title = `${shortened(names.join(' and '), 80)} - acceltrace`;
  replaceChildren(byId('title'), 'acceltrace diff', h('span', {class: 'dim'}, `  ${names.join(' and ')}`));
  byId('title').title = byId('title').textContent;
  drawDifferences();
  replaceChildren(byId('frames'), SIDES.map(frameOf));
  byId('align').addEventListener('change', (event) => {
    aligned = event.target.value;
    align();
  });
  byId('theme').addEventListener('click', toggleTheme);
  whenThemeChanges(() => {
    for (const side of SIDES) if (pages[side]) pages[side].dark(isDark());
  });
  // For tests, and for users of the browser's console.
  window.acceltrace = () => ({
    idle: SIDES.every((side) => pages[side]), windows: SIDES.map((side) => pages[side] && pages[side].window()),
    pages,
  });
}

start();
