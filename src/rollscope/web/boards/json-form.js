/** A board as JSON: to read, copy, save, or replace by another one. */

import { useState } from "preact/hooks";
import { read } from "../base/text/boards.js";
import { save } from "../parts/cards/export-menu.js";
import { html } from "../parts/html.js";

/** @typedef {import("../base/text/boards.js").Board} Board */

/** @param {{name: string, value: any, keep: (board: Board) => void}} props */
export function JsonForm({ name, value, keep }) {
  const written = JSON.stringify(value, null, 1);
  const [text, setText] = useState(written);
  const [wrong, setWrong] = useState("");
  const take = () => {
    const found = parsed(text);
    if (typeof found === "string") setWrong(found);
    else {
      setWrong("");
      keep(found);
    }
  };
  return html`
    <div class="card panel-form">
      <textarea
        class="field mono"
        rows="10"
        spellcheck=${false}
        aria-label="board as JSON"
        value=${text}
        onInput=${(/** @type {any} */ e) => setText(e.target.value)}></textarea>
      ${
        wrong
          ? html`
              <p class="read bad">${wrong}</p>
            `
          : null
      }
      <div class="line">
        <button class="button" type="button" disabled=${text === written} onClick=${take}>Import</button>
        <button
          class="button"
          type="button"
          onClick=${() => save(`${name.replace(/[^\w.-]+/g, "-")}.json`, new Blob([written], JSON_TYPE))}>
          Save as a file
        </button>
        <label class="button">
          Open a file
          <input
            type="file"
            accept=".json,application/json"
            hidden
            onChange=${async (/** @type {any} */ e) => setText((await e.target.files[0]?.text()) ?? text)} />
        </label>
      </div>
    </div>
  `;
}

const JSON_TYPE = { type: "application/json" };

/** The board in a text, or the sentence that says why there is none. @param {string} text */
function parsed(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is no JSON: ${/** @type {Error} */ (error).message}`;
  }
  const { board, problems } = read(value);
  return problems.length ? problems.join(" ") : board;
}
