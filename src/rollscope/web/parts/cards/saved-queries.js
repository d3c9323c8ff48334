/** Queries that people saved, in the project's log: for every run, for everyone, with undo. */

import { useEffect, useState } from "preact/hooks";
import { clock } from "../../base/text/format.js";
import { now } from "../../state.js";
import { entries, held, loadProject, tell, undo } from "../../wire/project.js";
import { h, html } from "../html.js";
import { IconButton } from "../controls.js";

/** @param {{draft: string, use: (text: string) => void}} props */
export function SavedQueries({ draft, use }) {
  const [name, setName] = useState("");
  const [said, setSaid] = useState("");
  const [back, setBack] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    if (!held.value) loadProject().catch((e) => setSaid(e.message));
  }, []);
  const keep = (/** @type {string} */ label, /** @type {string | null} */ value) =>
    tell([{ kind: "query", name: label, value }], entries("query")[label]?.id ?? "").then(
      (made) => {
        setBack(made.map((entry) => entry.id));
        setSaid(value === null ? `Removed ${label}` : `Saved ${label}`);
        setName("");
      },
      (e) => setSaid(e.message),
    );
  const revert = () =>
    undo(back).then(
      () => {
        setBack([]);
        setSaid("");
      },
      (e) => setSaid(e.message),
    );
  const saved = Object.entries(entries("query")).sort(([a], [b]) => (a < b ? -1 : 1));
  return html`
    <h3>Saved queries</h3>
    <ul class="saved">
      ${saved.map(
        ([label, entry]) => html`
          <li key=${label} title=${`${entry.author}, ${clock(entry.time_ns / 1e6, now.value)}`}>
            <button class="link cut" type="button" onClick=${() => use(entry.value)}>${label}</button>
            ${h(IconButton, { icon: "close", label: `Remove ${label}`, act: () => keep(label, null) })}
          </li>
        `,
      )}
    </ul>
    <form
      class="line"
      onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        if (name.trim() && draft.trim()) keep(name.trim(), draft.trim());
      }}>
      <input
        class="field"
        value=${name}
        maxlength="200"
        placeholder="Name this query"
        aria-label="Name of the query"
        onInput=${(/** @type {any} */ e) => setName(e.target.value)} />
      <button class="button" type="submit" disabled=${!name.trim() || !draft.trim()}>Save</button>
    </form>
    ${
      said
        ? html`
            <p class="read" role="status">
              ${said}${" "}
              ${
                back.length
                  ? html`
                      <button class="link" type="button" onClick=${revert}>Undo</button>
                    `
                  : null
              }
            </p>
          `
        : null
    }
  `;
}
