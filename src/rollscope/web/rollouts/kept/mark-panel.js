/** The panel that marks samples: one, or all of a list. It stays open for the next label. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { problemOf } from "../../base/samples/marks.js";
import { plural } from "../../base/text/format.js";
import { bind } from "../../keys.js";
import { IconButton } from "../../parts/controls.js";
import { h, html } from "../../parts/html.js";
import { ModelLine } from "../../parts/model-text.js";
import { addComment, labels, marked, marking, removeComment, setLabel, setMember, sets } from "./marks.js";

const LONGEST_COMMENT = 4000;

/** Close the panel, and give the focus back to the text. */
const close = () => {
  marking.value = [];
  /** @type {HTMLElement | null} */ (document.querySelector(".reader .scroll"))?.focus();
};

export function MarkPanel() {
  const ids = marking.value;
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => host.current?.querySelector("input")?.focus(), [ids.join("\n")]);
  useLayoutEffect(
    () => (ids.length ? bind([{ keys: ["Escape"], says: "close the marks", run: close }]) : undefined),
    [ids.length > 0],
  );
  if (!ids.length) return null;
  const one = ids.length === 1 ? (ids[0] ?? "") : "";
  return html`
    <section class="mark-panel" ref=${host} aria-label="Mark samples">
      <header>
        <b class="cut">${one ? h(ModelLine, { text: `Mark ${one}` }) : `Mark ${plural(ids.length, "sample")}`}</b>
        <span class="gap"></span>
        ${h(IconButton, { icon: "close", label: "Close (Esc)", act: close })}
      </header>
      ${h(Ask, { name: "Label", known: labels.value, keep: (text) => setLabel(ids, text, true) })}
      ${h(Ask, { name: "Set", known: [...sets.value.keys()], keep: (text) => setMember(ids, text, true) })}
      ${h(Say, { ids })}${one ? h(Comments, { id: one }) : null}
    </section>
  `;
}

/** A word to give: Enter keeps it, and the field waits for the next one.
 * @param {{name: string, known: string[], keep: (text: string) => Promise<boolean>}} props */
function Ask({ name, known, keep }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const list = `known-${name.toLowerCase()}`;
  const send = async (/** @type {Event} */ e) => {
    e.preventDefault();
    const problem = problemOf(text);
    setWrong(problem);
    if (problem) return;
    setText(""); // at once: the next word may be typed while this one is kept
    if (!(await keep(text.trim()))) setText((typed) => typed || text);
  };
  return html`
    <form class="ask" onSubmit=${send}>
      <label>
        <span class="ink3">${name}</span>
        <input
          class="field"
          value=${text}
          list=${list}
          autocomplete="off"
          aria-invalid=${String(Boolean(wrong))}
          onInput=${(/** @type {any} */ e) => {
            setText(e.target.value);
            setWrong("");
          }} />
      </label>
      <datalist id=${list}>
        ${known.map(
          (word) => html`
            <option value=${word}></option>
          `,
        )}
      </datalist>
      <button class="button" type="submit">Add</button>
      ${
        wrong
          ? html`
              <p class="small bad" role="alert">${wrong}</p>
            `
          : null
      }
    </form>
  `;
}

/** @param {{ids: string[]}} props */
function Say({ ids }) {
  const [text, setText] = useState("");
  const send = async (/** @type {Event} */ e) => {
    e.preventDefault();
    if (!text.trim()) return;
    setText("");
    if (!(await addComment(ids, text.trim()))) setText((typed) => typed || text);
  };
  return html`
    <form class="ask" onSubmit=${send}>
      <label>
        <span class="ink3">Comment</span>
        <textarea
          class="field"
          rows="2"
          maxlength=${LONGEST_COMMENT}
          value=${text}
          onInput=${(/** @type {any} */ e) => setText(e.target.value)}></textarea>
      </label>
      <button class="button" type="submit">Add</button>
    </form>
  `;
}

/** @param {{id: string}} props */
function Comments({ id }) {
  const list = marked.value.get(id)?.comments ?? [];
  return list.map(
    (/** @type {import("../../base/samples/marks.js").Comment} */ comment) => html`
      <p class="comment" key=${comment.id}>
        <span>${h(ModelLine, { text: comment.text })}</span>
        <span class="ink3 small">
          ${h(ModelLine, { text: comment.author })}, ${new Date(comment.time_ns / 1e6).toLocaleString()}
        </span>
        <button class="link small" type="button" onClick=${() => removeComment(id, comment.id)}>Remove</button>
      </p>
    `,
  );
}
