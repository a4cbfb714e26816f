// SPDX-License-Identifier: Apache-2.0
//
// The first screen: what limits this run, where, how certain that is, and what would help.

import {data, report, sharesOf} from './data.js';
import {ink, textOn, timeColour, unitColours} from './colours.js';
import {forgetLabels, widest, write} from './labels.js';
import {ns, share, span} from './sort.js';
import {explain, explainChildren} from './tooltip.js';
import {byId, h, replaceChildren, tableOf} from './dom.js';
import {changes, predicted, ranked} from './advice.js';
import {clean, formatBound, formatCount, formatNs, formatShare, formatSpan, sentence,
        shortened} from './text.js';

const STANDING = {
  certain: ['Certain', 'Nothing is missing, and no other class could be the largest.'],
  close: ['Close', 'Nothing is missing, but another class is within the clocks\' bounds.'],
  holds: ['Holds', 'Something is missing that could not change the answer.'],
  inconclusive: ['Withheld', 'The trace does not hold enough to say.'],
};

function evidence() {
  const {breakdown, verdict} = report;
  if (verdict.class === null) return null;
  const possible = verdict.possible[verdict.class];
  const lo = formatNs(possible.lo_ns), hi = formatNs(possible.hi_ns);
  return h('p', {class: 'dim'},
           `${sentence(clean(classText(verdict.class))).slice(0, -1)} for ` +
           (lo === hi ? formatSpan(breakdown.classes[verdict.class]) : `${lo} to ${hi}`) +
           ` of ${formatNs(breakdown.run_ns)}, whatever clocks and losses hide.`);
}

const classText = (name) => (data.classes.find((each) => each.name === name) || {text: name}).text;

// The tracer's own share: of the run if it was calibrated, otherwise of a CPU.
function tracerTile() {
  const {tracer} = report;
  if (tracer.calibrated) {
    return ['Tracer', formatShare(tracer.run_share), `the run is ${formatSpan(tracer.run)} longer`];
  }
  if (!tracer.known) return ['Tracer', 'unknown', 'the recording did not end in good order'];
  return ['Tracer', formatShare(tracer.cpu_share + tracer.probe_share),
          `of a CPU; probes ${formatNs(tracer.probe_ns)} in all`];
}

function tiles() {
  const {losses, causality, clocks, breakdown, trace} = report;
  const damage = losses.damaged_stretches + losses.bad_packets + losses.missing_packets;
  const lost = losses.lost + losses.bad + losses.unusable_rows;
  const bounds = clocks.filter((clock) => clock.valid).map(
      (clock) => clock.bound_p99_ns ?? Infinity);
  const recorded = trace.stop_at_ns ? `of ${formatNs(trace.stop_at_ns - trace.start_at_ns)} recorded` :
      'the recording did not end in good order';
  const broken = report.conservation.filter((law) => law.state === 'broken').length;
  return [
    ['Run', formatNs(breakdown.run_ns), recorded],
    [...tracerTile()],
    ['Lost', lost + damage === 0 ? 'none' : formatCount(lost),
     damage > 0 ? `file damaged at ${formatCount(damage)} places` :
         lost > 0 ? 'where and when: see Trust' : losses.has_accounts ? 'every hop accounts for its events' : 'hops unknown',
     lost + damage > 0],
    ['Clock', bounds.length ? formatBound(Math.max(...bounds)) :
        clocks.length ? 'unknown' : 'host only', 'of device times, p99',
     clocks.some((clock) => !clock.valid)],
    ['Checks', causality.violations + broken === 0 ? 'hold' :
        `${formatCount(causality.violations + broken)} broken`,
     `${formatCount(causality.constraints)} orders, ${report.conservation.length} laws`,
     causality.violations + broken > 0],
  ].map(([name, value, note, bad]) => h('div', {class: bad ? 'tile bad' : 'tile'},
                                        h('span', {class: 'tile-name'}, name),
                                        h('strong', null, value),
                                        h('span', {class: 'dim'}, note)));
}

// Returns the sentence without its caveats, which are listed separately.
function headline() {
  const {verdict} = report;
  const text = clean(verdict.text).replace(/(\d) %/g, '$1\u00a0%');
  if (verdict.caveats.length === 0) return sentence(text);
  if (verdict.standing === 'inconclusive') {
    return sentence('no verdict: ' + text.replace(/^(inconclusive|not to be seen in what was recorded): /, '').split('; ').pop());
  }
  return sentence(text.replace(/(, whatever is missing|, although).*$/, '$1').replace(
      /, although$/, ''));
}

