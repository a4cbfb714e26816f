// SPDX-License-Identifier: Apache-2.0
//
// Charts of the whole run: sums over all events, whether or not the page has each of them.

import {data, report, sharesOf, tables} from './data.js';
import {byId, h, replaceChildren} from './dom.js';
import {EIGHT, classColour, ink, unitColours} from './colours.js';
import {widest, write} from './labels.js';
import {clean, formatBound, formatBytes, formatCount, formatNs, formatRate, formatShare, formatSpan,
        isKnown, shortened} from './text.js';
import {area, around, bars, columns, frame, legend, line, logScale, plot, points, scale} from './plot.js';

const MOST_UNITS = 12;
const {series} = data;
// This changes during a live recording.
const span = () => series.end - series.begin;
const binNs = () => span() / series.bins;
const xTime = (box) => scale(0, span(), box.left, box.right);
const mid = (bin) => (bin + 0.5) * binNs();
const when = (bin) => `${formatNs(bin * binNs())} to ${formatNs((bin + 1) * binNs())}`;
const listed = (first, rest) => [first, ...rest].join('\n');

// Returns the box to the right of the row labels, which take as much space as they need but at most
// a third.
function besideLabels(g, box, labels, right = 0) {
  const room = widest(g, labels, (box.right - box.left) / 3 + box.left - 12);
  return {...box, left: 12 + room, right: box.right - right};
}

function rowLabel(g, box, text, y) {
  g.fillStyle = ink('text');
  write(g, text, box.left - 8, y, box.left - 10, {align: 'right'});
}

function utilisation(unit) {
  const device = data.devices[unit.device], {name} = device.units[unit.unit];
  const [busy, heldUp, waits] = unitColours();
  const layers = [['busy', sharesOf(unit.busy), busy], ['runs, held up', sharesOf(unit.stalled), heldUp],
                  ['waits', sharesOf(unit.waiting), waits]];
  return plot(`Utilisation: ${clean(device.name)} ${shortened(clean(name), 30)}`,
      legend(layers.map(([text, , colour]) => [text, colour])), (g, box) => {
        const x = xTime(box), y = scale(0, 1, box.bottom, box.top);
        frame(g, box, x, y, {x: formatNs, y: formatShare});
        const below = new Float64Array(series.bins);
        for (const [, shares, colour] of layers) {
          area(g, shares.length, (b) => x(b * binNs()), (b) => y(below[b]),
               (b) => y(below[b] += shares[b]), colour);
        }
        return columns(box, series.bins, (b) => x(b * binNs()), (b) => listed(when(b),
            layers.map(([text, shares]) => `${text}: ${formatShare(shares[b])}`)));
      });
}

function throughput(of) {
  const units = series.units.filter((unit) => unit.bytes && data.devices[unit.device].name === of.device);
  const lines = of.directions.map((direction, i) => {
    const unit = units.find((each) =>
        data.devices[each.device].units[each.unit].name === direction.unit);
    return {direction, colour: EIGHT[i === 0 ? 1 : 0],
            rates: unit ? unit.bytes.map((bytes) => bytes / binNs() * 1e9) : []};
  });
  const ceiling = Math.max(...of.directions.map((each) => each.link_bytes_per_s));
  const payload = Math.max(...of.directions.map((each) => each.payload_ceiling_bytes_per_s));
  const most = Math.max(ceiling, ...lines.flatMap(({rates}) => rates), 1);
  return plot(`PCIe throughput: ${clean(of.device)}`, legend(lines.map(({direction, colour}) => [
    `${clean(direction.unit)}: ${formatRate(direction.bytes_per_s, 'B')} while it runs`, colour])),
  (g, box) => {
    const x = xTime(box), y = scale(0, most * 1.08, box.bottom, box.top);
    frame(g, box, x, y, {x: formatNs, y: (value) => formatRate(value, 'B')});
    for (const {rates, colour} of lines) {
      line(g, rates.length, (b) => x(mid(b)), (b) => y(rates[b]), colour);
    }
    for (const [value, text] of [[ceiling, 'link, after line coding'], [payload, 'what packets leave for data']]) {
      if (!(value > 0)) continue;
      g.setLineDash([5, 4]);
      line(g, 2, (i) => (i ? box.right : box.left), () => y(value), ink('dim'));
      g.setLineDash([]);
      g.fillStyle = ink('dim');
      const isBelow = value === payload && y(payload) - y(ceiling) < 16;  // the line is in the way
      write(g, text, box.left + 6, y(value) + (isBelow ? 8 : -7), box.right - box.left - 8, {free: true});
    }
    return columns(box, series.bins, (b) => x(b * binNs()), (b) => listed(when(b),
        lines.map(({direction, rates}) => `${clean(direction.unit)}: ${formatRate(rates[b] || 0, 'B')}` +
          (ceiling > 0 ? `, ${formatShare((rates[b] || 0) / ceiling)} of the link` : ''))));
  });
}

