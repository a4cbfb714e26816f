// SPDX-License-Identifier: Apache-2.0
//
// Builds the tracks of the timeline from the tables: a list of groups, each with its tracks.
//
// A track of events has parallel arrays, sorted by begin: kinds, rows, begin, end, lane. Events of
// a lane do not overlap.

import {data, report, tables, threadName, whenHeadChanges} from './data.js';
import {clean, formatCount, shortened} from './text.js';
import {kindOf} from './events.js';

const MOST_LANES = 24;
export const LANE = 18;

// A server determines which tracks there are, whether or not the window has events of theirs, and
// the lane of each event, so that nothing moves when others are loaded.
const isServed = data.served !== undefined;
const lanesOf = new Map();
function takeLanes() {
  lanesOf.clear();
  for (const [id, lanes] of isServed ? data.served.tracks : []) lanesOf.set(id, lanes);
}
takeLanes();
whenHeadChanges(takeLanes);
const isShown = (id, events) => events.length > 0 || lanesOf.has(id);
const numbersOf = (pattern) => [...lanesOf.keys()].map((id) => pattern.exec(id)).filter(Boolean).map(
    (match) => match.slice(1).map(Number));

function servedLane(kind, row) {
  const {table} = kindOf(kind);
  return table.columns['lane_' + kind] ? table.num('lane_' + kind)[row] : 0;
}

// Makes a track from events [kind, row, begin, end]. Lanes are filled from the first one on.
function eventTrack(id, label, events, about) {
  const before = (a, b) => a[2] - b[2] || b[3] - a[3];
  if (events.some((event, i) => i > 0 && before(events[i - 1], event) > 0)) events.sort(before);
  const n = events.length;
  const track = {id, label, shape: 'events', n, lanes: 1, lane: new Uint8Array(n),
                 begin: new Float64Array(n), end: new Float64Array(n), latest: new Float64Array(n),
                 kinds: new Array(n), rows: new Uint32Array(n), laneHeight: LANE, ...about};
  const ends = [];
  let latest = -Infinity;
  events.forEach(([kind, row, begin, end], i) => {
    let lane = 0;
    if (isServed) {
      lane = servedLane(kind, row);
    } else {
      while (lane < ends.length && ends[lane] > begin) ++lane;
      lane = Math.min(lane, MOST_LANES - 1);
      ends[lane] = Math.max(end, begin, ends[lane] || -Infinity);
    }
    latest = Math.max(latest, end);
    track.kinds[i] = kind, track.rows[i] = row, track.lane[i] = lane;
    track.begin[i] = begin, track.end[i] = Math.max(begin, end), track.latest[i] = latest;
  });
  track.lanes = Math.max(1, ends.length, lanesOf.get(id) || 0);
  return track;
}

// Makes a line of values, each of which holds from at[i] to at[i + 1].
function counterTrack(id, label, unit, at, values, about) {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return {id, label, shape: 'counter', unit, at, values, most, lanes: 1, laneHeight: 34, ...about};
}

const push = (map, key, value) => (map.has(key) ? map.get(key).push(value) : map.set(key, [value]));

function runGroup() {
  const {pieces, losses, recorder, path} = tables;
  const events = [], lost = [], work = [], steps = [];
  const all = (table, to, kind) => {
    const begin = table.num('begin'), length = table.num('length');
    for (let i = 0; i < table.rows; ++i) to.push([kind, i, begin[i], begin[i] + length[i]]);
  };
  all(pieces, events, 'piece');
  all(recorder, work, 'recorder');
  all(path, steps, 'path');
  let unplaced = 0;
  for (let i = 0; i < losses.rows; ++i) {
    const first = losses.num('first')[i], last = losses.num('last')[i];
    if (Number.isNaN(first)) {
      ++unplaced;
    } else {
      lost.push(['loss', i, first, Number.isNaN(last) ? first : last]);
    }
  }
  const tracks = [];
  if (isShown('run', events)) tracks.push(eventTrack('run', 'time went to', events, {of: pieces}));
  if (isShown('path', steps)) tracks.push(eventTrack('path', 'critical path', steps, {of: path}));
  if (isShown('losses', lost) || unplaced) {
    tracks.push(eventTrack('losses', 'losses' + (unplaced ? `, ${unplaced} at unknown times` : ''),
                           lost, {hatched: true, of: losses}));
  }
  if (isShown('tracer', work)) tracks.push(eventTrack('tracer', 'the tracer at work', work, {of: recorder}));
  return {id: 'run', label: 'Run', tracks};
}