// What limits the run, by what-if.
function limits() {
  const {limiter} = report;
  if (limiter.standing !== 'named' && limiter.standing !== 'several') return null;
  return h('p', {class: 'limits'}, sentence(clean(limiter.text).split('; ')[0].replace(
      /(\d) %/g, '$1\u00a0%')));
}

function verdictCard() {
  const {verdict} = report;
  const [standing, why] = STANDING[verdict.standing] || [verdict.standing, ''];
  const shown = verdict.caveats.slice(0, 3);
  return h('article', {class: 'card verdict', 'data-fault': verdict.caveats.some(({fault}) => fault)},
           h('div', {class: 'verdict-text'},
             h('h2', null, headline(), ' ', h('span', {class: 'badge', title: why}, standing)),
             limits(), evidence(),
             shown.map((caveat) => h('p', {class: caveat.fault ? 'caveat fault' : 'caveat',
                                           title: clean(caveat.text)},
                                     h('b', null, clean(caveat.kind)), ' ', clean(caveat.text))),
             verdict.caveats.length > 3 ? h('p', {class: 'caveat'}, h('a', {href: '#trust'},
                 `${verdict.caveats.length - 3} more on the Trust view`)) : null),
           h('div', {class: 'tiles'}, tiles()));
}

function breakdownCard() {
  const {breakdown} = report;
  const entries = data.classes.map((each, index) => ({...each, index,
                                                      span: breakdown.classes[each.name]}));
  const shown = entries.filter((each) => each.span && each.span.ns > 0);
  const bar = explainChildren(h('div', {class: 'stack', role: 'img',
                        'aria-label': shown.map((each) => `${each.text} ${
                            formatShare(each.span.share)}`).join(', ')},
                shown.map((each) => {
                  const colour = timeColour(each.index);
                  return h('span', {style: {'flex-grow': String(Math.max(each.span.share, 0.002)),
                                            background: colour, color: textOn(colour)},
                                    'data-tip': `${each.text}: ${formatSpan(each.span)}, ${formatShare(each.span.share)}`},
                           each.span.share > 0.13 ? formatShare(each.span.share) : '');
                })));
  const rows = shown.sort((a, b) => b.span.ns - a.span.ns).map((each) => [
    h('span', null, h('i', {class: 'key', style: {background: timeColour(each.index)}}), each.text),
    share(each.span.share), span(each.span)]);
  return h('article', {class: 'card'}, h('h3', null, 'Where the time went'), bar,
           rows.length ? tableOf([['each instant counts once'], ['share', 'n'], ['time', 'n']], rows) :
           h('p', {class: 'dim'}, 'No device was used in what the trace holds.'));
}

// Draws how much of the run a change would save, with its bounds, as a bar.
function gainBar({title, gain}, most) {
  const at = (value) => `${(Math.max(0, value) / most * 100).toFixed(2)}%`, {lo, hi} = gain;
  const bar = h('span', {class: 'gain-bar', role: 'img', 'aria-label': title},
                h('i', {class: 'gain-fill', style: {width: at(gain.share)}}),
                h('i', {class: 'gain-range', style: {left: at(lo),
                                                     width: at(Math.max(0, hi) - Math.max(0, lo))}}));
  return explain(bar, () => [{x: 0, y: 0, w: bar.clientWidth, h: bar.clientHeight,
                              text: `${title}: saves ${formatShare(gain.share)} of the run, between ${between(lo, hi)}`}]);
}

const between = (lo, hi) => `${(Math.max(0, lo) * 100).toFixed(1)} to ${(hi * 100).toFixed(1)} %`;

// `explained` adds what to do about it.
function gainItem(item, most, explained) {
  return h('li', null,
           h('div', {class: 'gain'}, h('b', {class: 'gain-name', title: item.about || ''}, item.title),
             gainBar(item, most), h('b', {class: 'n'}, formatShare(item.gain.share)),
             h('span', {class: 'dim n', title: 'under other readings of what the trace leaves open'},
               between(item.gain.lo, item.gain.hi))),
           explained && item.what ?
             h('p', null, item.what, ' ', h('span', {class: 'dim'}, item.where.join('; '))) : null);
}

function mostItem(item) {
  return h('li', null,
           h('p', null, h('b', null, `at most ${formatShare(item.share)} `), item.title),
           h('p', null, item.what, ' ', h('span', {class: 'dim'}, item.where.join('; '))));
}

