/** Ink beside the recorded spans: machines under their lanes, and what goes on at the live edge. */

import { kind } from "../base/chart/color.js";
import { duration } from "../base/text/format.js";
import { STRIP } from "../base/timeline/lanes.js";
import { SANS, colors } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { machines } from "./loading.js";

/** @typedef {import("../base/timeline/lanes.js").Layout} Layout */

/** Busy as an area, memory as a line, both of 0 to 1. @param {CanvasRenderingContext2D} ink
 * @param {Layout} placed @param {(t: number) => number} x @param {number} left of the plot
 * @param {number} top of the first lane @param {number} width */
export function strips(ink, placed, x, left, top, width) {
  const { lo, hi, strips: all } = machines.peek();
  const c = colors();
  for (const place of placed.strips) {
    const strip = all[place.strip];
    if (!strip) continue;
    const floor = top + place.top + STRIP - 2;
    const px = (/** @type {number} */ i) => x(lo + (i / strip.busy.length) * (hi - lo));
    ink.fillStyle = c["accent-soft"] ?? "#ccf";
    strip.busy.forEach((share, i) => {
      const [from, to] = [Math.max(left, px(i)), Math.min(width, px(reach(strip.busy, i)))];
      const tall = Math.max(share === null ? 0 : 1, (share ?? 0) * (STRIP - 4));
      if (share !== null && to > from) ink.fillRect(from, floor - tall, to - from, tall);
    });
    ink.fillStyle = c.ink2 ?? "#444";
    strip.full.forEach((share, i) => {
      const [from, to] = [Math.max(left, px(i)), Math.min(width, px(reach(strip.full, i)))];
      if (share !== null && to > from) ink.fillRect(from, floor - share * (STRIP - 4), to - from, 1);
    });
  }
}

/** A reading holds until the next one, for a few parts at most. @param {(number | null)[]} values
 * @param {number} i */
function reach(values, i) {
  let next = i + 1;
  while (next < values.length && values[next] === null && next - i < 60) next++;
  return next < values.length && values[next] !== null ? next : i + 1;
}

/** Spans that have begun: to the live edge with their age, or hatched if nobody will end them.
 * @param {CanvasRenderingContext2D} ink @param {Layout} placed @param {(t: number) => number} x
 * @param {(track: number) => number} top @param {number} left
 * @param {import("./loading.js").Index} index @param {(ink: CanvasRenderingContext2D,
 *   color: string) => CanvasPattern} hatch */
export function open(ink, placed, x, top, left, index, hatch) {
  const c = colors();
  ink.font = `10px ${SANS}`;
  ink.textBaseline = "middle";
  for (const span of index.open) {
    const track = index.tracks.findIndex((t) => t.lane === span.lane);
    const from = Math.max(left, x(span.start_s));
    const wide = Math.max(2, x(span.start_s + span.seconds) - from);
    if (track < 0 || x(span.start_s + span.seconds) < left) continue;
    const y = top(track);
    ink.globalAlpha = 0.35;
    ink.fillStyle = kind(span.name, theme.value);
    ink.fillRect(from, y, wide, placed.lane - 1);
    ink.globalAlpha = 1;
    if (!span.alive || span.kind === "wait") {
      ink.fillStyle = hatch(ink, c.ink3 ?? "#888");
      ink.fillRect(from, y, wide, placed.lane - 1);
    }
    ink.fillStyle = (span.alive ? c.accent : c.bad) ?? "#000";
    ink.fillRect(from + wide - 2, y, 2, placed.lane - 1);
    ink.fillStyle = c.ink ?? "#000";
    const says = span.alive ? duration(span.seconds) : "left open";
    if (placed.lane > 10) ink.fillText(says, from + wide + 4, y + placed.lane / 2);
  }
}
