// SPDX-License-Identifier: Apache-2.0
//
// A page in a frame of a comparison (compare.js). It only has the timeline, which shows the same
// window of time as the other frame. Both have the same origin, so that they may call each other.

import {data} from './data.js';
import {invalidate, onShow, show, view, widen} from './viewport.js';
import {isDark, toggleTheme} from './colours.js';

function pairOf() {
  try {
    const frame = window.frameElement;
    return frame && frame.dataset.side && window.parent.acceltracePair ? window.parent.acceltracePair : null;
  } catch {
    return null;  // in a frame of another site
  }
}

const pair = pairOf();
export const isPaired = () => pair !== null;

// select(kind, id) selects an event, and area(from, to) marks an interval.
export function startPair(select, area) {
  if (pair === null) return;
  const {side} = window.frameElement.dataset;
  document.documentElement.dataset.side = side;
  let told = false;  // set by the other frame, so that it is not notified in turn
  onShow((from, to) => {
    if (!told) pair.moved(side, from, to);
  });
  const quietly = (what) => {
    told = true;
    try {
      what();
    } finally {
      told = false;
    }
  };
  pair.ready(side, {
    run: data.run, end: data.end, window: () => [view.from, view.to],
    show: (from, to) => quietly(() => show(from, to)),
    widen: (begin, end) => widen(begin, end),
    dark: (dark) => dark !== isDark() && toggleTheme(),
    // At least `length` of it is shown.
    async go({kind, row, from_ns: from, to_ns: to}, length) {
      const look = () => quietly(() => show(from - length, from + 2 * length));
      look();
      await select(kind, row);
      // A thinned page may not have the event.
      if (view.selected === null) area(from, to);
      look();
      // Wait until the details have taken their space.
      await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
      if (view.selected !== null) await select(kind, row);
      look();
      invalidate();
    },
  });
}
