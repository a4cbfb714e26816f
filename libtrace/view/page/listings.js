// SPDX-License-Identifier: Apache-2.0
//
// The report's tables, and how far it can be trusted.

import {data, report} from './data.js';
import {byId, h, replaceChildren, tableOf} from './dom.js';
import {absentCard} from './absent.js';
import {phasesCard} from './phases.js';
import {bytes, cell, count, ns, rate, share, span} from './sort.js';
import {clean, formatBound, formatBytes, formatCount, formatNs, formatShare, formatSpan,
        shortened} from './text.js';

const MOST = 200;
const MOST_STACKS = 20;

// Returns a card with a table of `list`, which shows its first rows.
function card(title, list, head, row, note, wide, most = MOST) {
  if (list.length === 0) return null;
  const more = list.length > most ? `${note ? ';' : ''} the first ${most} of ${formatCount(list.length)}` : '';
  return h('article', {class: wide ? 'card wide' : 'card'},
           h('h3', null, title, h('span', {class: 'dim'}, `${note ? ' ' + note : ''}${more}`)),
           tableOf(head, list.map(row), null, most));
}

const name = (text, most = 80) => h('span', {class: 'name', title: shortened(clean(text), 2000)}, shortened(clean(text), most));
const part = (stats, key) => (stats[key] ? span(stats[key]) : '');

function unitsCard() {
  const rows = report.utilisation.flatMap((use) => use.units.map((unit) => ({use, unit})));
  return card('Units', rows,
      [['unit'], ['busy', 'n'], ['stalled', 'n'], ['idle', 'n'], ['commands', 'n'],
       ['most stalled by'], ['rate while busy', 'n'], ['of its peak', 'n']],
      ({use, unit}) => {
        const [cause, most] = Object.entries(unit.stalls).sort((a, b) => b[1].ns - a[1].ns)[0] || [];
        return [name(`${report.utilisation.length > 1 ? use.device + ' ' : ''}${unit.unit}`),
                share(unit.busy.share), share(unit.stalled.share),
                share(unit.idle.share), count(unit.commands),
                most && most.ns > 0 ? `${clean(cause)} ${formatShare(most.share)}` : '',
                unit.busy_work_per_s ? rate(unit.busy_work_per_s, clean(unit.work_unit)) : '',
                unit.busy_peak_share ? share(unit.busy_peak_share) : ''];
      }, 'of the time from the first fetch to the last completion');
}

function latencyCard() {
  const stages = Object.entries(report.latency.stages).filter(([, stage]) => stage.count > 0);
  const whole = [['API call to completion consumed', report.latency.api_to_consumed],
                 ['API call to the waiter\'s return', report.latency.api_to_return]].filter(
      ([, stats]) => stats.count > 0);
  return card('Latency', [...stages, ...whole],
      [['stage'], ['where'], ['n', 'n'], ['p50', 'n'], ['p90', 'n'], ['p99', 'n'], ['longest', 'n']],
      ([stage, stats]) => [stage.replaceAll('_', ' '), stats.where || '', count(stats.count),
        part(stats, 'p50'), part(stats, 'p90'), part(stats, 'p99'), part(stats, 'max')],
      `${formatCount(report.latency.jobs_whole)} of ${formatCount(report.latency.jobs)} jobs seen on both sides`, true);
}

function transfersCard() {
  const rows = report.transfers.flatMap((of) => of.directions.flatMap((direction) => [
    {direction, size: direction, all: true},
    ...direction.sizes.map((size) => ({direction, size}))])).filter(({size}) => size.count > 0);
  return card('Transfers', rows,
      [['direction'], ['size'], ['transfers', 'n'], ['bytes', 'n'], ['time', 'n'], ['achieved', 'n'],
       ['of link', 'n']],
      ({direction, size, all}) => [name(direction.unit), all ? cell(Infinity, 'all') : size.up_to_bytes ?
          cell(size.up_to_bytes, `≤ ${formatBytes(size.up_to_bytes)}`) : cell(1e300, 'larger'), count(size.count),
        bytes(size.bytes), span(size.time), rate(size.bytes_per_s, 'B'),
        size.of_link === null || size.of_link === undefined ? '' : share(size.of_link)]);
}

function memoryCard() {
  const rows = report.memory.flatMap((of) => [...of.units, of.all]).filter(
      (use) => use.moved_bytes > 0);
  return card('Device memory', rows,
      [['by'], ['moved', 'n'], ['row hits', 'n'], ['bandwidth', 'n'], ['of peak', 'n']],
      (use) => [name(use.by), bytes(use.moved_bytes),
        use.row_hits + use.row_misses > 0 ?
            share(use.row_hits / (use.row_hits + use.row_misses)) : '',
        rate(use.bytes_per_s, 'B'), use.of_peak === undefined ? '' : share(use.of_peak)],
      'moved in whole bursts while the unit ran; "all" over the window');
}

