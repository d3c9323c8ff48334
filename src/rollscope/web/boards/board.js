/** A board: panels that one arranges by hand, kept in the project log, shared by its link. */

import { useEffect, useRef, useState } from "preact/hooks";
import { KINDS, changed, kept, move, put, read, takeAway } from "../base/text/boards.js";
import { clock, plural } from "../base/text/format.js";
import { ExportButton } from "../parts/cards/export-menu.js";
import { IconButton } from "../parts/controls.js";
import { copyLink, say } from "../parts/frame/overlay.js";
import { h, html } from "../parts/html.js";
import { go, now } from "../state.js";
import { entries, held as said, needProject } from "../wire/project.js";
import { BulkBar } from "../runs/bulk-bar.js";
import { boardOf } from "./catalogue.js";
import { ChartPanel, short } from "./chart-panel.js";
import { JsonForm } from "./json-form.js";
import { edit, remove } from "./log.js";
import { SamplesPanel, SqlPanel, TextPanel } from "./other-panels.js";
import { PanelForm, blank } from "./panel-form.js";

/** @typedef {import("../base/text/boards.js").Panel} Panel */
/** @typedef {import("../base/text/boards.js").Board} Board */

needProject().catch((error) => say(error.message)); // a board is in the project log

/** @type {Board} */
const EMPTY = { panels: [] };
const PANELS = { chart: ChartPanel, text: TextPanel, samples: SamplesPanel, sql: SqlPanel };

/** @param {{name: string, watch: import("../wire/types.gen").WatchList | null}} props */
export function BoardView({ name, watch }) {
  const builtIn = (watch?.title === name && boardOf(watch)?.board) || EMPTY;
  const held = entries("board")[name];
  const { board, problems } = held ? read(held.value) : { board: builtIn, problems: [] };
  const [form, setForm] = useState(/** @type {Panel | null} */ (null));
  const [json, setJson] = useState(false);
  const act = (/** @type {(board: Board) => Board} */ change) =>
    edit(name, builtIn, change).catch((error) => say(error.message));
  const change = (/** @type {string} */ id, /** @type {any} */ how) => act((b) => changed(b, id, how));
  const keep = async (/** @type {Panel} */ panel) => {
    await change(panel.id, put(panel));
    setForm((open) => (open?.id === panel.id ? null : open)); // another one may be open by now
  };
  if (!said.value) return null; // nobody knows yet what is on it
  const who = held ? `changed by ${held.author}, ${clock(held.time_ns / 1e6, now.value)}` : "comes with the catalogue";
  return html`
    <div class="board-head">
      <h1 class="cut">${name}</h1>
      <span class="ink3">${plural(board.panels.length, "panel")}, ${who}</span>
      <span class="gap"></span>
      <button class="button" type="button" onClick=${() => setForm(form ? null : blank())}>Add a panel</button>
      <button class="button" type="button" aria-pressed=${String(json)} onClick=${() => setJson(!json)}>JSON</button>
      <button class="button" type="button" onClick=${copyLink}>Share link</button>
      ${
        held
          ? h(IconButton, {
              icon: "close",
              label: "Remove this board",
              act: async () => {
                await remove(name);
                go({ board: "" });
              },
            })
          : null
      }
    </div>
    ${problems.map(
      (words) => html`
        <p class="read bad">${words}</p>
      `,
    )}
    ${json ? h(JsonForm, { name, value: { panels: board.panels.map(kept) }, keep: (b) => act(() => b) }) : null}
    ${form ? h(PanelForm, { panel: form, keep, close: () => setForm(null), key: form.id }) : null}
    <div class="board">
      ${board.panels.map((panel) => h(PanelCard, { panel, change, open: () => setForm(panel), key: panel.id }))}
    </div>
    ${
      board.panels.length
        ? null
        : html`
            <p class="bare-page ink2">An empty board. “Add a panel” puts a chart, a text, samples or a query on it.</p>
          `
    }
    ${h(BulkBar, { asking: "", ask: () => {} })}
  `;
}

/** @param {{panel: Panel, change: (id: string, how: any) => void, open: () => void}} props */
function PanelCard({ panel, change, open }) {
  const card = useRef(/** @type {HTMLElement | null} */ (null));
  const [dragging, setDragging] = useState(false);
  useEffect(() => setDragging(false), [panel]);
  const title =
    panel.title || (panel.kind === "chart" ? panel.metrics.map((m) => short(m.name)).join(", ") : titleOf(panel));
  const resize = () => change(panel.id, put({ ...panel, size: (panel.size % 3) + 1 }));
  return html`
    <article
      class=${`card chart panel span-${panel.size} ${dragging ? "over" : ""}`}
      data-panel=${panel.id}
      data-metric=${panel.metrics[0]?.name}
      tabindex="-1"
      ref=${card}
      onDragOver=${(/** @type {DragEvent} */ e) => {
        e.preventDefault();
        setDragging(true);
      }}
      onDragLeave=${() => setDragging(false)}
      onDrop=${(/** @type {DragEvent} */ e) => {
        e.preventDefault();
        setDragging(false);
        const moved = e.dataTransfer?.getData("text/plain") ?? "";
        if (moved && moved !== panel.id) change(moved, before(panel.id));
      }}>
      <header
        draggable=${true}
        onDragStart=${(/** @type {DragEvent} */ e) => e.dataTransfer?.setData("text/plain", panel.id)}>
        <b class="cut">${title}</b>
        <span class="tools">
          ${h(IconButton, { icon: "back", label: "Earlier", act: () => change(panel.id, move(-1)) })}
          ${h(IconButton, { icon: "forth", label: "Later", act: () => change(panel.id, move(1)) })}
          ${h(IconButton, { icon: "large", label: "Wider or narrower", act: resize })}
          ${h(IconButton, { icon: "note", label: "Edit this panel", act: open })}
          ${panel.kind === "chart" ? h(ExportButton, { name: title, title, unit: "" }) : null}
          ${h(IconButton, { icon: "close", label: "Take this panel away", act: () => change(panel.id, takeAway) })}
        </span>
      </header>
      ${h(PANELS[panel.kind], { panel })}
    </article>
  `;
}

/** Put a panel before another one. @param {string} id */
const before = (id) => (/** @type {Panel[]} */ panels, /** @type {number} */ at) => {
  const to = panels.findIndex((p) => p.id === id);
  return to < 0 ? panels : move(to - at)(panels, at);
};

/** @param {Panel} panel */
const titleOf = (panel) => KINDS.find(([kind]) => kind === panel.kind)?.[1] ?? "";
