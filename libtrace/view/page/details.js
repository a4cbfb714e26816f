// SPDX-License-Identifier: Apache-2.0
//
// The panel below the timeline: details of the selected event, and the path of its job.

import {data, hostNs, tables} from './data.js';
import {byId, h, replaceChildren, tableOf} from './dom.js';
import {clean, formatBound, formatBytes, formatCount, formatNs, formatWithBound} from './text.js';
import {cell} from './sort.js';
import {HOST_KINDS, edgesOf, eventOnPath, isOnPath, jobsOf, kindOf, nameOf,
        waitedFor} from './events.js';
import {placeOf} from './viewport.js';
import {chainOf, linksOfSelection} from './arrows.js';
import {hasGraph} from './graph.js';
import {graphElement} from './graph_view.js';

const {api, commands, host, jobs, losses, ranges, recorder} = tables;

const text = (value) => String(value);
const statusOf = (device, status) => clean(data.devices[device].statuses[status] || status);

// Lists of [what, value] for each table.
const FIELDS = {
  api: (row) => [
    ['process, thread', `${api.num('pid')[row]}, ${api.num('tid')[row]}`],
    ['correlation', text(api.big('correlation', row))], ['stream', api.num('stream')[row]],
    ['bytes', api.num('bytes')[row] ? formatBytes(api.num('bytes')[row]) : null],
    ['result', api.num('result')[row] || null],
    ['', api.num('flags')[row] & 1 ? 'never seen to end' : null],
    ['', api.num('flags')[row] & 2 ? 'was under way when the recording began' : null]],
  ranges: (row) => [
    ['process, thread', `${ranges.num('pid')[row]}, ${ranges.num('tid')[row]}`],
    ['depth', ranges.num('depth')[row]],
    ['', ranges.num('flags')[row] & 4 ? 'a mark' : null],
    ['', ranges.num('flags')[row] & 1 ? 'never seen to end' : null]],
  jobs: (row) => [
    ['job', `${jobs.num('job')[row]} of ${clean(data.devices[jobs.num('device')[row]].name)}`],
    ['queue, sequence', `${jobs.num('queue')[row]}, ${text(jobs.big('sequence', row))}`],
    ['context', jobs.num('context')[row]],
    ['correlation', text(jobs.big('correlation', row))],
    ['commands', `${jobs.num('commands_retired')[row]} of ${jobs.num('commands_submitted')[row]}`],
    ['to be copied', formatBytes(jobs.num('copy_bytes')[row])],
    ['status', statusOf(jobs.num('device')[row], jobs.num('status')[row])],
    ['process, thread', `${jobs.num('pid')[row]}, ${jobs.num('tid')[row]}`]],
  commands: (row) => {
    const device = data.devices[commands.num('device')[row]];
    const unit = device.units[commands.num('unit')[row]];
    return [
      ['unit', `${clean(unit.name)} of ${clean(device.name)}`],
      ['opcode', clean(device.opcodes[commands.num('opcode')[row]] || commands.num('opcode')[row])],
      ['job, index', `${commands.num('job')[row]}, ${commands.num('index')[row]}`],
      ['correlation', text(commands.big('correlation', row))],
      ['waited last for', waitedFor(row) >= 0 ?
        linkTo({kind: 'command', row: waitedFor(row)}) : null],
      ['limited by', clean(device.limiters[commands.num('limiter')[row]] || '')],
      ['work', commands.num('work')[row] ? `${formatCount(commands.num('work')[row])} ${
          clean(unit.work_unit)}` : null],
      ['bytes', formatBytes(commands.num('bytes')[row])],
      ['memory bytes', formatBytes(commands.num('memory_bytes')[row])],
      ['row hits, misses', `${commands.num('row_hits')[row]}, ${commands.num('row_misses')[row]}`],
      ['status', statusOf(commands.num('device')[row], commands.num('status')[row])],
      ['busy', Number.isNaN(commands.num('busy')[row]) ? 'unknown: the clock was set meanwhile' :
        `${formatCount(commands.num('busy')[row])} ticks`],
      ...device.stalls.map((cause, s) => ['stalled: ' + clean(cause),
        commands.num('stall' + s)[row] ? `${formatCount(commands.num('stall' + s)[row])} ticks` :
            null])];
  },
  host: (row) => [
    ['kind', HOST_KINDS[host.num('kind')[row]]], ['CPU', host.num('cpu')[row]],
    ['process, thread', `${host.num('pid')[row]}, ${host.num('tid')[row]}`],
    ['job', host.num('job')[row] || null], ['correlation', text(host.big('correlation', row))],
    ['arguments', `${text(host.big('arg0', row))}, ${text(host.big('arg1', row))}`]],
  losses: (row) => [['events lost', formatCount(losses.num('count')[row])]],
  path: (row) => [['part of', linkTo(eventOnPath(row))]],
  recorder: (row) => [['CPU', recorder.num('cpu')[row]],
                      ['of it on the CPU', formatNs(recorder.num('cpu_ns')[row])]],
  device_events: (row) => [
    ['arguments', ['arg0', 'arg1', 'arg2'].map((name) =>
        text(tables.device_events.big(name, row))).join(', ')]],
};