function stageLatencies() {
  const stages = Object.entries(report.latency.stages).filter(([, stage]) => stage.count > 0 && stage.p50);
  if (stages.length === 0) return null;
  const most = Math.max(...stages.map(([, stage]) => stage.max.ns), 10);
  return plot('Latency of each stage: p50, p90, p99, longest', null, (g, box) => {
    const names = stages.map(([name]) => name.replaceAll('_', ' '));
    const left = besideLabels(g, box, names);
    const x = logScale(10, most * 1.2, left.left, left.right);
    frame(g, left, x, null, {x: formatNs});
    const height = (box.bottom - box.top) / stages.length;
    const keys = ['p50', 'p90', 'p99', 'max'];
    return stages.flatMap(([, stage], i) => {
      const y = box.top + (i + 0.5) * height;
      rowLabel(g, left, names[i], y);
      const at = (key) => x(Math.max(10, stage[key].ns));
      g.fillStyle = ink('idle');
      g.fillRect(at('p50'), y - 1.5, Math.max(1, at('max') - at('p50')), 3);
      points(g, keys.map((key, k) => [at(key), y, classColour([0, 6, 1, 2][k])]), 4);
      const text = listed(`${names[i]}: ${formatCount(stage.count)}`, keys.map((key) =>
        `${key === 'max' ? 'longest' : key}: ${formatSpan(stage[key])}`));
      return [{x: 4, y: y - height / 2, w: left.right - 4, h: height, text}];
    });
  }, legend([['p50', classColour(0)], ['p90', classColour(6)], ['p99', classColour(1)],
             ['longest', classColour(2)]]));
}

function latencyQuantiles() {
  const {count, quantiles} = series.latency;
  if (count === 0) return null;
  return plot('API call to completion consumed, by percentile',
      h('span', {class: 'dim'}, `${formatCount(count)} jobs`), (g, box) => {
        const x = scale(0, 100, box.left, box.right);
        const y = scale(0, quantiles[100] * 1.05, box.bottom, box.top);
        frame(g, box, x, y, {x: (p) => `p${Math.round(p)}`, y: formatNs});
        line(g, 101, (p) => x(p), (p) => y(quantiles[p]), classColour(0), 2);
        return quantiles.map((ns, p) => around(x(p), y(ns), `p${p}: ${formatNs(ns)}`));
      });
}

const shortBytes = (bytes) => formatBytes(bytes).replace('.00', '');