function threadsOf() {
  const threads = new Map();
  const thread = (pid, tid) => {
    const key = pid + '/' + tid;
    if (!threads.has(key)) threads.set(key, {pid, tid, api: [], ranges: [], driver: []});
    return threads.get(key);
  };
  for (const [pid, tid] of numbersOf(/^t(\d+)\.(\d+)\./)) thread(pid, tid);
  const {api, ranges, jobs} = tables;
  const spans = (table, name, kind) => {
    const begin = table.num('begin'), length = table.num('length');
    const pid = table.num('pid'), tid = table.num('tid');
    for (let i = 0; i < table.rows; ++i) {
      thread(pid[i], tid[i])[name].push([kind, i, begin[i], begin[i] + length[i]]);
    }
  };
  spans(ranges, 'ranges', 'range');
  spans(api, 'api', 'api');
  const [submit, ring, ended, wait, wake, pid, tid] =
      ['submit', 'ring', 'submit_end', 'wait', 'wake', 'waiter_pid', 'waiter_tid'].map(
          (name) => jobs.num(name));
  for (let j = 0; j < jobs.rows; ++j) {
    if (!Number.isNaN(submit[j])) {
      const end = Math.max(submit[j], ring[j] || -Infinity, ended[j] || -Infinity);
      thread(jobs.num('pid')[j], jobs.num('tid')[j]).driver.push(['submit', j, submit[j], end]);
    }
    if (Number.isNaN(wake[j]) || pid[j] < 0) continue;
    const of = thread(pid[j], tid[j]).driver;
    if (!Number.isNaN(wait[j])) of.push(['wait', j, wait[j], wake[j]]);
    of.push(['wake', j, wake[j], wake[j]]);
  }
  return threads;
}

function processGroups() {
  const groups = new Map();
  for (const {pid, tid, api, ranges, driver} of threadsOf().values()) {
    if (!groups.has(pid)) {
      const name = clean(threadName(pid, pid)) || 'process';
      groups.set(pid, {id: 'p' + pid, label: `${shortened(name, 40)} ${pid}`, tracks: []});
    }
    // The distinguishing part of a label comes first, since narrow screens cut the end.
    const id = `t${pid}.${tid}`, title = `${tid} ${shortened(clean(threadName(pid, tid)) || 'thread', 40)}`;
    const {tracks} = groups.get(pid);
    if (isShown(id + '.r', ranges)) tracks.push(eventTrack(id + '.r', `ranges · ${title}`, ranges, {of: tables.ranges}));
    if (isShown(id + '.a', api)) tracks.push(eventTrack(id + '.a', `API calls · ${title}`, api, {of: tables.api}));
    if (isShown(id + '.d', driver)) tracks.push(eventTrack(id + '.d', `driver · ${title}`, driver, {of: tables.jobs}));
  }
  return [...groups.values()];
}

function queueTracks(device) {
  const {jobs} = tables;
  const queues = new Map(), interrupts = [];
  for (const [of, queue] of numbersOf(/^q(\d+)\.(\d+)$/)) if (of === device) queues.set(queue, []);
  const [of, flags, handler, consumed] =
      ['device', 'flags', 'handler', 'consumed'].map((name) => jobs.num(name));
  for (let j = 0; j < jobs.rows; ++j) {
    if (of[j] !== device) continue;
    if (flags[j] & 2) {
      push(queues, jobs.num('queue')[j],
           ['job', j, jobs.num('doorbell')[j], jobs.num('completion')[j]]);
      if (flags[j] & 4) interrupts.push(['sent', j, jobs.num('irq')[j], jobs.num('irq')[j]]);
    }
    if (!Number.isNaN(handler[j]) && !Number.isNaN(consumed[j])) {
      interrupts.push(['irq', j, handler[j], consumed[j]]);
    }
  }
  return [[...queues.entries()].sort((a, b) => a[0] - b[0]).map(([queue, events]) =>
      eventTrack(`q${device}.${queue}`, `queue ${queue}: jobs`, events, {of: jobs})), interrupts];
}

