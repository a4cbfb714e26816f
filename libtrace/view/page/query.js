// SPDX-License-Identifier: Apache-2.0
//
// SQL queries on a served trace: an editor, the list of tables, the answer.

import {isServed} from './source.js';
import {byId, h, replaceChildren} from './dom.js';
import {clean, formatBytes, formatCount, formatNs} from './text.js';

const MOST_SHOWN = 1000;  // rows in the table; a saved file has all of them
const MOST_REMEMBERED = 50;
const LOOK_MS = 150;

const FIRST = `SELECT op, count, time_ns
FROM ops
ORDER BY time_ns DESC
LIMIT 20`;

let built = false, asked = () => {};
let running = null;  // {number, sql} of the running query
let answer = null;   // the last answer
const remembered = [];

// Called with the text of each query that is run.
export const whenAsked = (listener) => { asked = listener; };
export const queryText = () => (byId('sql') ? byId('sql').value : '');

async function send(what, about, body) {
  try {
    const url = new URL(what + '?' + new URLSearchParams(about), location.href);
    const got = await fetch(url, body === undefined ? {} : {method: 'POST', body});
    if (!got.ok) return {state: 'failed', message: (await got.text()).trim()};
    return await got.json();
  } catch {
    return {state: 'failed', message: 'acceltrace serve does not answer'};
  }
}

const isDigits = (cell) => typeof cell === 'number' || /^\d+$/.test(cell);
const textOf = (cell) => (cell === null ? '' : String(cell));

// Returns true if all cells of a column are numbers, which are then right-aligned.
const numeric = (rows, column) => rows.some((row) => row[column] !== null) &&
    rows.every((row) => row[column] === null || isDigits(row[column]));

