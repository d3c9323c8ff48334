/** The boards in the index of the Metrics page: those of the project, and the one of the catalogue.
 */

import { useEffect, useState } from "preact/hooks";
import { read } from "../base/text/boards.js";
import { count } from "../base/text/format.js";
import { html } from "../parts/html.js";
import { go, view, watch } from "../state.js";
import { entries, needProject } from "../wire/project.js";
import { boardOf } from "./catalogue.js";

export function BoardList() {
  const builtIn = boardOf(watch.value);
  useEffect(() => {
    needProject().catch(() => {});
  }, []);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const saved = Object.values(entries("board"));
  const own = saved.map((entry) => ({ name: String(entry.name), panels: read(entry.value).board.panels.length }));
  const list =
    builtIn && !own.some((b) => b.name === builtIn.name)
      ? [{ name: builtIn.name, panels: builtIn.board.panels.length }, ...own]
      : own;
  const make = (/** @type {Event} */ e) => {
    e.preventDefault();
    if (text?.trim()) go({ board: text.trim(), section: "" });
    setText(null);
  };
  return html`
    <h3>Boards</h3>
    ${list.map(
      (b) => html`
        <button
          type="button"
          data-board=${b.name}
          key=${b.name}
          aria-current=${view.value.board === b.name ? "true" : undefined}
          onClick=${() => go({ board: b.name, section: "" })}>
          <span class="cut">${b.name}</span>
          <span class="n">${count(b.panels)}</span>
        </button>
      `,
    )}
    ${
      text === null
        ? html`
            <button type="button" class="link" onClick=${() => setText("")}>+ New board</button>
          `
        : html`
            <form onSubmit=${make}>
              <input
                class="field"
                aria-label="name of the board"
                placeholder="a name, then Enter"
                maxlength="200"
                value=${text}
                onInput=${(/** @type {any} */ e) => setText(e.target.value)} />
            </form>
          `
    }
  `;
}
