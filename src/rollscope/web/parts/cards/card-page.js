/** A page of metric cards, or a sentence if the run has none of its metrics. */

import { useEffect, useRef, useState } from "preact/hooks";
import { heading, tree } from "../../base/text/metric-names.js";
import { loadNames, names, view } from "../../state.js";
import { MetricCard } from "./chart-card.js";
import { h, html } from "../html.js";

/** `fits` tells which metrics belong to the page; sections in `first` come first.
 * @param {{fits: (name: string) => boolean, none: any, first?: string[]}} props */
export function CardPage({ fits, none, first = [] }) {
  const body = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [columns, setColumns] = useState(3);
  useEffect(() => {
    if (!names.value) loadNames();
  }, []);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setColumns(Math.max(1, Math.floor((entry.contentRect.width + 12) / 332)));
    });
    if (body.current) watch.observe(body.current);
    return () => watch.disconnect();
  }, [names.value !== null]);
  if (!names.value) return null;
  const all = tree(names.value.filter((m) => fits(m.name)));
  const list = [
    ...first.flatMap((name) => all.filter((s) => s.section === name)),
    ...all.filter((s) => !first.includes(s.section)),
  ];
  if (!list.length)
    return html`
      <div class="bare-page">${none}</div>
    `;
  return html`
    <div ref=${body}>
      ${list.map(
        (s) => html`
          <section class="section" key=${s.section}>
            <h2>${heading(s.section)}</h2>
            ${s.groups.map(
              (g, gi) => html`
                ${
                  g.group || gi
                    ? html`
                        <h3>${heading(g.group || "others")}</h3>
                      `
                    : null
                }
                <div class="cards">
                  ${g.metrics.map((info, i) => {
                    const lastRow = Math.floor((g.metrics.length - 1) / columns) * columns;
                    return h(MetricCard, { info, xLabels: i >= lastRow, key: info.name });
                  })}
                </div>
              `,
            )}
          </section>
        `,
      )}
    </div>
  `;
}
