// SPDX-License-Identifier: Apache-2.0
//
// A page in a frame of a comparison (compare.js): its timeline alone, which shows the window of
// time that the other one shows. Both are of one origin, so that they may call each other.

import {data} from './data.js';
import {invalidate, onShow, show, view, widen} from './viewport.js';
import {isDark, toggleTheme} from './colours.js';

function pairOf() {
  try {
    const frame = window.frameElement;
    return frame && frame.dataset.side && window.parent.acceltracePair ? window.parent.acceltracePair : null;
  } catch {
    return null;  // in a frame of somebody else's
  }
}

const pair = pairOf();
export const isPaired = () => pair !== null;

// select(kind, id): goes to an event; area(from, to): marks a stretch of time.
export function startPair(select, area) {
  if (pair === null) return;
  const {side} = window.frameElement.dataset;
  document.documentElement.dataset.side = side;
  let told = false;  // by the other one: not to be told back
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
    // length: at least so much of it is shown.
    async go({kind, row, from_ns: from, to_ns: to}, length) {
      const look = () => quietly(() => show(from - length, from + 2 * length));
      look();
      await select(kind, row);
      // Of a page that was thinned it may not be there.
      if (view.selected === null) area(from, to);
      look();
      // When its details have taken their room.
      await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
      if (view.selected !== null) await select(kind, row);
      look();
      invalidate();
    },
  });
}