let select = () => {};
// Returns a button that selects an event.
function linkTo(event) {
  const place = event && placeOf(event.kind, event.row);
  if (!place) return event ? kindOf(event.kind).what : 'no recorded event';
  return h('button', {class: 'link', type: 'button', click: () => select(place)},
           `${kindOf(event.kind).what} ${nameOf(event.kind, event.row)} →`);
}

const TIMES = {commands: ['fetched', 'head', 'start', 'end'], device_events: ['time']};
const tableName = (table) => Object.keys(tables).find((name) => tables[name] === table);

// Shows raw ticks and the times that they were converted to.
function timesTable(table, row, names) {
  return tableOf([['device time'], ['raw ticks', 'n'], ['on the host\'s clock', 'n'], ['±', 'n']],
      names.map((name) => {
        const at = hostNs(table.num(name)[row]);
        const bound = Math.max(table.num(name + '_lo')[row], table.num(name + '_hi')[row]);
        return [name, table.big(name + '_raw', row), cell(at, at + ' ns'), cell(bound, formatNs(bound))];
      }));
}

function chainTable(job, go) {
  const points = chainOf(job);
  const rows = points.map((point, i) => {
    const next = points[i + 1];
    // Between two times of one device the clock's offset cancels. Only the distance between host
    // and device is as uncertain as the device's time.
    const bound = next && (point.raw === null) !== (next.raw === null) ?
        Math.max(point.lo + next.hi, point.hi + next.lo) : 0;
    const wide = Math.max(point.lo, point.hi);
    return [point.text, point.raw === null ? '' : point.raw, hostNs(point.at),
            point.raw === null ? '' : cell(wide, formatBound(wide)),
            next ? cell(next.at - point.at, formatWithBound(next.at - point.at, bound)) : ''];
  });
  const steps = new Map(linksOfSelection().filter(({waits}) => !waits).flatMap((link) => [
    [link.fromKind + '.' + link.fromRow, link.a], [link.toKind + '.' + link.toRow, link.b]]));
  return h('div', {class: 'chain'},
           h('h3', null, `The way of job ${jobs.num('job')[job]}`),
           tableOf([['point'], ['raw ticks', 'n'], ['host time, ns', 'n'], ['±', 'n'],
                    ['until the next', 'n']], rows),
           h('p', null, [...steps].map(([key, place]) => h('button', {
             class: 'link', type: 'button', click: () => go(place)},
             kindOf(key.split('.')[0]).what + ' →')).flatMap((each) => [each, '  '])));
}

// Whether the panel shows the dependency graph of the selection.
let asGraph = false;
let redraw = () => {};
export const showsGraph = () => asGraph;
export function showGraph(on) {
  asGraph = on;
  redraw();
}

function graphButton() {
  return h('button', {type: 'button', class: 'pill', 'aria-pressed': String(asGraph),
                      click: () => showGraph(!asGraph)}, 'Dependency graph (G)');
}

