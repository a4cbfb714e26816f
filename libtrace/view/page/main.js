// SPDX-License-Identifier: Apache-2.0
//
// Assembles the page: tabs, search, theme, address.

import {data, report} from './data.js';
import {byId, h, replaceChildren} from './dom.js';
import {clean, shortened} from './text.js';
import {toggleTheme, whenThemeChanges} from './colours.js';
import {drawOverview, resizeOverview} from './overview.js';
import {forgetColours} from './draw.js';
import {invalidate, onRedraw, show, view} from './viewport.js';
import {drawTimeline, goToHit, inspect, keyUp, light, onChange, selectArea, selectById, showPhase, startTimeline,
        timelineKey} from './timeline.js';
import {showGraph} from './details.js';
import {search} from './search.js';
import {readAddress, rememberQuery, showAddress} from './address.js';
import {startLive} from './live.js';
import {startTooltips} from './tooltip.js';
import {takeArrangement} from './track_menu.js';
import {drawCharts} from './charts.js';
import {drawTables, drawTrust} from './listings.js';
import {drawQuery, whenAsked} from './query.js';
import {isPaired, startPair} from './pair.js';

const TABS = {
  overview: ['Overview', () => resizeOverview()],
  timeline: ['Timeline', () => invalidate()],
  charts: ['Charts', () => drawCharts()],
  tables: ['Tables', () => drawTables((phase) => {
    open('timeline');
    showPhase(phase);
  })],
  trust: ['Trust', () => drawTrust()],
  query: ['Query', () => drawQuery(readAddress().sql)],
};
let tab = 'overview';

function open(name) {
  tab = TABS[name] ? name : 'overview';
  for (const each of Object.keys(TABS)) {
    byId(each).hidden = each !== tab;
    byId('tab-' + each).setAttribute('aria-selected', String(each === tab));
    byId('tab-' + each).tabIndex = each === tab ? 0 : -1;
  }
  TABS[tab][1]();
  showAddress(tab, byId('search').value);
}

const KEY_HELP = [
  ['W, S', 'zoom in, out, at the mouse'], ['A, D', 'pan'], ['Ctrl + wheel', 'zoom'],
  ['Shift + wheel, Shift + drag, drag the ruler', 'pan'], ['drag', 'select an area'],
  ['← →', 'the event before, after'], ['↑ ↓', 'the track above, below'],
  ['[ ]', 'along the arrows'], ['F', 'show the selection'], ['R, 0', 'the run, the whole recording'],
  ['C', 'light up the critical path'], ['G', 'the dependency graph of the selection'], ['T, click a name', 'pin, hide, move tracks'], ['/', 'search'], ['N, P', 'next, previous hit'], ['click a phase', 'show it'], ['1 to 6', 'the views'], ['Ctrl + Enter', 'run the query'], ['Esc', 'select nothing'],
];

function showHelp() {
  const dialog = byId('keys');
  replaceChildren(dialog, h('h2', null, 'Keys and mouse'),
      h('table', null, KEY_HELP.map(([keys, what]) => h('tr', null,
          h('td', null, h('kbd', null, keys)), h('td', null, what)))),
      h('button', {type: 'button', click: () => dialog.close()}, 'Close'));
  dialog.showModal();
}

function keyDown(event) {
  const target = event.target;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return;
  if (target instanceof HTMLInputElement) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  if (document.querySelector('dialog[open]')) return;
  const number = Number(event.key);
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (plain && number >= 1 && number <= Object.keys(TABS).length) {
    open(Object.keys(TABS)[number - 1]);
  } else if (event.key === '/') {
    byId('search').focus();
  } else if (event.key === '?') {
    showHelp();
  } else if (tab !== 'timeline' || !timelineKey(event)) {
    return;
  }
  event.preventDefault();
}

function buildTabs() {
  for (const [name, [text]] of Object.entries(TABS)) {
    byId('tabs').append(h('button', {id: 'tab-' + name, type: 'button', role: 'tab',
                                     'aria-controls': name, click: () => open(name)}, text));
  }
  byId('tabs').addEventListener('keydown', (event) => {
    const names = Object.keys(TABS);
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    open(names[(names.indexOf(tab) + by + names.length) % names.length]);
    byId('tab-' + tab).focus();
    event.stopPropagation();
  });
}

