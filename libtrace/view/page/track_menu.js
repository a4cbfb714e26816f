// SPDX-License-Identifier: Apache-2.0
//
// The list of tracks, to pin, hide and move them with mouse and keys, and the same for one track
// where its name is clicked in the timeline.

import {byId, h, replaceChildren} from './dom.js';
import {arrange, groupId, groupsInOrder, hide, isArranged, isHidden, isPinned, move, pin, pinnedOf, reset,
        showAll, tracksInOrder} from './arrange.js';
import {invalidate, layOut, view} from './viewport.js';

let changed = () => {};
let drawn = () => {};

function apply() {
  layOut();
  invalidate();
  changed();
  byId('arrange').classList.toggle('on', isArranged());
  drawn();
}

// Returns the list in which a track is moved.
const listOf = (track, group) => (isPinned(track) ? pinnedOf(view.groups).map((each) => each.track) :
    tracksInOrder(group).filter((each) => !isPinned(each))).map((each) => each.id);

export function moveTrack(track, group, by) {
  if (move(listOf(track, group), track.id, by)) apply();
}

function moveGroup(group, by) {
  if (move(groupsInOrder(view.groups).map(groupId), groupId(group), by)) apply();
}

const button = (text, title, click, about) => h('button', {type: 'button', title, 'aria-label': title, click, ...about}, text);

function actionsOf(track, group) {
  const {label} = track, pinned = isPinned(track), hidden = isHidden(track.id);
  return [
    button('⤒', `${pinned ? 'Unpin' : 'Pin to the top'}: ${label}`, () => (pin(track, !pinned), apply()),
           {'aria-pressed': String(pinned), 'data-do': 'pin'}),
    button(hidden ? '○' : '●', `${hidden ? 'Show' : 'Hide'}: ${label}`, () => (hide(track.id, !hidden), apply()),
           {'aria-pressed': String(hidden), 'data-do': 'hide'}),
    button('↑', `Move up: ${label}`, () => moveTrack(track, group, -1), {'data-do': 'up'}),
    button('↓', `Move down: ${label}`, () => moveTrack(track, group, 1), {'data-do': 'down'})];
}

function groupActions(group) {
  const id = groupId(group), hidden = isHidden(id);
  return [
    button(hidden ? '○' : '●', `${hidden ? 'Show' : 'Hide'}: ${group.label}`, () => (hide(id, !hidden), apply()),
           {'aria-pressed': String(hidden), 'data-do': 'hide'}),
    button('↑', `Move up: ${group.label}`, () => moveGroup(group, -1), {'data-do': 'up'}),
    button('↓', `Move down: ${group.label}`, () => moveGroup(group, 1), {'data-do': 'down'})];
}

const line = (id, name, actions, about) => h('div', {class: 'track-line', 'data-id': id, ...about},
    h('span', {class: 'track-name', title: name}, name), actions);

// Moves a line of a list to where it is dragged.
function dragged(list) {
  let from = null;
  return {
    pointerdown: (event) => {
      const at = event.target.closest('.track-line');
      if (!at || event.target.closest('button') || event.button !== 0) return;
      event.preventDefault();
      from = at;
      at.classList.add('dragged');
    },
    pointermove: (event) => {
      if (from === null) return;
      const over = document.elementFromPoint(event.clientX, event.clientY)?.closest('.track-line');
      if (!over || over === from || !over.order || over.order.key !== from.order.key) return;
      const ids = from.order.ids();
      const by = ids.indexOf(over.dataset.id) - ids.indexOf(from.dataset.id), id = from.dataset.id;
      if (move(ids, id, by)) apply();
      from = list().querySelector(`[data-id="${CSS.escape(id)}"]`);
      if (from) from.classList.add('dragged');
    },
    pointerup: () => {
      if (from) from.classList.remove('dragged');
      from = null;
    }};
}

function ordered(element, key, ids) {
  element.order = {key, ids};
  return element;
}

