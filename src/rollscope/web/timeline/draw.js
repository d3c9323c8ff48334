/** Ink of the timeline. Every lane is one row of pixels, stretched to its height by one drawImage;
 * hatches, the path and labels go on top where they are few. */

import { kind, rgb, SERIES } from "../base/chart/color.js";
import { linear } from "../base/chart/ticks.js";
import { count, duration } from "../base/text/format.js";
import { STRIP, paint, seen } from "../base/timeline/lanes.js";
import { SANS, colors } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { open, strips } from "./extras.js";
import { at, byVersion, hovered, selected, tile, view } from "./loading.js";

/** The width of the names of lanes, by the width of the page. @param {number} width */
export const gutter = (width) => (width < 600 ? 84 : 140);
let GUTTER = 140;
const INDENT = 12;
const TOP = 20; // steps and ticks
const WAIT = 1;
const DROPPED = 4;
const FEW = 3000; // spans that get hatches and labels
const LABEL = 56; // px from which a span has one

const strip = document.createElement("canvas");
/** @type {Map<string, CanvasPattern>} */
const patterns = new Map();

/** @param {HTMLCanvasElement} canvas @param {HTMLDivElement} host
 * @param {import("../base/timeline/lanes.js").Layout} placed
 * @param {import("./loading.js").Index} index @param {any[]} path @param {number} step */
export function draw(canvas, host, placed, index, path, step) {
  const [width, height] = [host.clientWidth, host.clientHeight];
  GUTTER = gutter(width);
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const ink = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  ink.clearRect(0, 0, width, height);
  const plot = Math.max(1, width - GUTTER);
  const [lo, hi] = view.peek();
  const x = (/** @type {number} */ t) => GUTTER + ((t - lo) / (hi - lo)) * plot;
  const scroll = host.scrollTop;
  ink.save();
  ink.beginPath();
  ink.rect(0, TOP, width, height - TOP);
  ink.clip();
  strips(ink, placed, x, GUTTER, TOP - scroll, width);
  lanes(ink, placed, plot, scroll, height);
  marks(ink, placed, x, scroll, height, path, index);
  ink.restore();
  steps(ink, index, x, width, height, step);
  names(ink, placed, scroll, height);
  const t = tile.peek();
  const beside = `strips=${placed.strips.length} open=${index.open.length}`;
  canvas.dataset.ink = t ? `spans=${t.spans} drawn=${t.start.length} exact=${t.exact ? 1 : 0} ${beside}` : "";
}