function buildTitle() {
  const {trace} = report;
  const command = clean(trace.command.join(' ')) || 'a recording of the system';
  const when = trace.start_at_ns + trace.realtime_offset_ns;
  const date = when > 0 ? new Date(when / 1e6).toISOString().slice(0, 16).replace('T', ' ') + ' UTC' : '';
  // If it is a part of a trace, name that part.
  const part = trace.selection ? `  selected: ${shortened(clean(trace.selection.text), 60)}` : '';
  const devices = report.devices.map((device) => `${clean(device.name)} PCIe gen ${
      device.link_generation} x${device.link_width}`).join(', ');
  document.title = shortened(command, 60) + ' - acceltrace';
  replaceChildren(byId('title'), shortened(command, 200), h('span', {class: 'dim'},
      `  ${date}${trace.host ? ' on ' + shortened(clean(trace.host), 40) : ''}  ${
          shortened(devices, 80)}${part}`));
  byId('title').title = byId('title').textContent;
}

function buildNotice() {
  if (data.served) {
    byId('notice').hidden = data.served.left_out === 0;
    if (data.served.left_out > 0) {
      byId('notice').textContent = `${data.served.left_out.toLocaleString('en')} tracks with the ` +
          'fewest events are not shown.';
    }
    return;
  }
  const thinned = Object.entries(data.tables).filter(([, table]) => table.rows < table.of);
  if (thinned.length === 0) return;
  const names = {host: 'driver events', pieces: 'classes of time', path: 'steps of the critical path',
                 recorder: 'the tracer at work'};
  const all = thinned.map(([name, table]) => `${names[name] || name.replace('_', ' ')}: ${
      table.rows.toLocaleString('en')} of ${table.of.toLocaleString('en')}`).join(', ');
  byId('notice').hidden = false;
  byId('notice').textContent = `Thinned to keep this file small (${all}): of each track the ` +
      'longest events of each small stretch of time are here, every loss that fits, and behind ' +
      'them in grey how much of each stretch all events took. Reports, charts and sums are of all.';
}

function searchFor(text) {
  byId('search').value = clean(text);
  open('timeline');
  search(text);
  goToHit(1);
}

function applyAddress() {
  const address = readAddress();
  takeArrangement(address.arranged);
  if (address.window) show(...address.window);
  if (address.lit) light(true);
  if (address.graph) showGraph(true);
  if (address.query) {
    byId('search').value = address.query;
    search(address.query);
  }
  if (address.selected) {
    const {window} = address;
    selectById(address.selected.kind, address.selected.row, !window).then(
        () => window && show(...window));
  } else if (address.area) {
    selectArea({from: address.area[0], to: address.area[1], top: 0, bottom: view.total});
  }
  open(address.tab);
}

function start() {
  buildTabs();
  buildTitle();
  buildNotice();
  const overview = () => drawOverview((share) => {
    const [from, to] = [data.series.begin, data.series.end];
    const middle = from + (to - from) * Math.min(1, Math.max(0, share));
    show(middle - (to - from) / 40, middle + (to - from) / 40);
    open('timeline');
  }, searchFor, () => {
    light(true);
    open('timeline');
  });
  overview();
  startTimeline();
  startTooltips();
  onRedraw(() => tab === 'timeline' && drawTimeline());
  onChange(() => showAddress(tab, byId('search').value));
  whenAsked((sql) => rememberQuery(sql));
  byId('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    if (tab !== 'timeline') open('timeline');
    goToHit(1);
  });
  byId('search').addEventListener('input', (event) => search(event.target.value));
  byId('theme').addEventListener('click', toggleTheme);
  byId('help').addEventListener('click', showHelp);
  whenThemeChanges(() => {
    forgetColours();
    overview();
    open(tab);
    invalidate();
  });
  addEventListener('keydown', keyDown);
  addEventListener('keyup', keyUp);
  addEventListener('resize', () => TABS[tab][1]());
  addEventListener('hashchange', applyAddress);
  applyAddress();
  if (isPaired()) open('timeline');
  startPair(selectById, (from, to) => selectArea({from, to, top: 0, bottom: view.total}));
  startLive(() => {
    buildTitle();
    overview();
    if (tab !== 'timeline') TABS[tab][1]();
  });
  window.acceltrace = inspect;
  // The first frame has been shown.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }));
}

start();
