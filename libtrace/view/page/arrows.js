// SPDX-License-Identifier: Apache-2.0
//
// Follows a job from the API call that submitted it to the return of the call that waited for it,
// as points in time with bounds and as arrows between events.

import {tables, whenRowsChange} from './data.js';
import {ink} from './colours.js';
import {jobsOf, waitedFor} from './events.js';
import {onScreen, placeOf, view, xOf} from './viewport.js';

const {api, commands, jobs} = tables;

const POINTS = [
  ['api', 'API call begins'], ['submit', 'submit entered'], ['ring', 'doorbell written'],
  ['doorbell', 'doorbell seen by the device', true], ['fetched', 'first command fetched', true],
  ['start', 'first command starts', true], ['end', 'last command ends', true],
  ['completion', 'completion written', true], ['irq', 'interrupt sent', true],
  ['handler', 'handler entered'], ['consumed', 'completion consumed'],
  ['wake', 'waiter goes on'], ['return', 'API call returns'],
];

function timeOf(job, name) {
  const flags = jobs.num('flags')[job];
  if (name === 'api') {
    const row = jobs.num('api')[job];
    return row < 0 ? NaN : api.num('begin')[row];
  }
  if (name === 'return') {
    const row = jobs.num('wait_api')[job];
    return row < 0 || Number.isNaN(jobs.num('wake')[job]) ? NaN :
        api.num('begin')[row] + api.num('length')[row];
  }
  if (name === 'irq') return flags & 4 ? jobs.num('irq')[job] : NaN;
  const onDevice = POINTS.find(([each]) => each === name)[2];
  return onDevice && !(flags & 2) ? NaN : jobs.num(name)[job];
}

// Returns [{name, text, at, lo, hi, raw}], where lo and hi are the distances of the bounds, and raw
// the device's ticks.
export function chainOf(job) {
  return POINTS.map(([name, text, onDevice]) => ({
    name, text, at: timeOf(job, name),
    lo: onDevice ? jobs.num(name + '_lo')[job] : 0, hi: onDevice ? jobs.num(name + '_hi')[job] : 0,
    raw: onDevice ? jobs.big(name + '_raw', job) : null,
  })).filter((point) => !Number.isNaN(point.at));
}

// Returns the rows of a job's commands in the page.
export function commandsOf(job) {
  const first = jobs.num('first_command')[job], count = jobs.num('commands_here')[job];
  return Array.from({length: count}, (_, i) => first + i);
}

function extremes(rows) {
  const start = commands.num('start'), end = commands.num('end');
  let first = -1, last = -1;
  for (const row of rows) {
    if (first < 0 || start[row] < start[first]) first = row;
    if (last < 0 || end[row] > end[last]) last = row;
  }
  return [first, last];
}

// Returns pairs of events, each with the times at which the arrow leaves and arrives.
function linksOf(job, alsoCommand) {
  const links = [];
  const link = (fromKind, fromRow, at, toKind, toRow, to) => {
    const a = placeOf(fromKind, fromRow), b = placeOf(toKind, toRow);
    if (a && b && Number.isFinite(at) && Number.isFinite(to)) {
      links.push({a, at, b, to, fromKind, fromRow, toKind, toRow});
    }
  };
  const call = jobs.num('api')[job], waiter = jobs.num('wait_api')[job];
  const submit = jobs.num('submit')[job], ring = jobs.num('ring')[job];
  if (call >= 0) link('api', call, Math.min(submit, api.num('begin')[call] + api.num('length')[call]),
                      'submit', job, submit);
  link('submit', job, Number.isNaN(ring) ? submit : ring, 'job', job, jobs.num('doorbell')[job]);
  const rows = commandsOf(job);
  const [first, last] = extremes(rows);
  const handler = jobs.num('handler')[job];
  if (first >= 0) {
    link('job', job, commands.num('start')[first], 'command', first, commands.num('start')[first]);
    if (alsoCommand >= 0 && alsoCommand !== first) {
      const start = commands.num('start')[alsoCommand];
      link('job', job, start, 'command', alsoCommand, start);
    }
    link('command', last, commands.num('end')[last], 'irq', job, handler);
  } else {
    link('job', job, jobs.num('completion')[job], 'irq', job, handler);
  }
  const wake = jobs.num('wake')[job];
  link('irq', job, jobs.num('consumed')[job], 'wake', job, wake);
  if (waiter >= 0) link('wake', job, wake, 'api', waiter,
                        api.num('begin')[waiter] + api.num('length')[waiter]);
  return links;
}

const MOST_BEFORE = 12;

// Follows back what a command waited for. For a job, starts at the command that ended it.
function dependencies(kind, row) {
  let command = kind === 'command' || kind === 'stall' ? row : -1;
  if (kind === 'job') [, command] = extremes(commandsOf(row));
  const links = [];
  while (command >= 0 && links.length < MOST_BEFORE) {
    const before = waitedFor(command);
    const a = before >= 0 ? placeOf('command', before) : null, b = placeOf('command', command);
    if (!a || !b) break;
    links.push({a, at: commands.num('end')[before], b, to: commands.num('start')[command],
                fromKind: 'command', fromRow: before, toKind: 'command', toRow: command,
                waits: true});
    command = before;
  }
  return links;
}

let cached = {key: '', links: []};
whenRowsChange(() => { cached = {key: '', links: []}; });

export function linksOfSelection() {
  const {selected} = view;
  if (!selected) return [];
  const kind = selected.track.kinds[selected.i], row = selected.track.rows[selected.i];
  const key = kind + '.' + row;
  if (cached.key !== key) {
    cached = {key, links: jobsOf(kind, row).flatMap((job) => linksOf(job,
        kind === 'command' || kind === 'stall' ? row : -1)).concat(dependencies(kind, row))};
  }
  return cached.links;
}

const yOf = ({track, i}) => onScreen(track.y) + (track.lane[i] + 0.5) * track.laneHeight;
const isOpen = ({track}) => view.rows.some((row) => row.track === track);

export function drawArrows(g) {
  g.strokeStyle = g.fillStyle = ink('arrow'), g.lineWidth = 1.6;
  for (const {a, at, b, to, waits} of linksOfSelection()) {
    if (!isOpen(a) || !isOpen(b)) continue;
    g.strokeStyle = g.fillStyle = ink(waits ? 'text' : 'arrow');
    g.setLineDash(waits ? [4, 3] : []);
    const x0 = xOf(at), y0 = yOf(a), x1 = xOf(to), y1 = yOf(b);
    const bend = Math.max(14, Math.min(80, Math.abs(x1 - x0) / 2));
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x1, y1), g.lineTo(x1 - 7, y1 - 3.5), g.lineTo(x1 - 7, y1 + 3.5);
    g.fill();
  }
  g.lineWidth = 1;
}