function draw() {
  const list = byId('arrange-list');
  const had = list.contains(document.activeElement) ? document.activeElement : null;
  const again = had && [had.closest('.track-line').dataset.id, had.dataset.do];
  const pinned = pinnedOf(view.groups), groups = groupsInOrder(view.groups);
  const trackLine = (track, group, key, more) => ordered(line(track.id, track.label + more, actionsOf(track, group),
      isHidden(track.id) ? {'data-hidden': ''} : null), key, () => listOf(track, group));
  replaceChildren(list,
      pinned.length > 0 ? [h('h4', null, 'Pinned'), pinned.map(({track, group}) =>
        trackLine(track, group, 'pinned', ' · ' + group.label))] : null,
      groups.map((group) => [
        ordered(line(groupId(group), group.label, groupActions(group), {
          'data-group': '', ...(isHidden(groupId(group)) ? {'data-hidden': ''} : {})}), '@',
          () => groupsInOrder(view.groups).map(groupId)),
        tracksInOrder(group).filter((track) => !isPinned(track) || isHidden(track.id)).map((track) =>
          trackLine(track, group, group.id, ''))]));
  if (again) {
    const same = list.querySelector(`[data-id="${CSS.escape(again[0])}"] [data-do="${again[1]}"]`);
    if (same) same.focus();
  }
}

export function showTrackMenu() {
  const dialog = byId('arrange-dialog');
  const body = h('div', {id: 'arrange-list'});
  for (const [name, listener] of Object.entries(dragged(() => byId('arrange-list')))) {
    body.addEventListener(name, listener);
  }
  replaceChildren(dialog, h('h2', null, 'Tracks'),
      h('p', {class: 'dim'}, '⤒ pins a track above all others, ● hides it, ↑ ↓ or dragging moves it.'), body,
      h('p', {class: 'buttons'}, button('Show all', 'Show all hidden tracks', () => (showAll(), apply())),
        button('Reset', 'Nothing pinned, hidden or moved', () => (reset(), apply()), {id: 'arrange-reset'}),
        button('Close', 'Close', () => dialog.close())));
  drawn = draw;
  draw();
  dialog.addEventListener('close', () => { drawn = () => {}; }, {once: true});
  dialog.showModal();
}

// Shows the actions for one track next to its name.
export function showMenuOf({track, group}, x, y) {
  const menu = byId('track-menu');
  const close = () => { menu.hidden = true; };
  const item = (text, act, id) => h('button', {type: 'button', role: 'menuitem', 'data-do': id, click: () => {
    close();
    act();
    byId('scroll').focus();
  }}, text);
  const pinned = isPinned(track);
  replaceChildren(menu, h('b', null, track.label),
      item(pinned ? 'Unpin' : 'Pin to the top', () => (pin(track, !pinned), apply()), 'pin'),
      item('Hide', () => (hide(track.id, true), apply()), 'hide'),
      item('Move up', () => moveTrack(track, group, -1), 'up'), item('Move down', () => moveTrack(track, group, 1), 'down'),
      item('All tracks …', showTrackMenu, 'all'));
  menu.hidden = false;
  menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4)) + 'px';
  menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4)) + 'px';
  menu.querySelector('button').focus({focusVisible: false});
}

function menuKeys(event) {
  const items = [...byId('track-menu').querySelectorAll('button')], at = items.indexOf(document.activeElement);
  const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1}[event.key];
  if (event.key === 'Escape') {
    byId('track-menu').hidden = true;
    byId('scroll').focus();
  } else if (to !== undefined) {
    items[(to + items.length) % items.length].focus();
  } else {
    return event.key !== 'Tab' && event.stopPropagation();
  }
  event.preventDefault(), event.stopPropagation();
  return undefined;
}

// Applies the arrangement of an address, if it has one.
export function takeArrangement(parts) {
  if (Object.keys(parts).length === 0) return;
  arrange(parts);
  apply();
}

export function startTrackMenu(change) {
  changed = change;
  byId('arrange').addEventListener('click', showTrackMenu);
  byId('arrange').classList.toggle('on', isArranged());
  byId('track-menu').addEventListener('keydown', menuKeys);
  addEventListener('pointerdown', ({target}) => {
    if (!byId('track-menu').contains(target)) byId('track-menu').hidden = true;
  }, true);
}