const BACK = ' \u2190 ';
const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);
const use = (of) => [count(of.calls), ns(of.time_ns)];

// From where in the program the API calls were made, if the trace has stacks.
function sitesCard() {
  const found = report.call_sites;
  if (!found) return null;
  return card('Call sites', found.sites,
      [['called from'], ['in'], ['calls', 'n'], ['time', 'n'], ['device', 'n'], ['jobs', 'n'],
       ['failed', 'n']],
      (site) => [name(site.site), h('span', {class: 'name', title: clean(site.object)},
                                    shortened(clean(baseName(site.object)), 40)), ...use(site),
        site.device_ns > 0 ? ns(site.device_ns) : '', site.jobs ? count(site.jobs) : '',
        site.failed ? count(site.failed) : ''],
      found.without > 0 ? `${formatCount(found.without)} call${found.without === 1 ? '' : 's'} of no known stack` : '');
}

// Returns a line with the callers from the call site on, which opens to show all frames.
function stackOf({frames, site}) {
  const names = frames.map(clean);
  return h('details', {class: 'frames'},
           h('summary', {title: shortened(names.slice(site).join(BACK), 2000)}, names[site], h('span', {class: 'dim'},
               names.slice(site + 1).map((each) => BACK + each))),
           h('ol', null, names.map((each, i) => h('li', {class: i < site ? 'dim' : null}, each))));
}

function stacksCard() {
  const found = report.call_sites;
  if (!found) return null;
  return card('Call stacks', found.stacks,
      [['stack'], ['frames', 'n'], ['calls', 'n'], ['time', 'n']],
      (stack) => [stackOf(stack), count(stack.frames.length), ...use(stack)],
      'by time; from the call\'s site outwards, click for all frames', false, MOST_STACKS);
}

// show(phase) shows it in the timeline.
export function drawTables(show) {
  const ops = card('Ops by device time', report.op_groups,
      [['op'], ['unit'], ['count', 'n'], ['time', 'n'], ['share', 'n'], ['longest', 'n'],
       ['busy', 'n'], ['limited by'], ['of peak', 'n']],
      (op) => [name(op.op), name(op.unit), count(op.count), span(op.time),
        share(op.share), span(op.longest),
        op.busy_share === null ? '' : share(op.busy_share), clean(op.limiter),
        op.peak_share === null ? '' : share(op.peak_share)],
      'start to end, with stalls; busy: of that and the wait before; of peak: of the unit\'s, stalls in it', true);
  const ranges = card('Ranges', report.range_groups,
      [['range'], ['count', 'n'], ['host time', 'n'], ['longest', 'n'], ['jobs', 'n'],
       ['commands', 'n'], ['device time', 'n']],
      (range) => [h('span', null, '\u00a0'.repeat(3 * Math.min(range.depth, 10)), name(range.range)),
        count(range.count), ns(range.host_ns), ns(range.longest_ns),
        count(range.jobs), count(range.commands), span(range.device_time)],
      'host time inclusive; device time of the work submitted inside');
  const calls = card('API calls', report.calls,
      [['call'], ['count', 'n'], ['total', 'n'], ['p50', 'n'], ['p99', 'n'], ['longest', 'n'],
       ['bytes', 'n'], ['jobs', 'n'], ['failed', 'n']],
      (call) => [name(call.call), count(call.time.count), part(call.time, 'total'),
        part(call.time, 'p50'), part(call.time, 'p99'), part(call.time, 'max'),
        call.bytes ? bytes(call.bytes) : '', call.jobs ? count(call.jobs) : '',
        call.failed ? count(call.failed) : '']);
  replaceChildren(byId('tables'), h('div', {class: 'tables'}, ops, phasesCard(show), calls, sitesCard(),
                                    stacksCard(), ranges, latencyCard(), unitsCard(), transfersCard(), memoryCard(), absentCard()));
}

function clocksCard() {
  return card('Device clocks', report.clocks,
      [['device'], ['rate', 'n'], ['samples', 'n'], ['rejected', 'n'], ['round trip', 'n'],
       ['residual p99', 'n'], ['bound p50', 'n'], ['p99', 'n'], ['largest', 'n'], ['outside', 'n']],
      (clock) => (clock.valid ? [name(clock.device), cell(clock.rate_ppm, `${clock.rate_ppm.toFixed(3)} ppm`),
        count(clock.samples), count(clock.samples_rejected),
        ns(clock.round_trip_median_ns), ns(clock.residual_p99_ns),
        cell(clock.bound_p50_ns, formatBound(clock.bound_p50_ns)), cell(clock.bound_p99_ns, formatBound(clock.bound_p99_ns)),
        cell(clock.bound_max_ns, formatBound(clock.bound_max_ns)), count(clock.events_outside)] :
        [name(clock.device), name(clock.error, 90), '', '', '', '', '', '', '', '']));
}