function helpCard() {
  const {limiter} = report;
  // Changes of the program come first, then faster parts: the gains of the two lists cannot be
  // compared.
  const first = changes().slice(0, isTall() ? 6 : 3);
  const gains = [...first, ...predicted()].slice(0, isTall() ? 12 : 6);
  if (gains.length > 0) {
    const most = Math.max(...gains.map(({gain}) => Math.max(gain.share, gain.hi)));
    const explained = isTall() ? 4 : gains.length > 3 ? 2 : 3;
    const item = (each, i) => gainItem(each, most, i < explained);
    const parts = gains.slice(first.length);
    const faster = `a part ${limiter.step}x as fast, whatever makes it so`;
    return h('article', {class: 'card'},
             h('h3', null, 'What would help', h('span', {class: 'dim'},
                 ` of the run saved by ${first.length > 0 ? 'each change alone' : faster}`)),
             first.length > 0 ? h('ol', {class: 'ranked'}, first.map(item)) : null,
             first.length > 0 && parts.length > 0 ? h('p', {class: 'dim group'}, `... and by ${faster}`) : null,
             parts.length > 0 ? h('ol', {class: 'ranked', start: first.length + 1},
                                  parts.map((each, i) => item(each, i + first.length))) : null);
  }
  const items = ranked().slice(0, 3).map((each) => ({...each, title: classText(each.name)}));
  const why = limiter.standing === 'inconclusive' ? ' at most: what is missing lets nothing be predicted' :
      ' and the most it could give';
  return h('article', {class: 'card'},
           h('h3', null, 'What would help', h('span', {class: 'dim'}, why)),
           items.length ? h('ol', {class: 'ranked'}, items.map(mostItem)) :
             h('p', {class: 'dim'}, 'Nothing to rank.'));
}

const LONGEST = 80;
const named = (name) => h('span', {class: 'name', title: shortened(clean(name), 2000)}, shortened(clean(name), LONGEST));

// Returns a link to the events with a name. Names for the rest of a list have no link.
const REST = new Set(['', '(others)']);
const linkOf = (name, go) => (REST.has(name) ? named(name || '(unnamed)') :
    h('button', {class: 'link name', type: 'button', title: shortened(clean(name), 2000), click: () => go(name)},
      shortened(clean(name), LONGEST)));

function pathTable(title, rows, go) {
  const shown = rows.slice(0, isTall() ? 9 : 4);
  if (shown.length === 0) return null;
  return h('div', null, tableOf([[title], ['where'], ['', ''], ['share', 'n'], ['time', 'n']],
      shown.map((each) => [
        go ? linkOf(each.name, go) : named(each.name), named(each.where),
        h('i', {class: 'meter', title: formatShare(each.share)}, h('i', {style: {width: `${(each.share * 100).toFixed(1)}%`}})),
        share(each.share), ns(each.ns)])));
}

function pathCard(searchFor, lightUp) {
  const {path} = data;
  if (!path.valid) {
    return h('article', {class: 'card'}, h('h3', null, 'Critical path'),
             h('p', {class: 'dim'}, sentence(`not known: ${clean(path.error)}`)));
  }
  return h('article', {class: 'card'},
           h('h3', null, 'Critical path', h('span', {class: 'dim'},
               ` the chain of ${formatCount(path.on_path)} of ${formatCount(path.events)} events ` +
               `that set the run's ${formatNs(path.run_ns)} `),
             h('button', {class: 'link', type: 'button', click: lightUp}, 'light it up in the timeline →')),
           h('div', {class: 'path'}, pathTable('by cause', path.causes, null),
             pathTable('by op', path.ops, searchFor),
             pathTable('by layer', path.layers, null) || pathTable('by API call', path.calls, searchFor)));
}

// Larger screens show more.
const isTall = () => innerHeight > 1000;

function opsCard(go) {
  const ops = report.op_groups.slice(0, isTall() ? 14 : 8);
  const rows = ops.map((op) => [
    linkOf(op.op, go), named(op.unit), share(op.share), span(op.time), named(op.limiter)]);
  return h('article', {class: 'card roomy'},
           h('h3', null, 'Most device time', h('span', {class: 'dim'},
               ` the first ${ops.length} of ${report.op_groups.length} ops`)),
           rows.length ? tableOf([['op'], ['unit'], ['share', 'n'], ['time', 'n'], ['limited by']],
                                 rows) :
           h('p', {class: 'dim'}, 'No command was recorded.'));
}

