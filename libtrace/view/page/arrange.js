// SPDX-License-Identifier: Apache-2.0
//
// Keeps which tracks are pinned, hidden and moved. Pinned tracks are above all others and stay
// visible. The arrangement is part of the address, so that links include it; {pinned, hidden,
// order} are lists of ids, where those of groups have the prefix @.

const chosen = {pinned: [], hidden: new Set(), order: []};

export const groupId = (group) => '@' + group.id;
export const isPinned = (track) => chosen.pinned.includes(track.id);
export const isHidden = (id) => chosen.hidden.has(id);
export const isArranged = () => chosen.pinned.length + chosen.hidden.size + chosen.order.length > 0;

// Sorts the moved elements of a list among the places that they have together; others stay in their
// places.
function inOrder(list, idOf) {
  const rank = new Map(chosen.order.map((id, i) => [id, i]));
  const moved = list.filter((each) => rank.has(idOf(each))).sort((a, b) => rank.get(idOf(a)) - rank.get(idOf(b)));
  let next = 0;
  return list.map((each) => (rank.has(idOf(each)) ? moved[next++] : each));
}

const idOf = (track) => track.id;
export const groupsInOrder = (groups) => inOrder(groups, groupId);
export const tracksInOrder = (group) => inOrder(group.tracks, idOf);

// Returns [{track, group}] of the pinned tracks, in the order of pinning.
export function pinnedOf(groups) {
  const all = new Map(groups.flatMap((group) => group.tracks.map((track) => [track.id, {track, group}])));
  return chosen.pinned.map((id) => all.get(id)).filter((each) => each && !isHidden(each.track.id));
}

export function pin(track, on) {
  chosen.pinned = chosen.pinned.filter((id) => id !== track.id);
  if (on) chosen.pinned.push(track.id), chosen.hidden.delete(track.id);
}

export const hide = (id, on) => (on ? chosen.hidden.add(id) : chosen.hidden.delete(id));
export const showAll = () => chosen.hidden.clear();

// Moves an element of a list by a number of places. The list has the pinned tracks, a group's
// tracks, or the groups.
export function move(list, id, by) {
  const ids = [...list], at = ids.indexOf(id), to = Math.max(0, Math.min(ids.length - 1, at + by));
  if (at < 0 || at === to) return false;
  ids.splice(to, 0, ...ids.splice(at, 1));
  if (chosen.pinned.includes(id)) {
    chosen.pinned = ids;
  } else {
    chosen.order = chosen.order.filter((each) => !ids.includes(each)).concat(ids);
  }
  return true;
}

export function reset() {
  chosen.pinned = [], chosen.order = [], chosen.hidden.clear();
}

// Converts the arrangement to and from parts of the address.
const ID = /^@?[\w.]{1,40}$/;
const split = (value) => value.split(',').filter((id) => ID.test(id)).slice(0, 1000);
export const arrangement = () => [['p', chosen.pinned], ['h', [...chosen.hidden]], ['o', chosen.order]]
    .filter(([, ids]) => ids.length > 0).map(([name, ids]) => `${name}=${ids.join(',')}`);
export function arrange({p = '', h = '', o = ''}) {
  chosen.pinned = [...new Set(split(p))], chosen.hidden = new Set(split(h)), chosen.order = [...new Set(split(o))];
}
