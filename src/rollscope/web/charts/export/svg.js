/** A chart as an SVG that can be printed: title, axes with names, legend, light colours, the points
 * that are on the screen. Text is escaped; nothing in it can run. */

import { series as colorOf } from "../../base/chart/color.js";
import { clockLabel, labels, linear, log, wallLabel, wallTicks } from "../../base/chart/ticks.js";

/** @typedef {import("../model.js").Model} Model */
/** @typedef {{title: string, unit: string, yRange: [number, number], smoothed: ArrayLike<number |
 *   null>[], slots: number[]}} Drawn */

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [720, 400, 64, 44, 20, 48];
const [INK, INK3, GRID] = ["#14181F", "#636C7A", "#E6E9EE"];
const ROW = 18;
/** The name of SVG's elements. It is no address: nothing is fetched from it. */
const SPACE = ["http:", "", "www.w3.org", "2000", "svg"].join("/");
const X_NAMES = /** @type {Record<string, string>} */ ({
  step: "step",
  time: "time",
  relative: "elapsed",
  tokens: "tokens",
  samples: "samples",
});

/** @param {Model} m @param {Drawn} d */
export function svgOf(m, d) {
  const names = m.styles.map((style, i) => style.label || m.series[i]?.name || "");
  const listed = m.series.length > 1;
  const rows = listed ? Math.ceil(names.length / 3) : 0;
  const height = HEIGHT + rows * ROW;
  const x = scale([m.lo, m.hi > m.lo ? m.hi : m.lo + 1], [LEFT, WIDTH - RIGHT], "linear");
  const y = scale(d.yRange, [HEIGHT - BOTTOM, TOP], m.y);
  const parts = [
    `<rect width="${WIDTH}" height="${height}" fill="#FFFFFF"/>`,
    text(LEFT, 24, d.title, `font-size="15" font-weight="600" fill="${INK}"`),
    ...yAxis(m, d, y),
    ...xAxis(m, x),
    ...m.series.flatMap((s, i) => line(m, d, i, x, y)),
    ...(listed ? names.map((name, i) => legend(name, i, style(m, d, i))) : []),
  ];
  const head = `xmlns="${SPACE}" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return `<svg ${head} font-family="'IBM Plex Sans', system-ui, sans-serif" font-size="11">${parts.join("")}</svg>`;
}

/** @param {[number, number]} from @param {[number, number]} to @param {string} kind
 * @returns {(v: number) => number} */
function scale([a, b], [p, q], kind) {
  const f = kind === "log" && a > 0 ? Math.log10 : (/** @type {number} */ v) => v;
  const [lo, hi] = [f(a), f(b)];
  return (v) => p + ((f(v) - lo) / (hi - lo || 1)) * (q - p);
}

/** The colour of a series on white paper, whatever the theme of the screen.
 * @param {Model} m @param {Drawn} d @param {number} i */
function style(m, d, i) {
  const { color, dash } = colorOf(d.slots[i] ?? i, "light");
  return { color, dash: m.styles[i]?.dashed ? [4, 3] : dash };
}

/** @param {Model} m @param {Drawn} d @param {(v: number) => number} y */
function yAxis(m, d, y) {
  const [lo, hi] = d.yRange;
  const ticks = (m.y === "log" && lo > 0 ? log(lo, hi).major : linear(lo, hi, 5)).filter((t) => t >= lo && t <= hi);
  const share = m.unit === "share" || m.unit === "fraction";
  const words = labels(ticks.map((t) => (share ? t * 100 : t)));
  const name = share ? "%" : d.unit;
  return [
    ...ticks.map((t) => `<path d="M${LEFT} ${r(y(t))}H${WIDTH - RIGHT}" stroke="${GRID}"/>`),
    ...ticks.map((t, i) => text(LEFT - 8, y(t) + 4, words[i] ?? "", `text-anchor="end" fill="${INK3}"`)),
    name ? text(LEFT - 8, TOP - 10, name, `text-anchor="end" fill="${INK3}"`) : "",
  ];
}

/** @param {Model} m @param {(v: number) => number} x */
function xAxis(m, x) {
  const span = m.hi - m.lo;
  const ticks = (m.x === "time" ? wallTicks(m.lo, m.hi, 6) : linear(m.lo, m.hi, 6)).filter(
    (t) => t >= m.lo && t <= m.hi,
  );
  const plain = labels(ticks);
  const word = (/** @type {number} */ t, /** @type {number} */ i) =>
    m.x === "time" ? wallLabel(t, span, m.lo) : m.x === "relative" ? clockLabel(t, span) : (plain[i] ?? "");
  const base = HEIGHT - BOTTOM;
  return [
    `<path d="M${LEFT} ${base}H${WIDTH - RIGHT}" stroke="${INK3}"/>`,
    ...ticks.map((t) => `<path d="M${r(x(t))} ${base}v4" stroke="${INK3}"/>`),
    ...ticks.map((t, i) => text(x(t), base + 17, word(t, i), `text-anchor="middle" fill="${INK3}"`)),
    text((LEFT + WIDTH - RIGHT) / 2, base + 36, X_NAMES[m.x] ?? m.x, `text-anchor="middle" fill="${INK3}"`),
  ];
}

/** The raw line, the smoothed one, or points. Each carries its numbers in `data-` attributes.
 * @param {Model} m @param {Drawn} d @param {number} i @param {(v: number) => number} x
 * @param {(v: number) => number} y */
function line(m, d, i, x, y) {
  const s = /** @type {import("../../base/chart/points.js").Series} */ (m.series[i]);
  const { color, dash } = style(m, d, i);
  const smooth = d.smoothed[i] ?? s.Mid;
  const isSmoothed = smooth !== s.Mid;
  const stroke = `fill="none" stroke="${color}" stroke-dasharray="${dash.join(" ") || "none"}" stroke-linejoin="round"`;
  const clip = (/** @type {number} */ v) => Math.max(TOP - 4, Math.min(HEIGHT - BOTTOM + 4, v));
  const at = (/** @type {ArrayLike<number | null>} */ column) =>
    path(
      s,
      column,
      (v) => x(v),
      (v) => clip(y(v)),
    );
  const out = [];
  if (isSmoothed) out.push(`<path d="${at(s.Mid)}" ${stroke} stroke-width="1" opacity=".35"/>`);
  out.push(
    `<path class="series" data-name="${escaped(s.name)}" data-run="${escaped(s.run)}" data-points="${s.X.length}" ` +
      `d="${at(smooth)}" ${stroke} stroke-width="1.6"/>`,
  );
  if (m.points)
    for (let j = 0; j < s.X.length; j++) {
      const v = s.Mid[j];
      if (v !== null && v !== undefined)
        out.push(`<circle cx="${r(x(Number(s.X[j])))}" cy="${r(clip(y(v)))}" r="2.5" fill="${color}"/>`);
    }
  return out;
}

/** @param {import("../../base/chart/points.js").Series} s @param {ArrayLike<number | null>} column
 * @param {(v: number) => number} x @param {(v: number) => number} y */
function path(s, column, x, y) {
  let out = "";
  let pen = false;
  for (let j = 0; j < s.X.length; j++) {
    const v = column[j];
    if (v === null || v === undefined || !Number.isFinite(v)) {
      pen = false; // missing is missing
      continue;
    }
    out += `${pen ? "L" : "M"}${r(x(Number(s.X[j])))} ${r(y(v))}`;
    pen = true;
  }
  return out;
}

/** @param {string} name @param {number} i @param {{color: string, dash: number[]}} style */
function legend(name, i, { color, dash }) {
  const [x, y] = [LEFT + (i % 3) * 212, HEIGHT + 4 + Math.floor(i / 3) * ROW];
  const short = name.length > 30 ? `${name.slice(0, 14)}…${name.slice(-15)}` : name;
  const stroke = `stroke="${color}" stroke-width="2" stroke-dasharray="${dash.join(" ") || "none"}"`;
  const sample = `<path d="M${x} ${y - 4}h18" ${stroke}/>`;
  return sample + text(x + 24, y, short, `fill="${INK}"`);
}

/** @param {number} x @param {number} y @param {string} words @param {string} more */
const text = (x, y, words, more) => `<text x="${r(x)}" y="${r(y)}" ${more}>${escaped(words)}</text>`;

/** @param {number} v */
const r = (v) => Math.round(v * 100) / 100;

/** @param {string} text */
const escaped = (text) =>
  [...text]
    .filter((c) => c >= " ") // XML has no control characters
    .join("")
    .replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