// Strips of the run: the classes of its time, and what each unit did.
function glanceCard(open) {
  const canvas = h('canvas', {class: 'glance', tabindex: '0', role: 'img',
                              'aria-label': 'The run from left to right: the classes of its time ' +
                                  'and what each unit did. Enter opens the timeline.'});
  canvas.addEventListener('click', (event) => {
    const box = canvas.getBoundingClientRect();
    open((event.clientX - box.left - glance.left) / (box.width - glance.left));
  });
  canvas.addEventListener('keydown', (event) => event.key === 'Enter' && open(0.5));
  explain(canvas, () => glance.marks);
  const colours = unitColours();
  return h('article', {class: 'card wide glance-card'},
           h('h3', null, 'The run at a glance', h('span', {class: 'dim'},
               ' click a place to see it in the timeline; units: '),
             ['busy', 'runs, held up', 'waits'].map((text, i) => [
               h('span', {class: 'dim key-of'}, h('i', {class: 'key', style: {background: colours[i]}}), text), ' '])),
           canvas);
}

// The left edge of the strips, and the texts of their marks.
let glance = {left: 0, marks: []};

function drawGlance(canvas) {
  const {series} = data;
  const units = series.units.slice(0, isTall() ? 12 : 5);
  const ratio = devicePixelRatio, width = canvas.clientWidth;
  // Use the remaining height of the first screen.
  const free = innerHeight - canvas.getBoundingClientRect().top - scrollY - 40;
  const fitting = Math.floor(free / (units.length + 1)) - 3;
  const STRIP = Math.max(isTall() ? 26 : 13, Math.min(64, fitting));
  const height = (units.length + 1) * (STRIP + 3);
  canvas.style.height = height + 'px';
  canvas.width = width * ratio, canvas.height = height * ratio;
  const g = canvas.getContext('2d');
  g.scale(ratio, ratio);
  g.font = '12px sans-serif', g.textBaseline = 'middle';
  forgetLabels(canvas);
  const nameOf = (unit) => (data.devices.length > 1 ? clean(data.devices[unit.device].name) + ' ' : '') +
      clean(data.devices[unit.device].units[unit.unit].name);
  const labels = ['time went to', ...units.map(nameOf)];
  const left = widest(g, labels, width / 4) + 10;
  const column = (width - left) / series.bins, bin = (series.end - series.begin) / series.bins;
  const marks = [];
  // `layers` has [name, shares, colour].
  const strip = (y, label, layers) => {
    g.fillStyle = ink('text');
    write(g, label, 0, y + STRIP / 2, left - 8);
    g.fillStyle = ink('track');
    g.fillRect(left, y, width - left, STRIP);
    for (let b = 0; b < series.bins; ++b) {
      let below = 0;
      for (const [, shares, colour] of layers) {
        if (shares[b] === 0) continue;
        g.fillStyle = colour;
        g.fillRect(left + b * column, y + STRIP * (1 - below - shares[b]), column + 0.5,
                   STRIP * shares[b]);
        below += shares[b];
      }
      marks.push({x: left + b * column, y, w: column, h: STRIP, text: () => [
        `${label}, ${formatNs(b * bin)} to ${formatNs((b + 1) * bin)}`,
        ...layers.filter(([, shares]) => shares[b] > 0).map(([name, shares]) => `${name}: ${formatShare(shares[b])}`)].join('\n')});
    }
  };
  strip(0, labels[0], series.classes.map((text, i) => [data.classes[i].text, sharesOf(text), timeColour(i)]));
  const [busy, heldUp, waits] = unitColours();
  units.forEach((unit, i) => strip((i + 1) * (STRIP + 3), labels[i + 1],
      [['busy', sharesOf(unit.busy), busy], ['runs, held up', sharesOf(unit.stalled), heldUp],
       ['waits', sharesOf(unit.waiting), waits]]));
  glance = {left, marks};
}

// open(share) shows a place of the run in the timeline, searchFor(name) searches, lightUp()
// highlights the path.
export function drawOverview(open, searchFor, lightUp) {
  replaceChildren(byId('overview'), verdictCard(),
                  h('div', {class: 'row'}, breakdownCard(), helpCard(), opsCard(searchFor)),
                  pathCard(searchFor, lightUp), glanceCard(open));
  resizeOverview();
}

export function resizeOverview() {
  const canvas = document.querySelector('.glance');
  if (canvas && canvas.clientWidth > 0) drawGlance(canvas);
}
