// SPDX-License-Identifier: Apache-2.0
//
// For tracks whose events are not all in the page, shows how much of each interval they took.

import {data, sharesOf, tables, whenRowsChange} from './data.js';
import {ink, timeColour} from './colours.js';
import {view, xOf} from './viewport.js';

const decoded = new Map();
whenRowsChange(() => decoded.clear());

export function coverageOf(track) {
  if (!decoded.has(track.id)) {
    const found = (data.coverage || {})[track.id];
    decoded.set(track.id, found ? found.map(({from, to, shares}) => (
      {from, to, shares: sharesOf(shares)})) : null);
  }
  return decoded.get(track.id);
}

// Returns true if some of a track's events are not in the page.
export const isThinned = (track) => coverageOf(track) !== null ||
    (data.served === undefined && track.id === 'run' && tables.pieces.rows < tables.pieces.of);

// Draws the classes of the run as a stack.
function drawClasses(g, top, height) {
  const {begin, end, bins, classes} = data.series;
  const step = (end - begin) / bins, below = new Float64Array(bins);
  classes.forEach((text, c) => {
    const shares = sharesOf(text);
    g.fillStyle = timeColour(c);
    for (let b = 0; b < bins; ++b) {
      const x = xOf(begin + b * step), y = top + height * (1 - below[b] - shares[b]);
      below[b] += shares[b];
      if (shares[b] > 0) g.fillRect(x, y, Math.max(1, xOf(begin + (b + 1) * step) - x), height * shares[b]);
    }
  });
}

// The finest windows come last.
export function drawCoverage(g, track, top) {
  if (track.id === 'run' && isThinned(track)) {
    drawClasses(g, top, track.laneHeight - 2);
    return;
  }
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