function sizes(of) {
  const lists = of.directions.filter((direction) => direction.count > 0);
  const classes = [...new Set(lists.flatMap((each) => each.sizes.map((size) => size.up_to_bytes ?? Infinity)))]
      .sort((a, b) => a - b);
  if (classes.length === 0) return null;
  return plot(`Transfer sizes: ${clean(of.device)}`, legend(lists.map((direction, i) => [
    clean(direction.unit), EIGHT[i === 0 ? 1 : 0]])), (g, box) => {
    const most = Math.max(...lists.flatMap((each) => each.sizes.map((size) => size.count)));
    const y = scale(0, most * 1.15, box.bottom, box.top);
    const width = (box.right - box.left) / classes.length;
    frame(g, box, null, y, {y: formatCount});
    const marks = [];
    classes.forEach((limit, c) => {
      lists.forEach((direction, i) => {
        const size = direction.sizes.find((each) => (each.up_to_bytes ?? Infinity) === limit);
        if (!size || size.count === 0) return;
        const wide = Math.min(60, width * 0.8 / lists.length);
        const at = box.left + c * width + width / 2 + (i - lists.length / 2) * wide;
        bars(g, [[at, y(size.count), wide - 2, box.bottom, EIGHT[i === 0 ? 1 : 0]]]);
        g.fillStyle = ink('text');
        const room = lists.length > 1 ? wide : width;
        write(g, formatCount(size.count), at + wide / 2 - 1, y(size.count) - 8, room, {align: 'center', free: true});
        marks.push({x: at, y: y(size.count), w: wide - 2, h: box.bottom - y(size.count), text: listed(
            `${clean(direction.unit)}, ${limit === Infinity ? 'larger' : 'up to ' + formatBytes(limit)}`,
            [`${formatCount(size.count)} transfers, ${formatBytes(size.bytes)}`, `in ${formatSpan(size.time)}: ${
              formatRate(size.bytes_per_s, 'B')}`])});
      });
      g.fillStyle = ink('dim');
      write(g, limit === Infinity ? 'larger' : '≤ ' + shortBytes(limit), box.left + (c + 0.5) * width, box.bottom + 11,
            width - 2, {align: 'center', free: true});
    });
    return marks;
  });
}

// Plots ops by their work and bytes of memory, with the limits of unit and memory.
function roofline(device, d) {
  const bandwidth = device.memory_bytes_per_s;
  const ops = report.op_groups.filter((op) => op.device === device.name && op.work > 0 &&
      op.memory_bytes > 0 && op.work_per_s > 0);
  const units = device.units.filter((unit) => unit.peak_work_per_s > 0);
  if (ops.length === 0 || units.length === 0 || !(bandwidth > 0)) return null;
  const intensity = (op) => op.work / op.memory_bytes;
  const colourOf = (name) => classColour([0, 5, 2, 3][Math.max(0, units.findIndex((unit) => unit.name === name)) % 4]);
  const used = units.filter((unit) => ops.some((op) => op.unit === unit.name));
  const lows = ops.map(intensity), ridge = used.map((unit) => unit.peak_work_per_s / bandwidth);
  const from = Math.min(...lows) / 3, to = Math.max(...lows, ...ridge) * 3;
  const most = Math.max(...used.map((unit) => unit.peak_work_per_s)) * 2;
  const least = Math.min(...ops.map((op) => op.work_per_s)) / 3;
  return plot(`Roofline: ${clean(data.devices[d].name)}`, legend(used.map((unit) => [
    `${clean(unit.name)}, ${clean(unit.work_unit)}`, colourOf(unit.name)])), (g, box) => {
    const x = logScale(from, to, box.left, box.right), y = logScale(least, most, box.bottom, box.top);
    frame(g, box, x, y, {x: (value) => Number(value.toPrecision(2)) + '/B', y: (value) => formatRate(value, '')});
    for (const unit of used) {
      const knee = unit.peak_work_per_s / bandwidth;
      const shape = [[from, from * bandwidth], [knee, unit.peak_work_per_s], [to, unit.peak_work_per_s]];
      line(g, 3, (i) => x(shape[i][0]), (i) => y(Math.max(least, shape[i][1])), colourOf(unit.name), 1.5);
    }
    points(g, ops.map((op) => [x(intensity(op)), y(op.work_per_s), colourOf(op.unit)]), 4);
    g.fillStyle = ink('text');
    const marks = ops.map((op) => ({x: x(intensity(op)) - 4, y: y(op.work_per_s) - 4, w: 8, h: 8}));
    // Each label is next to its point if there is enough space; otherwise it is only in the
    // tooltip.
    ops.forEach((op, i) => {
      const text = clean(op.op), px = marks[i].x + 4, py = marks[i].y + 4;
      const about = {free: true, avoid: marks.filter((mark, k) => k !== i)};
      const wide = widest(g, [text], 130), right = box.right - px - 6, left = px - box.left - 8;
      const on = {right: () => write(g, text, px + 6, py, Math.min(130, right), about),
                  left: () => write(g, text, px - 6, py, Math.min(130, left), {...about, align: 'right'})};
      const sides = right < wide && left > right ? ['left', 'right'] : ['right', 'left'];
      sides.some((side) => on[side]() > 0);
    });
    return ops.map((op) => around(x(intensity(op)), y(op.work_per_s), listed(`${clean(op.op)} on ${clean(op.unit)}`, [
      formatRate(op.work_per_s, clean(units.find((unit) => unit.name === op.unit)?.work_unit || '')),
      `${Number(intensity(op).toPrecision(3))} for each byte of memory`, `${formatShare(op.peak_share ?? -1)} of the unit's peak`,
      `${formatCount(op.count)} times, ${formatSpan(op.time)}`])));
  }, h('span', {class: 'dim'}, 'work for each byte of device memory; stalls are in the rate'));
}