function tracerCard() {
  const {tracer} = report;
  if (!tracer.known) return null;
  const rows = [
    ['CPU of the daemon', `${formatNs(tracer.cpu_ns)}, ${formatShare(tracer.cpu_share)} of one CPU`],
    ['probes', `${formatCount(tracer.probe_runs)} times, ${formatNs(tracer.probe_ns)} in all`],
    ['written', `${formatBytes(tracer.bytes_written)}, ${tracer.bytes_per_row.toFixed(1)} bytes a row`],
    ...(tracer.calibrated ? [
      ['the run is longer by', `${formatSpan(tracer.run)}, ${formatShare(tracer.run_share)} of it`],
      ['events on traced threads', formatSpan(tracer.events)],
      ['the recorder\'s work', `${formatSpan(tracer.recorder)}, woken ${formatCount(tracer.wakes)} times`],
    ] : [['', 'its effect on the run was not calibrated in this recording']])];
  return card('The tracer\'s own cost', rows, [['what'], ['how much']], (row) => row);
}

export function drawTrust() {
  const {verdict, losses, causality, conservation, trace, tracer} = report;
  const attached = tracer.probes.filter((probe) => !probe.attached);
  const counted = h('article', {class: 'card'}, h('h3', null, 'Order of events'),
      h('p', null, `${formatCount(causality.constraints)} pairs in ${formatCount(causality.jobs)} jobs: ` +
        `${formatCount(causality.certain)} certain, ${formatCount(causality.possible)} within the ` +
        `clocks' bounds, ${formatCount(causality.violations)} violations`),
      causality.examples.slice(0, 20).map((each) => h('p', {class: 'caveat fault'},
        `${clean(each.device)} job ${each.job}: ${clean(each.what)} by at least ${formatNs(each.by_ns)}`)),
      h('p', {class: 'dim'}, `Recorded on ${clean(trace.host)}, ${clean(trace.kernel)}, ` +
        `${clean(trace.cpu)}, ${trace.num_cpus} CPU${trace.num_cpus === 1 ? '' : 's'}; version ${clean(trace.tool_version)}. ` +
        `Times count from ${data.base_ns} ns of CLOCK_MONOTONIC.`));
  const file = h('article', {class: 'card'}, h('h3', null, 'The file'),
      h('p', null, `${formatCount(losses.damaged_stretches)} damaged stretches, ` +
        `${formatBytes(losses.damaged_bytes)}; ${formatCount(losses.missing_packets)} packets missing, ` +
        `${formatCount(losses.bad_packets)} refused; ${formatCount(losses.unusable_rows)} rows not usable`));
  const list = [
    card('Caveats', verdict.caveats, [['kind'], ['what']],
         (caveat) => [clean(caveat.kind), h('span', {class: caveat.fault ? 'caveat fault wrap' : 'wrap'},
                                            clean(caveat.text))], 'of the verdict'),
    clocksCard(),
    card('Losses at each hop', losses.hops,
         [['hop'], ['in', 'n'], ['out', 'n'], ['lost', 'n'], ['refused', 'n']],
         (hop) => [name(hop.hop), count(hop.in), count(hop.out), count(hop.lost), count(hop.bad)]),
    card('Spans of losses', losses.spans, [['hop'], ['events', 'n'], ['from, ns', 'n'], ['to, ns', 'n']],
         (each) => [name(each.hop), count(each.count), each.first_at_ns ?? cell(null, 'unknown'),
                    each.last_at_ns ?? cell(null, 'unknown')]),
    file, counted,
    card('Conservation laws', conservation, [['law'], ['state'], ['checked', 'n'], ['broken', 'n']],
         (law) => [h('span', {class: 'wrap'}, clean(`${law.device ? law.device + ': ' : ''}${law.text}`),
                     law.note ? h('span', {class: 'dim'}, ': ' + clean(law.note)) : null),
                   law.state, count(law.checked), count(law.broken)]),
    tracerCard(),
    card('Sources that were not attached', attached, [['source'], ['why']],
         (probe) => [name(probe.probe), h('span', {class: 'wrap'}, clean(probe.reason || ''))]),
  ];
  replaceChildren(byId('trust'), h('div', {class: 'tables'}, list));
}
