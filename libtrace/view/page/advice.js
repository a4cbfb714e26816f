// SPDX-License-Identifier: Apache-2.0
//
// Advice for each class of time in the report. The most that a run could gain is the time of the
// class; the advice is general, but the figures come from the report.

import {report} from './data.js';
import {clean, formatRate, formatShare, formatSpan, sentence} from './text.js';

// Returns the direction that took the most time over all devices.
function busiestDirection() {
  const all = report.transfers.flatMap(
      (of) => of.directions.map((direction) => ({device: of.device, ...direction})));
  return all.sort((a, b) => b.time.ns - a.time.ns)[0];
}

function topOp(accept) {
  const ops = report.op_groups.filter(accept);
  return ops.length ? ops[0] : null;
}

const dmaUnits = () => new Set(report.transfers.flatMap(
    (of) => of.directions.map((direction) => of.device + '/' + direction.unit)));
export const isTransfer = (op) => dmaUnits().has(op.device + '/' + op.unit);

function ofTransfers() {
  const direction = busiestDirection();
  const op = topOp(isTransfer);
  const where = [];
  if (op) where.push(`${clean(op.op)} (${formatShare(op.share)} of command time)`);
  if (!direction || !direction.of_link) {
    return {where, what: 'Move fewer bytes, or move them while the device computes.'};
  }
  const rate = formatRate(direction.bytes_per_s, 'B');
  const ceiling = direction.payload_ceiling_bytes_per_s;
  const near = ceiling > 0 && direction.bytes_per_s > 0.8 * ceiling;
  where.push(`${clean(direction.unit)}: ${rate} while it runs, of ` +
             `${formatRate(ceiling, 'B')} that packets leave for data`);
  const both = report.breakdown.overlap;
  const overlap = both.ns > 0 ? `${formatSpan(both)} overlap now` : 'nothing overlaps now';
  return {where, what: near ?
      `The link is full while it is used: move fewer bytes, keep data on the device, or ` +
      `transfer while it computes (${overlap}).` :
      `The link is not full while it is used: larger transfers, more of them at once, or ` +
      `transfer while the device computes (${overlap}).`};
}

function ofComputing() {
  const op = topOp((each) => !isTransfer(each));
  if (!op) return {where: [], what: 'Faster or fewer ops.'};
  const where = [`${clean(op.op)} on ${clean(op.unit)}, ${formatShare(op.share)} of command time`];
  const peak = op.peak_share === null ? '' : `, at ${formatShare(op.peak_share)} of its peak`;
  return {where, what: `Paced by ${clean(op.limiter) || 'itself'}${peak}: fewer or larger ops, ` +
                       'or ops that ask less of what paces them.'};
}

function stages(...names) {
  return names.map((name) => [name, report.latency.stages[name]])
      .filter(([, stage]) => stage && stage.count > 0 && stage.p50)
      .map(([name, stage]) => `${name.replaceAll('_', ' ')}: ${formatSpan(stage.p50)} at p50`);
}

const OF_CLASS = {
  computing: ofComputing,
  transferring: ofTransfers,
  holding: () => ({
    where: stages('doorbell_to_fetch', 'fetch_to_start'),
    what: 'Jobs wait on the device: shorter chains of dependencies, more queues.'}),
  unseen: () => ({
    where: stages('submit_to_consumed'),
    what: 'Several requests at once, or fewer and larger ones. What the device does is not recorded.'}),
  notifying: () => ({
    where: stages('irq_to_handler', 'consumed_to_wake'),
    what: 'Wait for fewer completions, or later: several jobs with one wait.'}),
  ringing: () => ({where: [], what: 'Fewer, larger submissions.'}),
  driver: () => ({
    where: stages('submit_to_doorbell'),
    what: 'Fewer, larger submissions; submit while the device works.'}),
  runtime: () => ({
    where: report.calls.filter((call) => call.jobs > 0).slice(0, 1).map(
        (call) => `${clean(call.call)}: ${formatSpan(call.time.total)} in all`),
    what: 'Submit ahead, so that calls run while the device works; replay graphs.'}),
  application: () => ({
    where: [],
    what: 'The devices wait for the program: prepare the next work while they run.'}),
};

const ofMemory = () => {
  const op = topOp((each) => !isTransfer(each));
  return {where: op ? [`${clean(op.op)} on ${clean(op.unit)}`] : [],
          what: 'Fewer bytes from the device\'s memory: fused ops, smaller types, tiles that stay on the chip.'};
};
const OF_RESOURCE = {
  'pcie.bandwidth': ofTransfers,
  'pcie.latency': () => ({where: [], what: 'Fewer, larger transfers and submissions; fetch ahead.'}),
  'pcie.tags': () => ({where: [], what: 'Larger reads of host memory, or more that may be outstanding.'}),
  'dram.bandwidth': ofMemory,
  'dram.latency': () => ({where: [], what: 'Fewer, larger commands, or more of them at once.'}),
  'dram.rowcost': () => ({where: [], what: 'Read and write memory in the order of its rows.'}),
  scratchpad: () => ({where: [], what: 'Fewer passes over on-chip data; smaller types.'}),
  'matrix.rate': ofComputing,
  'vector.rate': ofComputing,
  dispatch: () => ({where: [], what: 'Fewer, larger commands.'}),
  throttle: () => ({where: [], what: 'More power or better cooling, or less work at once.'}),
  'host.submit': OF_CLASS.runtime,
  'host.speed': OF_CLASS.application,
  'host.wake': OF_CLASS.notifying,
};

const CHANGES = {
  copies: 'Batch small copies', waits: 'Wait less often', overlap: 'Overlap copies',
  allocation: 'Allocate once', pageable: 'Pin memory', host: 'Keep the host ahead',
  batch: 'Batch jobs', launch: 'Merge commands', rows: 'Order rows', fusion: 'Fuse ops',
  'wake-up': 'Poll for the end',
};

// Returns possible changes of the run with the gains that the edited graphs predict, the largest
// first, in the format of predicted().
export function changes() {
  return report.advice.map((advice) => ({
    title: CHANGES[advice.kind] || clean(advice.kind), about: clean(advice.whatif),
    gain: {share: advice.share, lo: advice.share_lo, hi: advice.share_hi},
    what: `${sentence(clean(advice.text)).replace(/\.$/, '')}: ${clean(advice.change)}.`,
    where: [...advice.ops, ...advice.calls, ...advice.ranges].slice(0, 3).map(clean)}));
}

const LEAST_GAIN = 0.0005, LEAST_HIGH = 0.01;

// Returns what the what-if predicts, the largest gain first: [{title, about, gain: {share, lo, hi},
// what, where}]. Empty if the trace is not complete enough.
export function predicted() {
  return report.limiter.gains
      .filter((gain) => gain.share >= LEAST_GAIN || gain.share_hi >= LEAST_HIGH)
      .map((gain) => ({title: clean(gain.name), about: gain.resource,
                       gain: {share: gain.share, lo: gain.share_lo, hi: gain.share_hi},
                       ...(OF_RESOURCE[gain.resource] || (() => ({what: '', where: []})))()}));
}

// Returns [{name, text, span, share, where, what}], the largest first.
export function ranked() {
  return Object.entries(report.breakdown.classes)
      .filter(([, span]) => span.ns > 0)
      .map(([name, span]) => ({name, span, share: span.share, ...(OF_CLASS[name] || (() => ({
        where: [], what: ''})))()}))
      .sort((a, b) => b.share - a.share);
}
