/** Bars of an SQL answer: one group for each value of x, one bar in it for each series. */

import { useEffect, useRef, useState } from "preact/hooks";
import { series as colorOf } from "../../base/chart/color.js";
import { labels, linear } from "../../base/chart/ticks.js";
import { count } from "../../base/text/format.js";
import { MOST_BARS } from "../../base/text/sql-answer.js";
import { theme } from "../../prefs.js";
import { html } from "../html.js";

/** @typedef {import("../../base/text/sql-answer.js").Drawn} Drawn */

const [HEIGHT, BOTTOM, TOP, WORD] = [180, 20, 14, 6.4];

/** @param {{series: Drawn[]}} props */
export function SqlBars({ series }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  const all = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))];
  const groups = all.slice(0, MOST_BARS);
  const values = series.map((one) => new Map(one.points));
  const shown = groups.flatMap((x) => values.flatMap((of) => of.get(x) ?? []));
  const [lo, hi] = [Math.min(0, ...shown), Math.max(0, ...shown)];
  const y = (/** @type {number} */ v) => TOP + ((hi - v) / (hi - lo || 1)) * (HEIGHT - TOP - BOTTOM);
  const group = width / Math.max(1, groups.length);
  const bar = Math.min(48, (group * 0.8) / Math.max(1, series.length));
  const ticks = linear(lo, hi || 1, 3);
  const words = labels(ticks);
  return html`
    <div class="bars" ref=${host} data-bars=${shown.length}>
      <svg width="100%" height=${HEIGHT} role="img" aria-label="The answer as bars">
        ${ticks.map(
          (t, i) => html`
            <line x1="0" x2=${width} y1=${y(t)} y2=${y(t)} stroke="var(--grid)" />
            <text x="0" y=${y(t) - 4} fill="var(--ink3)" font-size="11">${words[i]}</text>
          `,
        )}
        ${groups.map(
          (x, k) => html`
            ${values.map((of, i) => {
              const v = of.get(x);
              if (v === undefined) return null;
              const left = group * (k + 0.5) + (i - series.length / 2) * bar;
              const inside = series[i]?.name ? `, ${series[i].name}` : "";
              const says = `${x}${inside}: ${v}`;
              const [top, height] = [Math.min(y(v), y(0)), Math.max(1, Math.abs(y(v) - y(0)))];
              return html`
                <g>
                  <title>${says}</title>
                  <rect
                    x=${left}
                    y=${top}
                    width=${Math.max(1, bar - 1)}
                    height=${height}
                    fill=${colorOf(i, theme.value).color} />
                </g>
              `;
            })}
            <text x=${group * (k + 0.5)} y=${HEIGHT - 5} text-anchor="middle" fill="var(--ink3)" font-size="11">
              ${cut(String(x), group)}
            </text>
          `,
        )}
      </svg>
      ${
        all.length > groups.length
          ? html`
              <p class="small ink3">${count(groups.length)} of ${count(all.length)} bars</p>
            `
          : null
      }
    </div>
  `;
}

/** As much of a word as has room below its bars. @param {string} text @param {number} room px */
function cut(text, room) {
  const most = Math.floor(room / WORD) - 1;
  return text.length <= most ? text : most < 2 ? "" : `${text.slice(0, most - 1)}…`;
}