// Draws rows of bars that are shares of 1: [label, share, colour, text].
function shareRows(title, above, rows) {
  return plot(title, above, (g, box) => {
    const left = besideLabels(g, box, rows.map(([label]) => label), 64);
    const x = scale(0, 1, left.left, left.right);
    frame(g, left, x, null, {x: (value) => `${Math.round(value * 100)} %`});
    const height = (box.bottom - box.top) / rows.length;
    return rows.map(([label, share, colour, text], i) => {
      const y = box.top + (i + 0.5) * height, tall = Math.min(16, height * 0.7);
      rowLabel(g, left, label, y);
      const end = x(Math.min(1, share));
      bars(g, [[left.left, y - tall / 2, Math.max(1, end - left.left), y + tall / 2, colour]]);
      g.fillStyle = ink('dim');
      write(g, text, end + 6, y, box.right - end - 6);
      return {x: 4, y: y - height / 2, w: box.right - 4, h: height, text: `${label}: ${formatShare(share)}${
        text === formatShare(share) ? '' : `, ${text}`}`};
    });
  });
}

// Shows which part of the memory's bandwidth each unit got while it ran, how often its rows were
// open, and how much of what was moved was useful.
function memoryEfficiency(of) {
  const rows = of.units.filter((unit) => unit.moved_bytes > 0).slice(0, 6).flatMap((unit) => {
    const name = shortened(clean(unit.by), 30), touched = unit.row_hits + unit.row_misses;
    return [[`${name}: of peak`, unit.of_peak, EIGHT[0], formatRate(unit.bytes_per_s, 'B')],
            ...(touched > 0 ? [[`${name}: row hits`, unit.row_hits / touched, EIGHT[6],
                                formatShare(unit.row_hits / touched)]] : [])];
  });
  if (of.counters && of.counters.available && of.counters.read_bytes + of.counters.write_bytes > 0) {
    rows.push(['useful of all bytes', of.counters.efficiency, EIGHT[5], formatShare(of.counters.efficiency)]);
  }
  if (rows.length === 0) return null;
  return shareRows(`Memory efficiency: ${clean(of.device)}`, legend([
    ['of the peak bandwidth, while it runs', EIGHT[0]], ['row hits', EIGHT[6]], ['useful bytes', EIGHT[5]]]), rows);
}

