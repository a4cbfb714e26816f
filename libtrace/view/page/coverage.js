// SPDX-License-Identifier: Apache-2.0
//
// Of tracks whose events are not all in the page: how much of each stretch they took.

import {data, sharesOf} from './data.js';
import {ink} from './colours.js';
import {view, xOf} from './viewport.js';

const decoded = new Map();

export function coverageOf(track) {
  if (!decoded.has(track.id)) {
    const found = (data.coverage || {})[track.id];
    decoded.set(track.id, found ? found.map(({from, to, shares}) => (
      {from, to, shares: sharesOf(shares)})) : null);
  }
  return decoded.get(track.id);
}

// The finest windows are last.
export function drawCoverage(g, track, top) {
  const windows = coverageOf(track);
  if (!windows) return;
  const covered = windows.filter(({from, to}) => to > view.from && from < view.to);
  g.fillStyle = ink('idle');
  const height = track.laneHeight - 2;
  covered.forEach(({from, to, shares}, w) => {
    const finer = covered[w + 1];
    const step = (to - from) / shares.length;
    for (let b = 0; b < shares.length; ++b) {
      const at = from + b * step;
      if (shares[b] === 0 || at > view.to || at + step < view.from) continue;
      if (finer && at + step > finer.from && at < finer.to) continue;
      const tall = height * shares[b];
      g.fillRect(xOf(at), top + height - tall, Math.max(1, xOf(at + step) - xOf(at)), tall);
    }
  });
}
