/** Numbers, shares, durations and counts as people read them: three significant digits, U+2212 for
 * minus, the unit as a separate text. */

const MINUS = "\u2212";
const STEPS = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
];

/** @param {string} text */
const minus = (text) => text.replace(/^-/, MINUS);

/** Significant digits without trailing zeros: 0.5, 0.412, 12.3.
 * @param {number} v @param {number} digits */
function plain(v, digits) {
  const text = Math.abs(v) >= 10 ** digits ? Math.round(v).toString() : Number(v.toPrecision(digits)).toString();
  return text.includes("e") ? v.toFixed(Math.min(20, digits - Math.floor(Math.log10(Math.abs(v))))) : text;
}

/** Scientific notation: 1e-6, 3.2e-7. @param {number} v @param {number} digits */
function scientific(v, digits) {
  const [mantissa = "", power = ""] = v.toExponential(Math.max(0, digits - 1)).split("e");
  return `${Number(mantissa)}e${Number(power)}`;
}

/** A number without a unit. @param {number | null | undefined} v @param {number} [digits] */
export function number(v, digits = 3) {
  if (v === null || v === undefined) return "–";
  if (Number.isNaN(v)) return "NaN";
  if (!Number.isFinite(v)) return v > 0 ? "+Inf" : `${MINUS}Inf`;
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size < 1e-3) return minus(scientific(v, digits));
  for (const [step, letter] of /** @type {[number, string][]} */ (STEPS)) {
    if (size >= step * (1 - 0.5 / 10 ** digits))
      return size >= 1e15 ? minus(scientific(v, digits)) : minus(plain(v / step, digits)) + letter;
  }
  return minus(plain(v, digits));
}

/** A count with commas: 4,096. @param {number | null | undefined} n */
export function count(n) {
  if (n === null || n === undefined || Number.isNaN(n)) return "–";
  return minus(
    Math.round(n)
      .toString()
      .replace(/\B(?=(\d{3})+(?!\d))/g, ","),
  );
}

/** A share in per cent, without the sign: 31, 4.2, 0.13. @param {number} v */
export function percent(v) {
  const p = v * 100;
  const size = Math.abs(p);
  if (size !== 0 && size < 0.1) return number(p, 2);
  return minus(size < 9.95 ? Number(p.toFixed(1)).toString() : Math.round(p).toString());
}

/** A part of a total in per cent. Below 0.1 it is "<0.1", because more digits would only draw the
 * eye.
 * @param {number} v */
export const portion = (v) => (v > 0 && v < 0.001 ? "<0.1" : percent(v));

/** A duration: 240 ms, 18.4 s, 3 min 12 s, 2 h 14 min, 3 d 4 h.
 * @param {number | null | undefined} seconds @returns {string} */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0) return MINUS + duration(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${plain(seconds * 1e6, 3)} µs`;
  if (seconds < 0.9995) return `${plain(seconds * 1e3, 3)} ms`;
  if (seconds < 59.95) return `${plain(seconds, 3)} s`;
  const s = Math.round(seconds);
  if (s < 3600) return pair(s, 60, "min", 1, "s");
  if (s < 172800) return pair(s, 3600, "h", 60, "min");
  return pair(s, 86400, "d", 3600, "h");
}

/** Two units, or one if the rest is 0.
 * @param {number} s @param {number} big @param {string} bigName @param {number} small
 * @param {string} smallName */
function pair(s, big, bigName, small, smallName) {
  const first = Math.floor(s / big);
  const rest = Math.floor((s - first * big) / small);
  return rest ? `${first} ${bigName} ${rest} ${smallName}` : `${first} ${bigName}`;
}

/** A rounded duration, for "heard 4 s ago" and "41 min left". @param {number} seconds */
export function rough(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return pair(Math.round(s / 60) * 60, 3600, "h", 60, "min");
  return `${Math.round(s / 86400)} d`;
}

/** Bytes in units of 1000. @param {number} bytes */
export function bytes(bytes) {
  const steps = ["B", "kB", "MB", "GB", "TB", "PB"];
  let at = 0;
  while (Math.abs(bytes) >= 999.5 && at < steps.length - 1) [bytes, at] = [bytes / 1000, at + 1];
  return { text: minus(plain(bytes, 3)), unit: steps[at] ?? "" };
}

const SHARES = new Set(["share", "fraction", "ratio of samples", "%", "percent"]);

/** The number and its unit as two texts, because the unit has a lighter colour.
 * @param {number | null | undefined} v @param {string} [unit] @param {number} [digits]
 * @returns {{text: string, unit: string}} */
export function value(v, unit = "", digits = 3) {
  const finite = v !== null && v !== undefined && Number.isFinite(v);
  const word = quiet(unit);
  if (!finite) return { text: number(v), unit: "" };
  if (SHARES.has(unit))
    return {
      text:
        unit === "%" || unit === "percent"
          ? percent(/** @type {number} */ (v) / 100)
          : percent(/** @type {number} */ (v)),
      unit: "%",
    };
  if (unit === "seconds" || unit === "s") return lastWord(duration(v));
  if (unit === "ms" || unit === "milliseconds") return lastWord(duration(/** @type {number} */ (v) / 1000));
  if (unit === "bytes" || unit === "B") return bytes(/** @type {number} */ (v));
  return { text: number(v, digits), unit: word };
}

/** Units that add nothing to the name, as in "0.14 correlation". */
const QUIET = new Set(
  "1 number none count - dimensionless ratio reward score loss advantage norm gini correlation probability mixed".split(
    " ",
  ),
);

/** The unit to show, or "". @param {string} unit */
const quiet = (unit) => (QUIET.has(unit) || unit === "as logged" ? "" : unit);

/** @param {string} text */
function lastWord(text) {
  const at = text.lastIndexOf(" ");
  return { text: text.slice(0, at), unit: text.slice(at + 1) };
}

/** Number and unit as one text, for sentences and titles.
 * @param {number | null | undefined} v @param {string} [unit] */
export function worded(v, unit = "") {
  const shown = value(v, unit);
  return shown.unit ? `${shown.text} ${shown.unit}` : shown.text;
}

/** A difference with its sign; nothing where there is none.
 * @param {number | null} v @param {string} [unit] */
export const difference = (v, unit = "") => (v === null ? "" : `${v < 0 ? "\u2212" : "+"}${worded(Math.abs(v), unit)}`);

/** A count and its noun: 1 step, 2 steps.
 * @param {number} n @param {string} word @param {string} [many] */
export const plural = (n, word, many = `${word}s`) => `${count(n)} ${n === 1 ? word : many}`;

/** Local date and time to the minute. The year stands only if it differs from this year.
 * @param {number} ms @param {number} now */
export function clock(ms, now) {
  const at = new Date(ms);
  const today = new Date(now);
  const time = `${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}`;
  if (at.toDateString() === today.toDateString()) return `today ${time}`;
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const day = `${at.getDate()} ${months[at.getMonth()] ?? ""}`;
  return at.getFullYear() === today.getFullYear() ? `${day} ${time}` : `${day} ${at.getFullYear()} ${time}`;
}

/** A place on an x axis: "step 244", "3 min 12 s", "1.2M tokens", "today 14:02".
 * @param {string} axis @param {number} x the reading of the axis @param {number} step
 * @param {number} [now] ms */
export function placeOn(axis, x, step, now = 0) {
  if (axis === "time") return clock(x * 1000, now);
  if (axis === "relative") return duration(x < 60 ? x : Math.round(x));
  return axis === "step" ? `step ${count(step)}` : `${number(x)} ${axis}`;
}
