// SPDX-License-Identifier: Apache-2.0
//
// Sorts rows of tables by a column. Numbers are sorted by value, whatever their format.

import {formatBytes, formatCount, formatNs, formatRate, formatShare, formatSpan} from './text.js';

// A cell has what is shown and its value for sorting.
export const cell = (value, shown) => ({value, shown});
export const ns = (value) => cell(value, formatNs(value));
export const count = (value) => cell(value, formatCount(value));
export const bytes = (value) => cell(value, formatBytes(value));
export const share = (value) => cell(value, formatShare(value));
export const rate = (value, unit) => cell(value, formatRate(value, unit));
export const span = (value) => cell(value.ns, formatSpan(value));

const isCell = (content) => content !== null && typeof content === 'object' && 'shown' in content;
export const shownOf = (content) => (isCell(content) ? content.shown : content);

function valueOf(content) {
  const value = isCell(content) ? content.value : content;
  if (value instanceof Node) return value.textContent.trim();
  return Array.isArray(value) ? value.map((part) => valueOf(part) ?? '').join('') : value;
}

const isMissing = (value) => value === undefined || value === null || value === '' || Number.isNaN(value);
const isNumber = (value) => typeof value === 'number' || typeof value === 'bigint';
const words = new Intl.Collator('en', {numeric: true});

// Numbers are sorted before words.
function compare(a, b) {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return words.compare(String(a), String(b));
}

// Sorts rows by a column, up or down (1, -1). The sort is stable, with rows without a value last.
export function sorted(rows, column, direction) {
  if (direction === 0) return rows;
  const keyed = rows.map((row) => [valueOf(row[column]), row]);
  const rank = ([value]) => (isMissing(value) ? 1 : 0);
  return keyed.sort((a, b) => rank(a) - rank(b) || (rank(a) ? 0 : direction * compare(a[0], b[0])))
      .map(([, row]) => row);
}
