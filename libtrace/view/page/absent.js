// SPDX-License-Identifier: Apache-2.0
//
// Tells what the tables lack because it was not recorded, and how to record it.

import {data} from './data.js';
import {h} from './dom.js';
import {clean, sentence} from './text.js';

export function absentCard() {
  if (data.absent.length === 0) return null;
  return h('article', {class: 'card'}, h('h3', null, 'Not recorded'),
           data.absent.map((text) => h('p', {class: 'wrap dim'}, sentence(clean(text)))));
}
