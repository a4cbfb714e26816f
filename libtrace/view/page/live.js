// SPDX-License-Identifier: Apache-2.0
//
// During a live recording, polls for new data, takes it, and keeps the end visible as long as the
// user wants that.

import {data, takeHead} from './data.js';
import {byId, h} from './dom.js';
import {clean, formatBytes, formatNs} from './text.js';
import {invalidate, show, view} from './viewport.js';
import {ask, isServed, reload} from './source.js';

const EVERY_MS = 1000;
const BEHIND = 0.04;  // of the window, left free after the last event

let following = true, generation = isServed() ? data.served.live : 0;
export const isLive = () => isServed() && data.served.live > 0;
export const isFollowing = () => following;

export function follow(on) {
  following = on;
  byId('live').setAttribute('aria-pressed', String(on));
  if (on) showEnd();
}

function showEnd() {
  const width = view.to - view.from;
  show(data.end - width * (1 - BEHIND), data.end + width * BEHIND);
}

function say(state) {
  byId('live').dataset.going = String(state.going);
  byId('live').textContent = `${state.going ? '● live' : 'ended'} · ${formatNs(data.end)}`;
  byId('live').title = state.going ? `${formatBytes(state.bytes)} so far; click to keep the end in sight` :
      'The recording has ended';
  if (state.note) {
    byId('notice').hidden = false;
    byId('notice').textContent = clean(state.note);
  }
}

// Calls changed() when everything except the timeline must be drawn again.
async function look(changed) {
  const state = await ask('state', {});
  if (state === null) return true;
  if (state.generation > generation) {
    const head = await ask('head', {});
    if (head !== null) {
      if (!takeHead(head)) {
        location.reload();  // the address keeps the view
        return false;
      }
      generation = head.served.live;
      if (following) showEnd();
      await reload();
      changed();
      invalidate();
    }
  }
  say(state);
  return state.going || state.generation > generation;
}

export function startLive(changed) {
  if (!isLive()) return;
  byId('tools').append(h('button', {id: 'live', type: 'button', 'aria-pressed': 'true',
                                        click: () => follow(!following)}));
  say({going: true, bytes: 0});
  for (const name of ['wheel', 'pointerdown']) {
    byId('scroll').addEventListener(name, (event) => {
      if (name === 'wheel' && !event.ctrlKey && !event.shiftKey) return;
      follow(false);  // a user who looks at something does not want it to move
    });
  }
  const again = () => setTimeout(async () => {
    if (await look(changed)) again();
  }, EVERY_MS);
  again();
}
