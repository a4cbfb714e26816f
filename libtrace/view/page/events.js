// SPDX-License-Identifier: Apache-2.0
//
// The name of an event, the bounds of its edges, and the job that it belongs to. An event is {kind,
// row}, where row is that of one of the tables.

import {data, tables, whenRowsChange} from './data.js';
import {clean} from './text.js';
import {causeColour, ink, nameColour, timeColour} from './colours.js';

const {api, ranges, jobs, commands, host, losses, pieces, path} = tables;

export const HOST_KINDS = ['event', 'submit', 'doorbell', 'DMA map', 'DMA unmap', 'interrupt',
  'completion', 'wait', 'wake-up', 'context', 'buffer', 'timeout', 'reset', 'link', 'fence',
  'submit ends'];
const DEVICE_KINDS = ['event', 'link changed', 'clock changed', 'throttle', 'memory error',
  'context error', 'reset', 'doorbell'];

const named = new Map();
export function nameAt(index) {
  let name = named.get(index);
  if (name === undefined) named.set(index, name = clean(data.names[index] || '') || '(unnamed)');
  return name;
}

export function commandName(row) {
  const op = data.names[commands.num('op')[row]];
  if (op) return nameAt(commands.num('op')[row]);
  const device = data.devices[commands.num('device')[row]];
  const code = commands.num('opcode')[row];
  return clean(device.opcodes[code] || 'opcode ' + code);
}

// Returns the number of the cause that stalled a command most, or -1.
export function worstStall(row) {
  const causes = data.devices[commands.num('device')[row]].stalls.length;
  let worst = -1, most = 0;
  for (let s = 0; s < causes; ++s) {
    const ticks = commands.num('stall' + s)[row];
    if (ticks > most) most = ticks, worst = s;
  }
  return worst;
}

export function causeName(row) {
  const worst = worstStall(row);
  return worst < 0 ? 'waits' : clean(data.devices[commands.num('device')[row]].stalls[worst]);
}

const jobName = (row) => 'job ' + jobs.num('job')[row];

// kind: {name, colour, job (row or -1), edges: [begin column, end column] of a device's times}
const KINDS = {
  api: {what: 'API call', table: api, name: (row) => nameAt(api.num('name')[row])},
  range: {what: 'range', table: ranges, name: (row) => nameAt(ranges.num('name')[row])},
  submit: {what: 'submission', table: jobs, name: () => 'submit', job: (row) => row},
  wait: {what: 'wait', table: jobs, name: () => 'wait', job: (row) => row,
         colour: () => ink('idle')},
  wake: {what: 'wake-up', table: jobs, name: () => 'wake-up', job: (row) => row},
  job: {what: 'job', table: jobs, name: jobName, job: (row) => row,
        edges: ['doorbell', 'completion']},
  command: {what: 'command', table: commands, name: commandName,
            job: (row) => commands.num('job_row')[row], edges: ['start', 'end']},
  stall: {what: 'wait at the head of the queue', table: commands, name: causeName,
          job: (row) => commands.num('job_row')[row], edges: ['head', 'start'],
          colour: (row) => causeColour(Math.max(0, worstStall(row)))},
  irq: {what: 'interrupt handler', table: jobs, name: () => 'interrupt', job: (row) => row},
  sent: {what: 'interrupt sent', table: jobs, name: () => 'interrupt sent', job: (row) => row,
         edges: ['irq', 'irq']},
  host: {what: 'driver event', table: host,
         name: (row) => HOST_KINDS[host.num('kind')[row]] || 'event'},
  device_event: {what: 'device event', table: tables.device_events, edges: ['time', 'time'],
                 name: (row) => DEVICE_KINDS[tables.device_events.num('kind')[row]] || 'event'},
  loss: {what: 'loss', table: losses, colour: () => ink('loss'),
         name: (row) => `${losses.num('count')[row]} lost at ${nameAt(losses.num('hop')[row])}`},
  piece: {what: 'class of time', table: pieces,
          name: (row) => data.classes[pieces.num('class')[row]].text,
          colour: (row) => timeColour(pieces.num('class')[row])},
  path: {what: 'on the critical path', table: path, name: (row) => nameAt(path.num('name')[row])},
  recorder: {what: 'the tracer at work', table: tables.recorder, name: () => 'tracer',
             colour: () => ink('idle')},
};

export const kindOf = (kind) => KINDS[kind];
export const nameOf = (kind, row) => KINDS[kind].name(row);
export const colourOf = (kind, row) => (KINDS[kind].colour ? KINDS[kind].colour(row) :
    nameColour(KINDS[kind].name(row)));

// Returns how far the true edges may be from where they are drawn: [before begin, after begin,
// before end, after end], or null for host times.
export function edgesOf(kind, row) {
  const {edges, table} = KINDS[kind];
  if (!edges) return null;
  const [begin, end] = edges;
  return [table.num(begin + '_lo')[row], table.num(begin + '_hi')[row],
          table.num(end + '_lo')[row], table.num(end + '_hi')[row]];
}

// The names of kinds in page_path.h.
const PATH_EVENTS = [null, 'api', 'submit', 'wake', 'job', 'command'];

// Returns the event that a step of the path is part of, as {kind, row}, or null.
export function eventOnPath(step) {
  const kind = PATH_EVENTS[path.num('event')[step]], row = path.num('row')[step];
  return kind && row >= 0 ? {kind, row} : null;
}

const ON_PATH = {
  api: (row) => api.num('flags')[row] & 4, command: (row) => commands.num('critical')[row],
  stall: () => 0, path: () => 1, submit: (row) => jobs.num('critical')[row] & 1,
  job: (row) => jobs.num('critical')[row] & 2, wake: (row) => jobs.num('critical')[row] & 4,
  wait: (row) => jobs.num('critical')[row] & 4,
};
// Returns the row of the last command that this one waited for before it started, or -1.
export function waitedFor(command) {
  const back = commands.num('after')[command];
  return back === 0 ? -1 : command - back;
}

export const hasPath = () => data.path.valid;
export const isOnPath = (kind, row) => (ON_PATH[kind] ? Boolean(ON_PATH[kind](row)) : false);

// Jobs by the call that submitted them and by the call that waited for them.
const byCall = new Map();
function index() {
  for (const column of ['api', 'wait_api']) {
    const rows = jobs.num(column);
    for (let job = 0; job < jobs.rows; ++job) {
      if (rows[job] < 0) continue;
      if (!byCall.has(rows[job])) byCall.set(rows[job], []);
      byCall.get(rows[job]).push(job);
    }
  }
}
index();
whenRowsChange(() => {
  named.clear(), byCall.clear();
  index();
});

const MOST_JOBS = 16;

// Returns the jobs that an event belongs to.
export function jobsOf(kind, row) {
  if (kind === 'api') return (byCall.get(row) || []).slice(0, MOST_JOBS);
  if (kind === 'path') {
    const of = eventOnPath(row);
    return of === null ? [] : jobsOf(of.kind, of.row);
  }
  const {job} = KINDS[kind];
  return job && job(row) >= 0 ? [job(row)] : [];
}