/** A colour of the palette as a pixel. @param {string} hex @param {number} alpha */
function pixel(hex, alpha) {
  const [r, g, b] = rgb(hex);
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** @param {CanvasRenderingContext2D} ink @param {import("../base/timeline/lanes.js").Layout} placed
 * @param {number} plot @param {number} scroll @param {number} height */
function lanes(ink, placed, plot, scroll, height) {
  const t = tile.peek();
  if (!t) return;
  const width = Math.round(plot);
  const [first, many] = seen(placed, scroll, scroll + height - TOP);
  if (!many) return;
  if (strip.width !== width || strip.height !== many) [strip.width, strip.height] = [width, many];
  const pen = /** @type {CanvasRenderingContext2D} */ (strip.getContext("2d"));
  const image = pen.createImageData(width, many);
  paint(new Uint32Array(image.data.buffer), width, t, view.peek(), colourOf(t), [first, many]);
  pen.putImageData(image, 0, 0);
  ink.imageSmoothingEnabled = false;
  for (const row of placed.rows.slice(first, first + many)) {
    const y = TOP + row.top - scroll;
    ink.drawImage(strip, 0, row.track - first, width, 1, GUTTER, y, plot, placed.lane - 1);
  }
}

let palette = { names: /** @type {string[]} */ ([]), key: "", plain: new Uint32Array(0) };
/** The names behind the codes of spans. @param {string[]} list */
export function nameColours(list) {
  palette = { names: list, key: "", plain: new Uint32Array(0) };
}

/** @param {import("./loading.js").Tile} t @returns {(i: number) => number} */
function colourOf(t) {
  const dark = theme.value;
  if (palette.key !== dark)
    palette = {
      names: palette.names,
      key: dark,
      plain: Uint32Array.from(palette.names, (n) => pixel(kind(n, dark), 140)),
    };
  const series = SERIES[dark].map((c) => pixel(c, 140));
  const faint = pixel(dark === "dark" ? "#8691A1" : "#636C7A", 40);
  const versions = byVersion.value;
  return (i) => {
    const flags = /** @type {number} */ (t.flags[i]);
    if (flags & WAIT) return faint;
    const version = /** @type {number} */ (t.version[i]);
    const plain =
      versions && version >= 0
        ? /** @type {number} */ (series[version % 12])
        : /** @type {number} */ (palette.plain[/** @type {number} */ (t.name[i])]);
    return flags & DROPPED ? ((plain & 0xffffff) | (56 << 24)) >>> 0 : plain;
  };
}

/** A hatch of a colour. @param {CanvasRenderingContext2D} ink @param {string} color */
function hatch(ink, color) {
  const known = patterns.get(color);
  if (known) return known;
  const cell = document.createElement("canvas");
  [cell.width, cell.height] = [6, 6];
  const pen = /** @type {CanvasRenderingContext2D} */ (cell.getContext("2d"));
  pen.strokeStyle = color;
  pen.globalAlpha = 0.55;
  pen.beginPath();
  pen.moveTo(-1, 7);
  pen.lineTo(7, -1);
  pen.stroke();
  const made = /** @type {CanvasPattern} */ (ink.createPattern(cell, "repeat"));
  patterns.set(color, made);
  return made;
}

/** Hatches, labels, the path, what is pointed at. @param {CanvasRenderingContext2D} ink
 * @param {import("../base/timeline/lanes.js").Layout} placed @param {(t: number) => number} x
 * @param {number} scroll @param {number} height @param {any[]} path
 * @param {import("./loading.js").Index} index */
function marks(ink, placed, x, scroll, height, path, index) {
  const t = tile.peek();
  const c = colors();
  const [lo, hi] = view.peek();
  const top = (/** @type {number} */ track) => TOP + (placed.topOf.get(track) ?? -1e6) - scroll;
  const box = (/** @type {number} */ i) => {
    const from = Math.max(GUTTER, x(/** @type {number} */ (t?.start[i])));
    const to = Math.max(from + 1, x(/** @type {number} */ (t?.end[i])));
    return /** @type {[number, number, number, number]} */ ([
      from,
      top(/** @type {number} */ (t?.track[i])),
      to - from,
      placed.lane - 1,
    ]);
  };
  ink.font = `10px ${SANS}`;
  ink.textBaseline = "middle";
  if (t) {
    let left = FEW;
    const least = (4 * (hi - lo)) / (x(hi) - x(lo)); // seconds of 4 px
    for (let i = 0; i < t.start.length && left > 0; i++) {
      const [from, to] = [/** @type {number} */ (t.start[i]), /** @type {number} */ (t.end[i])];
      if (to - from < least || to < lo || from > hi) continue;
      const [a, y, w, tall] = box(i);
      if (w < 4 || y > height || y < TOP - tall) continue;
      left--;
      if (/** @type {number} */ (t.flags[i]) & (WAIT | DROPPED)) {
        ink.fillStyle = hatch(ink, c.ink3 ?? "#888");
        ink.fillRect(a, y, w, tall);
      } else if (w > LABEL && tall > 10 && /** @type {number} */ (t.sample[i]) >= 0) {
        ink.fillStyle = c.ink ?? "#000";
        ink.fillText(t.samples[/** @type {number} */ (t.sample[i])] ?? "", a + 4, y + tall / 2 + 0.5, w - 6);
      }
    }
  }
  open(ink, placed, x, top, GUTTER, index, hatch);
  outline(ink, placed, x, top, path, index);
  for (const [i, color] of /** @type {[number, string | undefined][]} */ ([
    [hovered.peek(), c.ink2],
    [at.peek(), c.accent],
  ]))
    if (t && i >= 0 && i < t.start.length) {
      ink.strokeStyle = color ?? "#000";
      ink.lineWidth = 1.5;
      ink.strokeRect(...box(i));
    }
  const range = selected.peek();
  if (range) {
    ink.fillStyle = c["accent-soft"] ?? "#ccf";
    ink.globalAlpha = 0.45;
    ink.fillRect(x(range[0]), TOP, x(range[1]) - x(range[0]), height);
    ink.globalAlpha = 1;
  }
}

/** What the step waited for, in full colour with an outline. @param {CanvasRenderingContext2D} ink
 * @param {import("../base/timeline/lanes.js").Layout} placed @param {(t: number) => number} x
 * @param {(track: number) => number} top @param {any[]} path
 * @param {import("./loading.js").Index} index */
function outline(ink, placed, x, top, path, index) {
  const c = colors();
  ink.lineWidth = 1;
  ink.strokeStyle = c.ink ?? "#000";
  for (const part of path) {
    const track = index.tracks.findIndex((t) => t.lane === part.lane);
    if (track < 0) continue;
    const start = (part.start_ns - index.origin_ns) / 1e9;
    const from = Math.max(GUTTER, x(start));
    const wide = Math.max(1, x(start + part.seconds) - from);
    if (x(start + part.seconds) < GUTTER) continue;
    ink.fillStyle = kind(part.phase, theme.value);
    ink.fillRect(from, top(track), wide, placed.lane - 1);
    ink.strokeRect(from + 0.5, top(track) + 0.5, Math.max(0, wide - 1), placed.lane - 2);
    const says = part.sample ? `sample ${part.sample}, ${duration(part.seconds)}` : "";
    if (says && wide > LABEL && placed.lane > 10) {
      ink.fillStyle = c.bg ?? "#fff";
      ink.fillText(says, from + 4, top(track) + placed.lane / 2, wide - 6);
    }
  }
}

/** Hairlines of steps with their numbers, and seconds. @param {CanvasRenderingContext2D} ink
 * @param {import("./loading.js").Index} index @param {(t: number) => number} x
 * @param {number} width @param {number} height @param {number} step */
function steps(ink, index, x, width, height, step) {
  const c = colors();
  ink.font = `11px ${SANS}`;
  ink.textBaseline = "alphabetic";
  let free = GUTTER - 1;
  index.steps.forEach((n, i) => {
    const from = x(/** @type {number} */ (index.starts[i]));
    const to = x(/** @type {number} */ (index.ends[i]));
    if (to < GUTTER || from > width) return;
    if (n === step) {
      ink.fillStyle = c["accent-soft"] ?? "#ccf";
      ink.fillRect(Math.max(GUTTER, from), 0, to - Math.max(GUTTER, from), TOP - 2);
    }
    if (to - from < 3) return;
    ink.fillStyle = c.line ?? "#888";
    if (from >= GUTTER) ink.fillRect(Math.round(from), 0, 1, height);
    const label = `step ${count(n)}`;
    const left = Math.max(from, GUTTER) + 4;
    if (left > free && ink.measureText(label).width + 6 < to - left) {
      ink.fillStyle = n === step ? (c.ink ?? "#000") : (c.ink3 ?? "#888");
      ink.fillText(label, left, 13);
      free = left + ink.measureText(label).width;
    }
  });
  seconds(ink, x, width, free);
}

/** A scale of seconds, where steps leave room for none. @param {CanvasRenderingContext2D} ink
 * @param {(t: number) => number} x @param {number} width @param {number} free */
function seconds(ink, x, width, free) {
  if (free > GUTTER) return;
  const [lo, hi] = view.peek();
  ink.fillStyle = colors().ink3 ?? "#888";
  for (const t of linear(lo, hi, 6)) {
    const left = x(t);
    if (left > GUTTER && left < width - 40) ink.fillText(duration(Math.max(0, t)), left, 13);
  }
}

/** Names of lanes in the gutter. @param {CanvasRenderingContext2D} ink
 * @param {import("../base/timeline/lanes.js").Layout} placed @param {number} scroll
 * @param {number} height */
function names(ink, placed, scroll, height) {
  const c = colors();
  ink.textBaseline = "middle";
  ink.font = `600 11px ${SANS}`;
  ink.fillStyle = c.ink2 ?? "#444";
  for (const head of placed.heads) {
    const y = TOP + head.top - scroll + 10;
    if (y > TOP && y < height) ink.fillText(head.label, INDENT, y, GUTTER - INDENT - 4);
  }
  if (placed.lane < 11) return;
  ink.font = `11px ${SANS}`;
  ink.fillStyle = c.ink3 ?? "#888";
  for (const row of placed.rows) {
    const y = TOP + row.top - scroll + placed.lane / 2;
    if (y > TOP && y < height) ink.fillText(row.label, INDENT, y, GUTTER - INDENT - 4);
  }
  for (const strip of placed.strips) {
    const y = TOP + strip.top - scroll + STRIP / 2;
    if (y > TOP && y < height) ink.fillText(strip.label, INDENT, y, GUTTER - INDENT - 4);
  }
}