function showGraphOf(kind, row, title) {
  const had = byId('details').querySelector('.graph') !== null &&
      byId('details').contains(document.activeElement);
  const drawn = graphElement(kind, row, (event) => {
    const to = placeOf(event.kind, event.row);
    if (to) select(to);
  });
  byId('details').classList.add('of-graph');
  if (drawn === null) {
    replaceChildren(byId('details'), h('div', null, title, graphButton()),
        h('p', {class: 'dim'}, data.path.valid ? 'This event is not part of the dependency graph: ' +
          'it holds API calls, submissions, jobs and commands of the run.' : data.path.error));
    return;
  }
  const {graph, element, middle} = drawn;
  const more = [[graph.moreBefore, 'before'], [graph.moreAfter, 'after']].filter(([n]) => n > 0)
      .map(([n, where]) => `${formatCount(n)} more ${where}`).join(', ');
  replaceChildren(byId('details'),
      h('div', {class: 'graph-about'}, title, graphButton(),
        h('p', {class: 'dim'}, 'Left: what it waited for. Right: what waited for it. Strong lines: ' +
          'the last to come, which set the time; dashed: came earlier.'),
        more ? h('p', {class: 'dim'}, `Not drawn: ${more}.`) : null),
      h('div', {class: 'graph-box', tabindex: '-1'}, element));
  byId('details').style.height = `min(${Math.max(196, element.offsetHeight + 34)}px, 46vh)`;
  const centre = () => middle.scrollIntoView({block: 'nearest', inline: 'center'});
  centre();
  requestAnimationFrame(centre);  // only now it is visible
  if (had) middle.focus();
}

// `place` is {track, i}; go(place) selects another one.
export function showDetails(place, go) {
  select = go;
  redraw = () => showDetails(place, go);
  const kind = place.track.kinds[place.i], row = place.track.rows[place.i];
  const about = kindOf(kind), name = tableName(about.table);
  const begin = place.track.begin[place.i], end = place.track.end[place.i];
  const edges = edgesOf(kind, row);
  const fields = (FIELDS[name] ? FIELDS[name](row) : []).filter(
      ([, value]) => value !== null && value !== undefined);
  const jobRows = jobsOf(kind, row);
  byId('details').classList.remove('empty', 'of-graph');
  byId('details').style.height = '';
  byId('announce').textContent = `${about.what} ${nameOf(kind, row)}, ${formatNs(end - begin)}, ` +
      `on ${place.track.label}`;
  const title = h('h3', null, nameOf(kind, row), h('span', {class: 'dim'}, ` ${about.what}`));
  if (asGraph) return showGraphOf(kind, row, title);
  replaceChildren(byId('details'),
      h('div', null, title, hasGraph(kind, row) ? graphButton() : null,
        tableOf([['']  , ['']], [
          ['begins', `${text(hostNs(begin))} ns` + (edges ? ` ±${formatNs(Math.max(edges[0], edges[1]))}` : '')],
          ...(end > begin ? [['lasts', formatNs(end - begin)]] : []),
          ...(isOnPath(kind, row) && kind !== 'path' ? [['critical path', 'lies on it']] : []),
          ...fields])),
      TIMES[name] ? h('div', null, h('h3', null, 'Times of the device\'s clock'),
                      timesTable(about.table, row, TIMES[name])) : null,
      jobRows.slice(0, 1).map((job) => chainTable(job, go)),
      jobRows.length > 1 ? h('p', {class: 'dim'}, `and ${jobRows.length - 1} more jobs`) : null);
  return undefined;
}

export function showNothing() {
  redraw = () => {};
  byId('details').classList.remove('of-graph');
  byId('details').style.height = '';
  byId('details').classList.add('empty');
  replaceChildren(byId('details'), h('p', {class: 'dim'},
      'Click an event for its details and the way of its job, a track\'s name to pin, hide or move it; drag over an area ' +
      'for statistics. W S zoom, A D pan, Ctrl and wheel zoom, arrow keys step, F shows the selection, ? all keys.'));
}
