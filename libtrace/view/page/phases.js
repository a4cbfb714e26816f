// SPDX-License-Identifier: Apache-2.0
//
// The phases of the run: a band below the ruler, and a list with the limiter of each.

import {data, report} from './data.js';
import {EIGHT, ink, textOn} from './colours.js';
import {h, tableOf} from './dom.js';
import {clean, formatCount, formatNs, formatShare} from './text.js';
import {view, xOf} from './viewport.js';
import {fitting, write} from './labels.js';
import {bytes, count, ns} from './sort.js';

const BAND = 17;
const KINDS = ['load', 'prefill', 'decode', 'rounds', 'work'];

// Returns [{what, rounds, limit, from, to, ...}] in the page's time. A single phase would be the
// run itself.
export function phases() {
  const list = report.phases || [];
  if (list.length < 2) return [];
  return list.map((phase) => ({...phase, from: data.run[0] + phase.begin_ns,
                               to: data.run[0] + phase.end_ns}));
}

export const bandHeight = () => (phases().length > 0 ? BAND : 0);

const colourOf = (phase) => {
  const at = KINDS.indexOf(phase.phase);
  return at < 0 ? ink('idle') : EIGHT[(at + 4) % EIGHT.length];
};

// Returns the resource that gains most, and the next one if it gains nearly as much.
export function limiterOf(phase) {
  const gains = phase.limit ? phase.limit.gains : [];
  return gains.slice(0, phase.limit && phase.limit.several ? 2 : 1)
      .map((gain) => `${clean(gain.resource)} ${formatShare(gain.share)}`).join(', ');
}

export const phaseText = (phase) => [clean(phase.phase), formatNs(phase.to - phase.from),
  phase.rounds > 0 ? `${formatCount(phase.rounds)} rounds` : '',
  limiterOf(phase) && `1.25x of it saves: ${limiterOf(phase)}`].filter(Boolean).join(' · ');

export const phaseAt = (time) =>
  phases().find((phase) => time >= phase.from && time <= phase.to) || null;

// Draws at y.
export function drawPhaseBand(g, y) {
  for (const phase of phases()) {
    const left = Math.max(view.gutter, xOf(phase.from)), right = Math.min(view.width, xOf(phase.to));
    if (right <= view.gutter || left >= view.width) continue;
    const width = Math.max(1, right - left), colour = colourOf(phase);
    g.fillStyle = colour;
    g.fillRect(left, y, Math.max(1, width - 1), BAND - 2);
    if (width < 30) continue;
    g.fillStyle = phase.phase === 'idle' ? ink('text') : textOn(colour);
    const limiter = limiterOf(phase), kind = clean(phase.phase), full = kind + (limiter ? ` · ${limiter}` : '');
    write(g, fitting(g, full, width - 8) === full ? full : kind, left + 4, y + BAND / 2 - 1, width - 8);
  }
}

// go(phase) shows it in the timeline.
export function phasesCard(go) {
  const list = phases(), MOST = 200;
  if (list.length === 0) return null;
  return h('article', {class: 'card wide', id: 'phases'},
           h('h3', null, 'Phases', h('span', {class: 'dim'},
               ' found in the jobs: what repeats, and what is done in it' + (list.length > MOST ?
                   `; the first ${MOST} of ${formatCount(list.length)}` : ''))),
           tableOf([['phase'], ['begin', 'n'], ['time', 'n'], ['rounds', 'n'], ['jobs', 'n'],
                    ['copied in', 'n'], ['copied out', 'n'], ['1.25x of it saves']],
               list.map((phase) => [
                 h('button', {class: 'link', type: 'button', click: () => go(phase)},
                   clean(phase.phase)),
                 ns(phase.begin_ns), ns(phase.to - phase.from),
                 phase.rounds > 0 ? count(phase.rounds) : '', count(phase.jobs),
                 bytes(phase.bytes_in), bytes(phase.bytes_out), limiterOf(phase)]), null, MOST));
}
