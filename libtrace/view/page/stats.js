// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a selected area: for each track the number of events and their share of the time,
// and the names that took most of it.

import {byId, h, replaceChildren, tableOf} from './dom.js';
import {clean, formatCount, formatNs, shortened} from './text.js';
import {count, ns, share} from './sort.js';
import {nameOf} from './events.js';
import {ask, isServed} from './source.js';
import {firstAt, view} from './viewport.js';

export function statsOf(area) {
  const tracks = [], names = new Map();
  for (const {track, y, height} of view.rows) {
    if (!track || track.shape !== 'events' || y + height < area.top || y > area.bottom) continue;
    let events = 0, within = 0, until = area.from, covered = 0;
    for (let i = firstAt(track, area.from); i < track.n && track.begin[i] <= area.to; ++i) {
      if (track.end[i] < area.from) continue;
      const from = Math.max(area.from, track.begin[i]), to = Math.min(area.to, track.end[i]);
      ++events, within += to - from;
      if (to > until) covered += to - Math.max(until, from), until = to;
      const name = nameOf(track.kinds[i], track.rows[i]);
      const key = name + '\n' + track.label;
      const of = names.get(key) || {name, track: track.label, events: 0, within: 0, longest: 0};
      ++of.events, of.within += to - from, of.longest = Math.max(of.longest, to - from);
      names.set(key, of);
    }
    if (events > 0) tracks.push({label: track.label, events, within, covered});
  }
  return {tracks, names: [...names.values()].sort((a, b) => b.within - a.within)};
}

// Does the same for a served trace, of which only a part is loaded.
async function statsServed(area) {
  const tracks = view.rows.filter(({track, y, height}) => track && track.shape === 'events' &&
      y + height >= area.top && y <= area.bottom).map(({track}) => track).slice(0, 500);
  const labels = new Map(tracks.map((track) => [track.id, track.label]));
  const sums = await ask('area', {from: Math.ceil(area.from), to: Math.max(Math.ceil(area.from) + 1,
      Math.floor(area.to)), tracks: tracks.map((track) => track.id).join(',')});
  return sums === null ? null : {
    tracks: sums.tracks.map((track) => ({...track, label: labels.get(track.id)})),
    names: sums.names.map((name) => ({...name, name: clean(name.name) || '(unnamed)',
                                      track: labels.get(name.track)}))};
}

const MOST = 2000;
const named = (text) => h('span', {class: 'name', title: shortened(text, 2000)}, shortened(text, 80));

export async function showStats(area) {
  const sums = isServed() ? await statsServed(area) : statsOf(area);
  if (sums === null || view.area !== area) return;
  const width = area.to - area.from, {tracks, names} = sums;
  const events = tracks.reduce((sum, track) => sum + track.events, 0);
  byId('details').classList.remove('empty');
  replaceChildren(byId('details'),
      h('div', {class: 'area'}, h('h3', null, `${formatNs(width)} selected, ${
          formatCount(events)} events`),
        tableOf([['track'], ['events', 'n'], ['time taken', 'n'], ['share', 'n']],
                tracks.map((track) => [named(track.label), count(track.events),
                  ns(track.covered), width > 0 ? share(track.covered / width) : '']))),
      h('div', null, h('h3', null, 'By name'),
        tableOf([['name'], ['track'], ['events', 'n'], ['sum', 'n'], ['mean', 'n'], ['longest', 'n']],
                names.slice(0, MOST).map((of) => [named(of.name), named(of.track),
                  count(of.events), ns(of.within), ns(of.within / of.events), ns(of.longest)]), null, 40)));
  byId('announce').textContent = `${formatNs(width)} selected, ${events} events`;
}
