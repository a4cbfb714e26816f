// SPDX-License-Identifier: Apache-2.0
//
// The page's data of the trace. The columns of a table are decoded when they are first used;
// view/common/page_columns.h describes their format.

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Calls put(row, number) for each encoded number. Numbers of more than 49 bits are BigInts, others
// are Numbers.
function eachNumber(bytes, rows, put) {
  let at = 0;
  for (let row = 0; row < rows; ++row) {
    let value = 0, scale = 1, byte = 128, length = 0;
    for (; byte >= 128 && length < 7 && at < bytes.length; ++length, scale *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
    }
    if (byte >= 128) {
      let big = BigInt(value), shift = 49n;
      for (; byte >= 128 && at < bytes.length; shift += 7n) {
        byte = bytes[at++];
        big |= BigInt(byte & 127) << shift;
      }
      put(row, big);
    } else {
      put(row, value);
    }
  }
}

function unzigzag(value) {
  if (typeof value === 'number') return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  return value & 1n ? -((value + 1n) >> 1n) : value >> 1n;
}

const SAFE = Number.MAX_SAFE_INTEGER;

// Returns the exact sum modulo 2^64 as a signed number.
function added(a, b) {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (sum <= SAFE && sum >= -SAFE) return sum;
  }
  const sum = BigInt.asIntN(64, BigInt(a) + BigInt(b));
  return sum <= BigInt(SAFE) && sum >= -BigInt(SAFE) ? Number(sum) : sum;
}

function decode([encoding, text], rows, out, none) {
  const isBig = out instanceof BigInt64Array;
  const store = (row, value) => { out[row] = isBig ? BigInt(value) : Number(value); };
  if (encoding === 'c') {
    out.fill(isBig ? BigInt(text) : Number(text));
    return out;
  }
  let last = 0;
  eachNumber(bytesOf(text), rows, (row, value) => {
    if (encoding === 'p') {
      store(row, unzigzag(value));
    } else if (encoding === 'o' && value == 0) {
      out[row] = none;
    } else {
      const written = encoding === 'd' ? value :
          typeof value === 'bigint' ? value - 1n : value - 1;
      last = added(last, unzigzag(written));
      store(row, last);
    }
  });
  return out;
}

export class Table {
  constructor(json) {
    this.take(json);
  }

  take(json) {
    this.rows = json.rows;
    this.of = json.of;
    this.columns = json.columns;
    this.decoded = new Map();
  }

  // idOf() returns the row in the trace's table, and rowOf() converts it back (-1: not in the
  // page). If a page was saved with a part of a trace, its rows are numbered on their own.
  idOf(row) {
    return this.columns.id ? this.num('id')[row] : row;
  }

  rowOf(id) {
    if (!this.columns.id) return id >= 0 && id < this.rows ? id : -1;
    const ids = this.num('id');
    let low = 0, high = this.rows;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ids[middle] < id) low = middle + 1; else high = middle;
    }
    return low < this.rows && ids[low] === id ? low : -1;
  }

  // Returns a column as Numbers, with NaN where a row has no value.
  num(name) {
    let column = this.decoded.get(name);
    if (column === undefined) {
      column = decode(this.columns[name], this.rows, new Float64Array(this.rows), NaN);
      this.decoded.set(name, column);
    }
    return column;
  }

  // Returns an exact unsigned value of 64 bits.
  big(name, row) {
    const key = 'big ' + name;
    let column = this.decoded.get(key);
    if (column === undefined) {
      column = decode(this.columns[name], this.rows, new BigInt64Array(this.rows), 0n);
      this.decoded.set(key, column);
    }
    return BigInt.asUintN(64, column[row]);
  }
}

export const data = JSON.parse(document.getElementById('data').textContent);
export const report = data.report;
export const tables = {};
for (const [name, json] of Object.entries(data.tables)) tables[name] = new Table(json);

// Listeners are called, in the order of their modules, when the rows change.
const changed = [];
export const whenRowsChange = (listener) => changed.push(listener);

// Replaces the rows by those of another window of time from the server.
export function takeWindow(json) {
  for (const name of ['names', 'coverage', 'tables']) data[name] = json[name];
  for (const [name, table] of Object.entries(json.tables)) tables[name].take(table);
  for (const listener of changed) listener();
}

export const baseNs = BigInt(data.base_ns);
// Converts a time of the page to the host's clock.
export const hostNs = (time) => baseNs + BigInt(Math.round(time));

export function sharesOf(base64) {
  return Float64Array.from(bytesOf(base64), (byte) => byte / 250);
}

const processNames = new Map();
function nameProcesses() {
  processNames.clear();
  for (const [pid, tid, name] of data.processes) processNames.set(pid + '/' + tid, name);
}
nameProcesses();

// Replaces everything but the tables by what the server sends during a live recording. Returns
// false if times have another origin than before.
const renewed = [];
export const whenHeadChanges = (listener) => renewed.push(listener);
export function takeHead(json) {
  if (json.base_ns !== data.base_ns) return false;
  for (const name of ['report', 'series']) {
    for (const key of Object.keys(data[name])) delete data[name][key];
    Object.assign(data[name], json[name]);
  }
  for (const name of ['end', 'run', 'path', 'devices', 'processes', 'served', 'absent']) data[name] = json[name];
  nameProcesses();
  for (const listener of renewed) listener();
  return true;
}
export const threadName = (pid, tid) => processNames.get(pid + '/' + tid) || '';