function unitTracks(device) {
  const {commands} = tables;
  const units = data.devices[device].units.map(() => ({runs: [], waits: []}));
  const [of, unit, head, start, end] =
      ['device', 'unit', 'head', 'start', 'end'].map((name) => commands.num(name));
  for (let i = 0; i < commands.rows; ++i) {
    if (of[i] !== device) continue;
    units[unit[i]].runs.push(['command', i, start[i], end[i]]);
    if (head[i] < start[i]) units[unit[i]].waits.push(['stall', i, head[i], start[i]]);
  }
  return units.flatMap(({runs, waits}, u) => {
    if (!isShown(`u${device}.${u}`, runs)) return [];
    const {name, dma} = data.devices[device].units[u];
    const label = clean(name) + (dma ? `: PCIe ${dma}` : '');
    const tracks = [eventTrack(`u${device}.${u}`, label, runs, {of: commands, unit: u})];
    if (isShown(`w${device}.${u}`, waits)) {
      tracks.push(eventTrack(`w${device}.${u}`, `${clean(name)} waits, by cause`, waits,
                             {of: commands, laneHeight: 13}));
    }
    return tracks;
  });
}

function inFlight(device) {
  const {jobs} = tables;
  const changes = [];
  for (let j = 0; j < jobs.rows; ++j) {
    const from = jobs.num('submit')[j], to = jobs.num('consumed')[j];
    if (jobs.num('device')[j] !== device || Number.isNaN(from) || Number.isNaN(to)) continue;
    changes.push([from, 1], [to, -1]);
  }
  if (changes.length === 0 || jobs.rows < jobs.of || isServed) return [];
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let count = 0;
  return [counterTrack('f' + device, 'jobs in flight', 'jobs', changes.map(([at]) => at),
                       changes.map(([, by]) => (count += by)))];
}

function instants(table, device, kind, skip) {
  const events = [];
  for (let i = 0; i < table.rows; ++i) {
    if (table.num('device')[i] !== device || skip.has(table.num('kind')[i])) continue;
    const at = table.num('time')[i];
    events.push([kind, i, at, at]);
  }
  return events;
}

// Events that other tracks show as edges of the events that they are part of.
const HOST_SHOWN = new Set([1, 2, 5, 6, 7, 8, 15]), DEVICE_SHOWN = new Set([7]);

function counterTracks(device, tableOf) {
  return data.series.counters.filter((counter) => counter.device === device).map((counter, i) => {
    const table = tableOf(counter.at);
    const begin = table.num('begin'), length = table.num('length');
    const at = [], values = [];
    for (let k = 0; k < table.rows; ++k) {
      at.push(begin[k]), values.push(counter.values[k]);
      const end = begin[k] + length[k];
      if (k + 1 === table.rows || begin[k + 1] > end) at.push(end), values.push(0);
    }
    return counterTrack(`c${device}.${i}`, clean(counter.name), counter.unit, at, values,
                        counter.unit === '%' ? {most: 100} : {});
  });
}

function deviceGroups(tableOf) {
  return data.devices.flatMap(({name}, d) => {
    const [queues, interrupts] = queueTracks(d);
    const tracks = [...queues, ...unitTracks(d)];
    if (isShown('i' + d, interrupts)) {
      tracks.push(eventTrack('i' + d, 'interrupts', interrupts, {of: tables.jobs}));
    }
    const events = instants(tables.device_events, d, 'device_event', DEVICE_SHOWN);
    if (isShown('e' + d, events)) {
      tracks.push(eventTrack('e' + d, 'device events', events, {of: tables.device_events}));
    }
    const driver = instants(tables.host, d, 'host', HOST_SHOWN);
    if (isShown('h' + d, driver)) {
      tracks.push(eventTrack('h' + d, 'driver events', driver, {of: tables.host, laneHeight: 14}));
    }
    tracks.push(...inFlight(d));
    const about = report.devices[d] || {};
    const title = `${clean(name)} ${clean(about.pci_address || '')}`;
    const counters = counterTracks(d, tableOf);
    return [{id: 'd' + d, label: title, tracks},
            {id: 'k' + d, label: `${clean(name)} counters (${formatCount(counters.length)})`,
             tracks: counters, closed: true}];
  });
}

export function buildGroups(tableOf) {
  return [runGroup(), ...processGroups(), ...deviceGroups(tableOf)].filter(
      (group) => group.tracks.length > 0);
}

export const labelOf = (track, i) => kindOf(track.kinds[i]).what;