function csvOf({columns, rows}) {
  const cell = (value) => {
    const text = textOf(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(',')).join('\n') + '\n';
}

function save() {
  const url = URL.createObjectURL(new Blob([csvOf(answer)], {type: 'text/csv'}));
  const link = h('a', {href: url, download: 'query.csv'});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function say(text, bad) {
  byId('sql-state').textContent = text;
  byId('sql-state').dataset.bad = String(Boolean(bad));
}

// Sorts by a column: numbers by value, missing values last.
function sortBy(column, falls) {
  const value = (cell) => (typeof cell === 'string' && isDigits(cell) ? BigInt(cell) : cell);
  const rank = (cell) => (cell === null ? 2 : typeof cell === 'string' ? 1 : 0);
  const sign = falls ? -1 : 1;
  const rows = answer.rows.map((row) => [value(row[column]), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null || rank(a) !== rank(b)) return rank(a) - rank(b);
    return a < b ? -sign : a > b ? sign : 0;
  });
  answer.rows = rows.map(([, row]) => row);
  answer.sorted = {column, falls};
  drawAnswer();
}

function headOf(name, column, isNumber) {
  const sorted = answer.sorted && answer.sorted.column === column ? answer.sorted : null;
  const mark = sorted ? (sorted.falls ? ' ▼' : ' ▲') : '';
  return h('th', {scope: 'col', class: isNumber ? 'n' : null,
                  'aria-sort': sorted ? (sorted.falls ? 'descending' : 'ascending') : null},
           h('button', {type: 'button', title: 'Sort by this column',
                        click: () => sortBy(column, sorted ? !sorted.falls : isNumber)},
             clean(name) + mark));
}

function drawAnswer() {
  const {columns, rows} = answer;
  const isNumber = columns.map((_, i) => numeric(rows, i));
  const shown = rows.slice(0, MOST_SHOWN);
  replaceChildren(byId('sql-answer'),
      answer.notes.map((note) => h('p', {class: 'sql-note'}, clean(note))),
      h('div', {class: 'sql-rows', tabindex: '0', role: 'region', 'aria-label': 'Answer'},
        h('table', null,
          h('thead', null, h('tr', null, columns.map((name, i) => headOf(name, i, isNumber[i])))),
          h('tbody', null, shown.map((row) => h('tr', null, row.map((cell, i) =>
              h('td', {class: isNumber[i] ? 'n' : textOf(cell).length > 60 ? 'long' : null},
                clean(textOf(cell))))))))),
      rows.length > shown.length ? h('p', {class: 'dim'}, `the first ${formatCount(shown.length)} are shown`) : null);
}

function take(json) {
  const took = json.ms === undefined ? '' : `, ${formatNs(json.ms * 1e6)}`;
  byId('sql-save').disabled = json.state !== 'done';
  if (json.state !== 'done') {
    answer = null;
    replaceChildren(byId('sql-answer'));
    return say(clean(json.message || 'no answer') + took, json.state !== 'cancelled');
  }
  answer = json;
  const count = formatCount(json.rows.length);
  say(`${json.more ? 'the first ' : ''}${count} row${json.rows.length === 1 ? '' : 's'}${took}` +
      (json.more ? '; all of them: acceltrace query FILE SQL --csv' : ''));
  drawAnswer();
}

function remember(sql) {
  const at = remembered.indexOf(sql);
  if (at >= 0) remembered.splice(at, 1);
  remembered.unshift(sql);
  remembered.length = Math.min(remembered.length, MOST_REMEMBERED);
  replaceChildren(byId('sql-past'), h('option', {value: ''}, 'Earlier queries'),
                  remembered.map((text, i) => h('option', {value: String(i)}, text.replace(/\s+/g, ' ').slice(0, 120))));
  byId('sql-past').disabled = false;
}

function setRunning(now) {
  running = now;
  byId('sql-run').disabled = now !== null;
  byId('sql-cancel').disabled = now === null;
}

async function wait(number) {
  for (;;) {
    const json = await send('answer', {id: number});
    if (running === null || running.number !== number) return;
    if (json.state !== 'running') {
      setRunning(null);
      take(json);
      return;
    }
    say(`running, ${formatNs(json.ms * 1e6)}`);
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
  }
}

export async function runQuery(sql = queryText()) {
  if (running !== null || sql.trim() === '') return;
  byId('sql').value = sql;
  setRunning({number: 0, sql});
  say('running');
  asked(sql);
  remember(sql);
  const begun = await send('query', {}, sql);
  if (begun.id === undefined) {
    setRunning(null);
    take(begun);
    return;
  }
  running.number = begun.id;
  await wait(begun.id);
}

const cancel = () => running !== null && send('cancel', {id: running.number}, '');

// Converts `code` in the documentation's text to elements.
const marked = (text) => text.split('`').map((part, i) => (i % 2 ? h('code', null, part) : part));

function insert(text) {
  const box = byId('sql'), {selectionStart: from, selectionEnd: to, value} = box;
  box.value = value.slice(0, from) + text + value.slice(to);
  box.focus();
  box.setSelectionRange(from + text.length, from + text.length);
}

const isWord = /^[a-z_]\w*$/i;
const quoted = (name) => (isWord.test(name) && name !== 'index' ? name : '"' + name.replaceAll('"', '""') + '"');

function tableEntry({name, text, columns}) {
  return h('details', null, h('summary', null, clean(name), h('span', {class: 'dim'}, ` ${columns.length}`)),
           h('p', {class: 'dim'}, marked(clean(text))),
           h('p', null, h('button', {type: 'button', class: 'link', click: () => runQuery(
               `SELECT *\nFROM ${quoted(name)}\nLIMIT 100`)}, 'first 100 rows')),
           h('div', {class: 'sql-columns'}, columns.map(([column, type]) =>
               h('button', {type: 'button', class: 'link', title: `${type}: insert into the query`,
                            click: () => insert(quoted(column))}, clean(column)))));
}

async function listTables() {
  const json = await send('tables', {});
  if (!json.tables) return replaceChildren(byId('sql-tables'), h('p', {class: 'dim'}, clean(json.message || '')));
  const {rows, seconds, memory_bytes: memory} = json.limits;
  byId('sql-limits').textContent = `At most ${formatCount(rows)} rows, ${seconds} s and ${formatBytes(memory)}; the trace can only be read.`;
  return replaceChildren(byId('sql-tables'), h('h3', null, 'Tables'), json.tables.map(tableEntry));
}

function build() {
  if (!isServed()) {
    replaceChildren(byId('query'), h('article', {class: 'card'}, h('h3', null, 'SQL over the trace'),
        h('p', null, 'This page is one file: it holds what is drawn, not the trace. Questions in SQL are answered by'),
        h('pre', null, 'acceltrace serve FILE        this page, with an editor here\n' +
                       'acceltrace query FILE SQL    on the command line'),
        h('p', {class: 'dim'}, 'where FILE is the trace that this page was made of; docs/query.md has the tables.')));
    return;
  }
  replaceChildren(byId('query'), h('div', {class: 'sql'},
      h('div', {class: 'card sql-side', id: 'sql-tables'}, h('p', {class: 'dim'}, 'Tables …')),
      h('div', {class: 'sql-main'},
        h('textarea', {id: 'sql', rows: '7', spellcheck: 'false', autocomplete: 'off',
                       'aria-label': 'A query in SQL', 'aria-describedby': 'sql-limits'}),
        h('div', {class: 'sql-bar'},
          h('button', {id: 'sql-run', type: 'button', title: 'Ctrl + Enter', click: () => runQuery()}, 'Run'),
          h('button', {id: 'sql-cancel', type: 'button', disabled: true, click: cancel}, 'Cancel'),
          h('button', {id: 'sql-save', type: 'button', disabled: true, click: save}, 'CSV'),
          h('select', {id: 'sql-past', disabled: true, 'aria-label': 'Earlier queries', change: (event) => {
            if (event.target.value !== '') byId('sql').value = remembered[Number(event.target.value)];
            event.target.value = '';
          }}, h('option', {value: ''}, 'Earlier queries')),
          h('output', {id: 'sql-state', role: 'status'})),
        h('p', {class: 'dim', id: 'sql-limits'}),
        h('div', {id: 'sql-answer'}))));
  byId('sql').value = FIRST;
  byId('sql').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      runQuery();
    } else if (event.key === 'Escape') {
      if (running !== null) cancel(); else byId('sql').blur();
    }
  });
  listTables();
}

// `sql` comes from the address, or is empty.
export function drawQuery(sql) {
  if (!built) build();
  built = true;
  if (!isServed() || sql === undefined || sql === '') return;
  // Going through the browser's history runs the query again.
  if (running === null && (answer === null || sql !== queryText())) runQuery(sql);
}