// Shows how far clock samples are from the fitted line, next to the claimed bounds.
function clockResiduals() {
  const clocks = report.clocks.filter((clock) => clock.valid).slice(0, 4);
  if (clocks.length === 0) return null;
  const rows = clocks.flatMap((clock) => [
    ['residuals', [clock.residual_p50_ns, clock.residual_p99_ns, clock.residual_max_ns]],
    ['bounds', [clock.bound_p50_ns, clock.bound_p99_ns, clock.bound_max_ns]],
    ['round trip', [clock.round_trip_min_ns, clock.round_trip_median_ns]],
  ].map(([what, values]) => [clocks.length > 1 ? `${shortened(clean(clock.device), 24)} ${what}` : what, values]));
  const all = rows.flatMap(([, values]) => values).filter((value) => value > 0);
  if (all.length === 0) return null;
  const from = Math.min(...all) / 2, to = Math.max(...all) * 2;
  return plot('Clock: residuals, bounds and round trips', h('span', {class: 'dim'}, shortened(clocks.map((clock) =>
    `${clean(clock.device)}: ${formatCount(clock.samples_used)} samples, ${clock.rate_ppm.toFixed(1)} ppm`).join('; '), 120)),
  (g, box) => {
    const left = besideLabels(g, box, rows.map(([label]) => label), 20);
    const x = logScale(from, to, left.left, left.right);
    frame(g, left, x, null, {x: formatNs});
    const height = (box.bottom - box.top) / rows.length;
    return rows.map(([label, values], i) => {
      const y = box.top + (i + 0.5) * height;
      rowLabel(g, left, label, y);
      const at = values.map((value) => x(Math.max(from, value)));
      g.fillStyle = ink('idle');
      g.fillRect(at[0], y - 1.5, Math.max(1, at[at.length - 1] - at[0]), 3);
      const colours = values.length === 2 ? [0, 6] : [0, 1, 2];
      points(g, at.map((px, k) => [px, y, classColour(colours[k])]), 4);
      g.fillStyle = ink('dim');
      write(g, values.map(formatNs).join(' · '), left.left + 4, y - 12, box.right - left.left - 4, {free: true});
      const names = values.length === 2 ? ['least', 'median'] : ['p50', 'p99', 'longest'];
      return {x: 4, y: y - height / 2, w: box.right - 4, h: height, text: listed(label, values.map((value, k) =>
        `${names[k]}: ${formatNs(value)}`))};
    });
  }, legend([['p50 (least)', classColour(0)], ['p99', classColour(1)], ['longest', classColour(2)],
             ['median', classColour(6)]]));
}

function clockBounds() {
  const {jobs} = tables;
  if (jobs.rows === 0 || !report.clocks.some((clock) => clock.valid)) return null;
  const at = jobs.num('doorbell'), flags = jobs.num('flags');
  const bound = [...Array(jobs.rows).keys()].filter((j) => flags[j] & 2).map((j) => [
    at[j] - series.begin, Math.max(jobs.num('doorbell_lo')[j], jobs.num('doorbell_hi')[j]), jobs.num('job')[j]])
      .filter(([, ns]) => isKnown(ns));
  if (bound.length === 0) return null;
  const most = Math.max(...bound.map(([, ns]) => ns), 1);
  const residuals = report.clocks.filter((clock) => clock.valid).map((clock) =>
      `${clean(clock.device)}: residuals ${formatNs(clock.residual_p50_ns)} p50, ${
          formatNs(clock.residual_max_ns)} largest, of ${formatCount(clock.samples_used)} samples`);
  return plot('Bounds of device times, by job', h('span', {class: 'dim'}, shortened(residuals.join('; '), 120)),
      (g, box) => {
        const x = xTime(box), y = scale(0, most * 1.3, box.bottom, box.top);
        frame(g, box, x, y, {x: formatNs, y: formatBound});
        points(g, bound.map(([time, ns]) => [x(time), y(ns), classColour(0)]), 2.5);
        return bound.map(([time, ns, job]) => around(x(time), y(ns), `job ${job} at ${formatNs(time)}: ${formatBound(ns)}`));
      });
}

export function drawCharts() {
  const shown = series.units.slice(0, MOST_UNITS);
  replaceChildren(byId('charts'), h('div', {class: 'charts'},
      report.transfers.map(throughput), shown.map(utilisation), stageLatencies(), latencyQuantiles(),
      report.transfers.map(sizes), data.devices.map(roofline), report.memory.map(memoryEfficiency), clockResiduals(), clockBounds()));
  for (const canvas of byId('charts').querySelectorAll('canvas')) {
    canvas.dispatchEvent(new Event('draw'));
  }
}
