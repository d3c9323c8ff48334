/** The cards of a section, in blocks of rows. A block becomes elements when the view comes near: a
 * thousand cards at once would delay the first chart. */

import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../base/text/format.js";
import { heading } from "../../base/text/metric-names.js";
import { printing } from "../../prefs.js";
import { h, html } from "../html.js";
import { MetricCard } from "./chart-card.js";

/** @typedef {import("../../state.js").MetricInfo & {folded?: string[]}} MetricInfo */
/** @typedef {{section: string, title: string, groups: {group: string, metrics: MetricInfo[]}[],
 *   count: number, says?: string}} Section */
/** A metric's chart, or the chart of its distribution.
 * @typedef {{info: MetricInfo, heat: boolean}} Cell */

/** Cards that are rendered for the first drawing, with the sections they are in. */
export const FIRST = 18;
const ROWS = 2; // rows of a block; more would take longer than a frame

/** The number of cards of sections or groups.
 * @param {{count?: number, metrics?: MetricInfo[]}[]} parts */
export const countCards = (parts) => parts.reduce((n, p) => n + (p.count ?? p.metrics?.length ?? 0), 0);

/** A section of cards. `start` is the number of cards before it.
 * @param {{s: Section, columns: number, large: string, start: number}} props */
export function CardSection({ s, columns, large, start }) {
  return html`
    <section class="section" id=${`s-${s.section}`}>
      <h2>
        ${s.title}
        <span class="n">${plural(s.count, "metric")}</span>
      </h2>
      ${
        s.says
          ? html`
              <p class="ink3 says">${s.says}.</p>
            `
          : null
      }${s.groups.map((g, i) => {
        const title = g.group || i ? heading(g.group || "others") : "";
        const before = start + countCards(s.groups.slice(0, i));
        const last = i === s.groups.length - 1;
        return h(CardGroup, { s, metrics: g.metrics, title, columns, large, before, last, key: g.group });
      })}
    </section>
  `;
}

/** The cards of a group.
 * @param {{s: Section, metrics: MetricInfo[], title: string, columns: number, large: string,
 *   before: number, last: boolean}} props */
function CardGroup({ s, metrics, title, columns, large, before, last }) {
  return html`
    ${
      title
        ? html`
            <h3>${title}</h3>
          `
        : null
    }${blocksOf(metrics, columns).map((block, b, all) =>
      h(Block, {
        block,
        columns,
        large,
        labelled: last && b === all.length - 1,
        section: s.section,
        first: before + b * ROWS * columns < FIRST,
        key: block[0]?.info.name,
      }),
    )}
  `;
}

/** Cells in blocks of full rows.
 * @param {MetricInfo[]} metrics @param {number} columns @returns {Cell[][]} */
function blocksOf(metrics, columns) {
  const size = ROWS * columns;
  const cells = metrics.flatMap((info) => (info.heat ? [false, true] : [false]).map((heat) => ({ info, heat })));
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, i) => cells.slice(i * size, (i + 1) * size));
}

/** A block, rendered when the view comes near.
 * @param {{block: Cell[], columns: number, large: string, labelled: boolean, section: string,
 *   first: boolean}} props */
function Block({ block, columns, large, labelled, section, first }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [near, setNear] = useState(first);
  useEffect(() => {
    if (first) return;
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) {
          setNear(true);
          watch.disconnect();
        }
      },
      { root: host.current?.closest(".page") ?? null, rootMargin: "1800px" },
    );
    const soon = setTimeout(() => {
      if (host.current) watch.observe(host.current);
    }, 120); // after the first drawing
    return () => {
      clearTimeout(soon);
      watch.disconnect();
    };
  }, []);
  if (!near && !printing.value)
    return html`
      <div class="cards coming" ref=${host} style=${{ height: `${Math.ceil(block.length / columns) * 192}px` }}></div>
    `;
  return html`
    <div class="cards" ref=${host}>
      ${block.map(({ info, heat }, i) => {
        const xLabels = labelled && i >= Math.floor((block.length - 1) / columns) * columns;
        return heat
          ? h(LazyHeat, { info, xLabels, key: `heat ${section} ${info.name}` })
          : h(MetricCard, {
              info,
              xLabels,
              large: large === info.name,
              full: section === "pinned",
              key: `${section} ${info.name}`,
            });
      })}
    </div>
  `;
}

/** A component whose module is loaded when it is first shown, after the first drawing.
 * @param {() => Promise<any>} load @param {number} [wait] ms
 * @param {any} [meanwhile] keeps its place */
export function lazy(load, wait = 80, meanwhile = null) {
  /** @type {any} */
  let known = null;
  return (/** @type {any} */ props) => {
    const [part, setPart] = useState(() => known);
    useEffect(() => {
      if (part) return;
      const show = async () => {
        known ??= await load();
        setPart(() => known);
      };
      setTimeout(show, known ? 0 : wait); // another one may have loaded it since this one rendered
    }, []);
    return part ? h(part, props) : meanwhile;
  };
}
const PLACE = html`
  <div class="card"></div>
`;
const LazyHeat = lazy(() => import("./heat-card.js").then((m) => m.HeatCard), 80, PLACE);
