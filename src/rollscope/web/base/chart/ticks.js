/** Ticks of an axis and their labels: linear, log, symlog and time. A constant never gets ticks
 * like 1e-10. */

import { number } from "../text/format.js";

/** 1, 2 or 5 times a power of ten, at least `rough`. @param {number} rough */
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = rough / power;
  return (unit <= 1.0001 ? 1 : unit <= 2.0001 ? 2 : unit <= 5.0001 ? 5 : 10) * power;
}

/** About `want` round numbers inside [lo, hi].
 * @param {number} lo @param {number} hi @param {number} [want] */
export function linear(lo, hi, want = 4) {
  if (!(hi > lo)) return [lo];
  const step = niceStep((hi - lo) / want);
  const out = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++)
    out.push(Number((i * step).toPrecision(12)));
  return out;
}

/** Round whole numbers inside [lo, hi], for steps.
 * @param {number} lo @param {number} hi @param {number} want */
export function wholeNumbers(lo, hi, want) {
  const step = Math.max(1, niceStep((hi - lo) / want));
  const out = [];
  for (let i = Math.ceil(lo / step); i * step <= hi; i++) out.push(i * step);
  return out;
}

/** Powers of ten inside [lo, hi], thinned to about `want`. `minor` holds the multiples 2 to 9
 * between them.
 * @param {number} lo @param {number} hi @param {number} [want] */
export function log(lo, hi, want = 4) {
  const first = Math.ceil(Math.log10(lo) - 1e-9);
  const last = Math.floor(Math.log10(hi) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / want));
  const major = [];
  for (let p = first; p <= last; p += every) major.push(Number(`1e${p}`));
  const minor = [];
  if (every === 1) for (let p = first - 1; p <= last; p++) for (let m = 2; m <= 9; m++) minor.push(m * 10 ** p);
  const inside = minor.filter((v) => v >= lo && v <= hi);
  return { major: major.length >= 2 ? major : linear(lo, hi, want).filter((v) => v > 0), minor: inside };
}

/** Ticks of a symlog axis that is linear between -zone and zone.
 * @param {number} lo @param {number} hi @param {number} zone */
export function symlog(lo, hi, zone) {
  const out = new Set([0]);
  for (const [sign, end] of [
    [1, hi],
    [-1, -lo],
  ]) {
    if (!sign || !end || end < zone) continue;
    for (const v of log(zone, end, 2).major) out.add(sign * v);
  }
  return [...out].filter((v) => v >= lo && v <= hi).sort((a, b) => a - b);
}

const SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];

/** Round numbers of seconds inside [lo, hi].
 * @param {number} lo @param {number} hi @param {number} want */
export function seconds(lo, hi, want) {
  const rough = (hi - lo) / want;
  const step = SECONDS.find((s) => s >= rough) ?? niceStep(rough / 86400) * 86400;
  if (rough < 1) return linear(lo, hi, want);
  const out = [];
  for (let v = Math.ceil(lo / step) * step; v <= hi; v += step) out.push(v);
  return out;
}

/** Labels with as few digits as make them all differ; every label has the same number of digits.
 * @param {number[]} ticks */
export function labels(ticks) {
  for (const digits of [3, 4, 5, 6, 8]) {
    const out = ticks.map((t) => number(t, digits));
    if (new Set(out).size === out.length) return out;
  }
  return ticks.map(String);
}

/** A label for elapsed seconds: 90 s is "1:30", two hours are "2 h".
 * @param {number} s @param {number} span */
export function clockLabel(s, span) {
  const sign = s < 0 ? "\u2212" : "";
  const t = Math.round(Math.abs(s));
  if (span < 2) return `${sign}${number(Math.abs(s))} s`;
  if (span < 120 && t < 60) return `${sign}${t} s`;
  const [h, m, sec] = [Math.floor(t / 3600), Math.floor((t % 3600) / 60), t % 60];
  if (h >= 48) return `${sign}${Math.round(t / 864) / 100} d`;
  if (h) return m ? `${sign}${h} h ${m}` : `${sign}${h} h`;
  return sec ? `${sign}${m}:${String(sec).padStart(2, "0")}` : `${sign}${m} min`;
}

/** Round local times between two moments, in seconds since the epoch.
 * @param {number} lo @param {number} hi @param {number} want */
export function wallTicks(lo, hi, want) {
  const shift = -60 * new Date(lo * 1000).getTimezoneOffset();
  return seconds(lo + shift, hi + shift, want).map((t) => t - shift);
}

/** A label for local time: 14:05, with seconds on short spans, with the day on long ones.
 * @param {number} t @param {number} span @param {number} first */
export function wallLabel(t, span, first) {
  const at = new Date(t * 1000);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (span < 2) return `${number(t - first)} s`;
  if (span < 300) return `${time}:${two(at.getSeconds())}`;
  const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  return span > 86400 ? (at.getHours() || at.getMinutes() ? time : (days[at.getDay()] ?? time)) : time;
}
