// SPDX-License-Identifier: Apache-2.0
//
// Formats quantities and names for display.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

// Makes invisible characters of a name visible, since names in a trace may be anything and must not
// hide, move or reorder the text around them.
export function clean(name) {
  return String(name)
      .replace(HIDDEN, (c) => '⟨' + c.codePointAt(0).toString(16).toUpperCase() + '⟩')
      .replace(/(\p{M}{2})\p{M}+/gu, '$1…');
}

// Shortens a text at its end to at most `most` characters.
export function shortened(name, most) {
  const all = Array.from(name.slice(0, 2 * most + 2));
  return all.length <= most ? name : all.slice(0, most - 1).join('').trimEnd() + '…';
}

const SCALES = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// A bound of more than three years has no information: analysis/rows/unknown.h.
const UNKNOWN_NS = 1e17;
export const isKnown = (ns) => Number.isFinite(ns) && Math.abs(ns) < UNKNOWN_NS;

// Formats with four digits and a unit.
export function formatNs(ns) {
  if (!isKnown(ns)) return 'unknown';
  const size = Math.abs(ns);
  const [scale, unit] = SCALES.find(([s]) => size >= s * 0.99995) || SCALES[3];
  if (scale === 1) return Math.round(ns) + ' ns';
  const value = ns / scale;
  const digits = Math.max(0, 3 - Math.max(0, Math.floor(Math.log10(Math.abs(value) + 1e-12))));
  return value.toFixed(digits) + ' ' + unit;
}

// Formats a duration of the report, {ns, lo_ns, hi_ns}, with its bound if it has one.
export function formatSpan(span) {
  if (span.lo_ns === undefined) return formatNs(span.ns);
  if (span.lo_ns === null || span.hi_ns === null) return formatWithBound(span.ns, Infinity);
  return formatWithBound(span.ns, Math.max(span.ns - span.lo_ns, span.hi_ns - span.ns));
}

export function formatWithBound(ns, bound) {
  if (!(bound > 0) || !isKnown(ns)) return formatNs(ns);
  if (!isKnown(bound)) return formatNs(ns) + ' ±unknown';
  const [scale, unit] = SCALES.find(([s]) => Math.abs(ns) >= s) || SCALES[3];
  const wide = bound / scale;
  const digits = scale === 1 ? 0 : Math.min(3, Math.max(0, Math.ceil(-Math.log10(wide))));
  const up = Math.ceil(wide * 10 ** digits - 1e-9) / 10 ** digits;
  return `${(ns / scale).toFixed(digits)} ±${up.toFixed(digits)} ${unit}`;
}

export const formatBound = (ns) => (isKnown(ns) ? '±' + formatNs(ns) : 'unknown');

export function formatCount(count) {
  return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

export function formatBytes(bytes) {
  if (bytes < 1024) return bytes + ' B';
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let i = -1;
  do {
    bytes /= 1024;
    ++i;
  } while (bytes >= 1024 && i < units.length - 1);
  return bytes.toFixed(2) + ' ' + units[i];
}

export function formatRate(perSecond, unit) {
  const scales = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
  const [scale, prefix] = scales.find(([s]) => perSecond >= s) || scales[5];
  return `${Number((perSecond / scale).toPrecision(3))} ${prefix}${unit}/s`;
}

export function formatShare(share) {
  if (!(share >= 0)) return '-';
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  return (share * 100).toFixed(1) + ' %';
}

// The report's text begins in lower case, since it is the rest of a sentence there.
export function sentence(text) {
  return text === '' ? '' : text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
