/** Notes of the run: write one at the step, and read the others. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, count } from "../../base/text/format.js";
import { go, reload, now, step, ticks, view } from "../../state.js";
import { get, part, post } from "../../wire/api.js";
import { h, html } from "../html.js";
import { say } from "../frame/overlay.js";
import { ModelLine } from "../model-text.js";

/** @typedef {import("../../wire/types.gen").NoteShape} NoteShape */

const SHOWN = ["note", "warning", "loss"];

/** @param {{title: (t: string) => void}} props */
export function Notes({ title }) {
  const run = view.value.run;
  const [list, setList] = useState(/** @type {NoteShape[] | null} */ (null));
  const [again, setAgain] = useState(0);
  useEffect(() => title("Notes"), []);
  useEffect(() => {
    const abort = new AbortController();
    get(`runs/${part(run)}/notes`, abort.signal).then(
      (reply) => setList(reply.notes),
      () => {},
    );
    return () => abort.abort();
  }, [run, again, ticks.value]);
  const shown = (list ?? []).filter((n) => SHOWN.includes(n.kind)).reverse();
  return html`
    ${h(Write, { run, done: () => setAgain(again + 1) })}
    ${
      list && !shown.length
        ? html`
            <p class="read">
              This run has no notes yet. A note appears on the tape at its step. The training can write one with ${" "}
              <code>run.note("lowered lr")</code>
              .
            </p>
          `
        : null
    }
    <div class="notelist">${shown.map((n) => h(Note, { note: n, key: `${n.time_ns} ${n.text}` }))}</div>
  `;
}

/** @param {{run: string, done: () => void}} props */
function Write({ run, done }) {
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  useLayoutEffect(() => {
    box.current?.focus();
  }, []); // before the next key press
  const write = () => {
    if (!text.trim()) return;
    post(`runs/${part(run)}/notes`, { text, step: step.value }).then(
      () => {
        setText("");
        setError("");
        say("Note written");
        reload();
        done();
      },
      (e) => setError(e.message),
    );
  };
  return html`
    <form
      class="notebox"
      onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        write();
      }}>
      <textarea
        ref=${box}
        class="field"
        rows="3"
        maxlength="4000"
        value=${text}
        placeholder="What did you see or change?"
        aria-label=${`Note at step ${step.value}`}
        onInput=${(/** @type {any} */ e) => setText(e.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
          if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
            e.preventDefault();
            write();
          }
        }}></textarea>
      <div class="line">
        <button class="button" type="submit" disabled=${!text.trim()}>Write at step ${count(step.value)}</button>
        <kbd>Ctrl Enter</kbd>
      </div>
      ${
        error
          ? html`
              <p class="read bad" role="alert">${error}</p>
            `
          : null
      }
    </form>
  `;
}

/** @param {{note: NoteShape}} props */
function Note({ note }) {
  const at = note.step;
  return html`
    <article class="noted">
      <p class="small ink3 n">
        ${
          at === null
            ? "the run"
            : html`
                <button type="button" class="link" onClick=${() => go({ step: at }, "replace")}>
                  step ${count(at)}
                </button>
              `
        }${" "}
        ·
        ${" "}${clock(note.time_ns / 1e6, now.value)}${
          note.kind === "note"
            ? ""
            : html`
                ${" "}
                <span class="tag watch">${note.kind}</span>
              `
        }
      </p>
      <p>${h(ModelLine, { text: note.text })}</p>
    </article>
  `;
}
