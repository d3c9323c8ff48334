/** The bar of the selected runs, and the message with "Undo" after an action. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../base/text/format.js";
import { IconButton } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { picked, runs } from "../state.js";
import { archive, done, remove, rename, setNote, setTag } from "./actions.js";
import { compare } from "./compare.js";
import { isBaseline, setBaseline } from "./deltas.js";

/** What the text box is for. @typedef {"" | "tag" | "rename" | "note"} Asking */

/** @param {{asking: Asking, ask: (what: Asking) => void}} props */
export function BulkBar({ asking, ask }) {
  const ids = picked.value;
  if (!ids.length) return h(Done, {});
  const one = ids.length === 1 ? runs.value?.find((r) => r.id === ids[0]) : undefined;
  const archived = ids.every((id) => runs.value?.find((r) => r.id === id)?.archived);
  return html`
    <div class="bulk" role="toolbar" aria-label="selected runs">
      <b>${plural(ids.length, "run")} selected</b>
      ${
        asking
          ? h(Ask, { key: asking, asking, ids, one, close: () => ask("") })
          : html`
              <button class="button" type="button" disabled=${ids.length < 2} onClick=${compare}>
                Compare ${" "}
                <kbd>c</kbd>
              </button>
              <button class="button" type="button" onClick=${() => ask("tag")}>
                Tag ${" "}
                <kbd>t</kbd>
              </button>
              ${
                one
                  ? html`
                      <button class="button" type="button" onClick=${() => ask("rename")}>Rename</button>
                      <button class="button" type="button" onClick=${() => ask("note")}>Note</button>
                      <button class="button" type="button" onClick=${() => setBaseline(one)}>
                        ${isBaseline(one) ? "No baseline" : "Baseline"}
                      </button>
                    `
                  : null
              }
              <button class="button" type="button" onClick=${() => archive(ids, !archived)}>
                ${archived ? "Unarchive" : "Archive"} ${" "}
                <kbd>a</kbd>
              </button>
              <button class="button danger" type="button" onClick=${() => remove(ids)}>Delete</button>
            `
      }
      ${h(IconButton, { icon: "close", label: "select none", act: clear })}
    </div>
  `;
}

const clear = () => {
  picked.value = [];
};

/** @param {{asking: Asking, ids: string[], one: any, close: () => void}} props */
function Ask({ asking, ids, one, close }) {
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [text, setText] = useState(asking === "rename" ? one?.name : asking === "note" ? one?.note : "");
  useLayoutEffect(() => box.current?.focus(), []);
  const known = [...new Set((runs.value ?? []).flatMap((r) => r.tags))].sort();
  const has = ids.every((id) => runs.value?.find((r) => r.id === id)?.tags.includes(text.trim()));
  const keep = async (/** @type {Event} */ e) => {
    e.preventDefault();
    const word = text.trim();
    if (asking === "tag" && word) await setTag(ids, word, !has);
    if (asking === "rename") await rename(ids[0] ?? "", word === one?.recorded_name ? "" : word);
    if (asking === "note") await setNote(ids[0] ?? "", word);
    close();
  };
  return html`
    <form class="line" onSubmit=${keep}>
      <input
        class="field"
        ref=${box}
        value=${text}
        list=${asking === "tag" ? "known-tags" : undefined}
        maxlength=${asking === "note" ? 4000 : 200}
        aria-label=${asking === "tag" ? "tag" : asking === "rename" ? "new name" : "note"}
        placeholder=${asking === "tag" ? "a tag" : asking === "rename" ? "a name" : "a few words"}
        onInput=${(/** @type {any} */ e) => setText(e.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
          if (e.key === "Escape") close();
        }} />
      <datalist id="known-tags">
        ${known.map(
          (tag) => html`
            <option value=${tag}></option>
          `,
        )}
      </datalist>
      <button class="button" type="submit">${asking === "tag" ? (has && text ? "Take away" : "Add") : "Keep"}</button>
    </form>
  `;
}

function Done() {
  const last = done.value;
  if (!last) return null;
  const close = () => {
    done.value = null;
  };
  return html`
    <div class="bulk" role="status">
      <span>${last.says}</span>
      ${
        last.back
          ? html`
              <button
                class="button"
                type="button"
                onClick=${async () => {
                  close();
                  await last.back?.();
                }}>
                Undo
              </button>
            `
          : null
      }
      ${h(IconButton, { icon: "close", label: "close", act: close })}
    </div>
  `;
}
