/** The form of a panel: what it shows, its title and its size. */

import { useState } from "preact/hooks";
import { KINDS, ORDERS } from "../base/text/boards.js";
import { find } from "../base/text/metric-names.js";
import { Segments } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { names } from "../state.js";

/** @typedef {import("../base/text/boards.js").Panel} Panel */

const MOST = 8; // metrics that the search offers

/** A new panel. @returns {Panel} */
export const blank = () => ({
  id: crypto.randomUUID?.() ?? String(Math.random()).slice(2),
  kind: "chart",
  title: "",
  size: 1,
  metrics: [],
  text: "",
  query: "",
  order: "worst",
});

/** @param {{panel: Panel, keep: (panel: Panel) => void, close: () => void}} props */
export function PanelForm({ panel, keep, close }) {
  const [p, setP] = useState(panel);
  const set = (/** @type {Partial<Panel>} */ patch) => setP({ ...p, ...patch });
  const ready = { chart: p.metrics.length > 0, text: p.text.trim() !== "", sql: p.query.trim() !== "", samples: true }[
    p.kind
  ];
  const sizes = /** @type {[string, string][]} */ ([
    ["1", "S"],
    ["2", "M"],
    ["3", "L"],
  ]);
  return html`
    <form
      class="card panel-form"
      onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        if (ready) keep(p);
      }}>
      <div class="line">
        ${h(Segments, {
          label: "kind of panel",
          value: /** @type {string} */ (p.kind),
          options: KINDS.map(([kind, title]) => /** @type {[string, string]} */ ([kind, title])),
          pick: (kind) => set({ kind: /** @type {any} */ (kind) }),
        })}
        ${h(Segments, {
          label: "size",
          value: String(p.size),
          options: sizes,
          pick: (size) => set({ size: Number(size) }),
        })}
        <input
          class="field"
          aria-label="title"
          placeholder="Title"
          maxlength="200"
          value=${p.title}
          onInput=${(/** @type {any} */ e) => set({ title: e.target.value })} />
      </div>
      ${p.kind === "chart" ? h(Metrics, { p, set }) : null}
      ${p.kind === "text" ? area("text", p.text, (text) => set({ text })) : null}
      ${p.kind === "sql" ? area("query", p.query, (query) => set({ query })) : null}
      ${
        p.kind === "samples"
          ? h(Segments, {
              label: "which samples",
              value: p.order,
              options: ORDERS.map(
                (o) => /** @type {[string, string]} */ ([o, `${o} first`.replace("first first", "first")]),
              ),
              pick: (order) => set({ order }),
            })
          : null
      }
      <div class="line">
        <button class="button" type="submit" disabled=${!ready}>Keep</button>
        <button class="button" type="button" onClick=${close}>Cancel</button>
      </div>
    </form>
  `;
}

/** @param {string} label @param {string} value @param {(text: string) => void} set */
const area = (label, value, set) => html`
  <textarea
    class=${label === "query" ? "field mono" : "field"}
    rows="5"
    aria-label=${label}
    value=${value}
    onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea>
`;

/** Metrics of a chart: search and add, put on the right axis, take away.
 * @param {{p: Panel, set: (patch: Partial<Panel>) => void}} props */
function Metrics({ p, set }) {
  const [search, setSearch] = useState("");
  const fits = search ? find(names.value ?? [], search).slice(0, MOST) : [];
  const add = (/** @type {string} */ name) => {
    if (!p.metrics.some((m) => m.name === name)) set({ metrics: [...p.metrics, { name }] });
    setSearch("");
  };
  const swap = (/** @type {Panel["metrics"][0]} */ m) =>
    set({ metrics: p.metrics.map((o) => (o === m ? { name: m.name, right: !m.right } : o)) });
  return html`
    <div class="line">
      ${p.metrics.map(
        (m) => html`
          <span class="tag" key=${m.name}>
            ${m.name}${" "}
            <button
              type="button"
              aria-pressed=${String(Boolean(m.right))}
              title="On the right axis"
              onClick=${() => swap(m)}>
              ${m.right ? "right" : "left"}
            </button>
            ${" "}
            <button
              type="button"
              aria-label=${`take ${m.name} away`}
              onClick=${() => set({ metrics: p.metrics.filter((o) => o !== m) })}>
              ×
            </button>
          </span>
        `,
      )}
      <span class="anchor">
        <input
          class="field"
          aria-label="add a metric"
          placeholder="Add a metric"
          value=${search}
          onInput=${(/** @type {any} */ e) => setSearch(e.target.value)}
          onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
            if (e.key !== "Enter") return;
            e.preventDefault();
            if (fits[0]) add(fits[0].name);
          }} />
        ${
          fits.length
            ? html`
                <span class="menu wide-menu">
                  ${fits.map(
                    (m) => html`
                      <button type="button" key=${m.name} onClick=${() => add(m.name)}>${m.name}</button>
                    `,
                  )}
                </span>
              `
            : null
        }
      </span>
    </div>
  `;
}
