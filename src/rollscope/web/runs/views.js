/** Saved views as tabs: each is a name and an address. Beside them the archive and the bin. */

import { useState } from "preact/hooks";
import { format } from "../base/text/url.js";
import { count } from "../base/text/format.js";
import { IconButton } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { go, runs, view, visit } from "../state.js";
import { ROOT } from "../wire/api.js";
import { entries, tell, undo } from "../wire/project.js";
import { done } from "./actions.js";

/** What of the address a saved view keeps. */
const query = () => {
  const { q, sort, cols, by } = view.value;
  return format({ ...view.value, page: "runs", run: "", view: "", show: "", q, sort, cols, by }).replace(/^\?/, "");
};

/** @param {{deleted: number}} props */
export function Views({ deleted }) {
  const saved = Object.values(entries("view")).sort((a, b) => String(a.name).localeCompare(String(b.name)));
  const { view: here, show } = view.value;
  const archived = (runs.value ?? []).filter((r) => r.archived).length;
  const mine = saved.find((entry) => entry.name === here);
  const changed = mine ? mine.value.query !== query() : query() !== "";
  return html`
    <nav class="views" aria-label="saved views">
      ${tab("All", "", !here && !show)}
      ${saved.map((entry) => tab(String(entry.name), searchOf(entry), here === entry.name))}
      ${archived ? tab(`Archived ${count(archived)}`, "show=archived", show === "archived") : null}
      ${deleted ? tab(`Bin ${count(deleted)}`, "show=bin", show === "bin") : null}
      <span class="gap"></span>
      ${mine ? h(IconButton, { icon: "close", label: `remove the view ${here}`, act: () => drop(mine) }) : null}
      ${changed ? h(Save, { name: here, key: here }) : null}
    </nav>
  `;
}

/** @param {import("../wire/project.js").Entry} entry */
const searchOf = (entry) => `${entry.value.query}&view=${encodeURIComponent(String(entry.name))}`;

/** @param {string} title @param {string} search @param {boolean} here */
const tab = (title, search, here) => html`
  <a href=${new URL(search ? `?${search}` : "", ROOT).href} aria-current=${here ? "page" : undefined}>${title}</a>
`;

/** @param {import("../wire/project.js").Entry} entry */
async function drop(entry) {
  const made = await tell([{ kind: "view", name: String(entry.name), value: null }]);
  visit(ROOT.href);
  done.value = { says: `Removed the view ${entry.name}`, back: () => undo(made.map((one) => one.id)) };
}

/** @param {{name: string}} props */
function Save({ name }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const keep = async (/** @type {Event} */ e) => {
    e.preventDefault();
    const word = (text ?? "").trim();
    if (!word) return;
    await tell([{ kind: "view", name: word, value: { query: query() } }]);
    setText(null);
    go({ view: word });
  };
  if (text === null)
    return html`
      <button class="button" type="button" onClick=${() => setText(name)}>Save view</button>
    `;
  return html`
    <form class="line" onSubmit=${keep}>
      <input
        class="field"
        value=${text}
        aria-label="name of the view"
        placeholder="a name"
        maxlength="200"
        onInput=${(/** @type {any} */ e) => setText(e.target.value)} />
      <button class="button" type="submit">Save</button>
    </form>
  `;
}
