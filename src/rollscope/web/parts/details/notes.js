/** Notes of the run: write one at the step, read the others, change or remove them. What was first
 * written stays in the run's files; changes go to the project's log and can be undone. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, count } from "../../base/text/format.js";
import { go, reload, now, step, ticks, view } from "../../state.js";
import { get, part, post } from "../../wire/api.js";
import { tell, undo } from "../../wire/project.js";
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
  const [back, setBack] = useState(/** @type {{says: string, ids: string[]} | null} */ (null));
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
  const done = () => {
    reload();
    setAgain((n) => n + 1);
  };
  const change = (/** @type {NoteShape} */ note, /** @type {string | false} */ value) =>
    tell([{ kind: "edit", name: `${run}/${note.id}`, value }]).then((made) => {
      setBack({ says: value === false ? "Note removed." : "Note changed.", ids: made.map((entry) => entry.id) });
      done();
    });
  const revert = () =>
    undo(back?.ids ?? []).then(
      () => {
        setBack(null);
        done();
      },
      (e) => say(e.message),
    );
  return html`
    ${h(Write, { run, done: () => setAgain((n) => n + 1) })}
    ${
      back
        ? html`
            <p class="read" role="status">
              ${back.says}${" "}
              <button type="button" class="link" onClick=${revert}>Undo</button>
            </p>
          `
        : null
    }
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
    <div class="notelist">${shown.map((n) => h(Note, { note: n, change, key: n.id }))}</div>
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

/** @param {{note: NoteShape,
 *   change: (note: NoteShape, value: string | false) => Promise<void>}} props */
function Note({ note, change }) {
  const at = note.step;
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState("");
  const keep = (/** @type {string | false} */ value) =>
    change(note, value).then(
      () => setDraft(null),
      (e) => setError(e.message),
    );
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
        ${" "}${origin(note)}${
          note.kind === "note"
            ? ""
            : html`
                ${" "}
                <span class="tag watch">${note.kind}</span>
              `
        }
      </p>
      ${
        draft === null
          ? html`
              <p>${h(ModelLine, { text: note.text })}</p>
            `
          : html`
              <textarea
                class="field"
                rows="3"
                maxlength="4000"
                value=${draft}
                aria-label="Words of the note"
                onInput=${(/** @type {any} */ e) => setDraft(e.target.value)}></textarea>
            `
      }
      ${note.kind === "note" ? h(NoteActs, { note, draft, setDraft, keep }) : null}
      ${
        error
          ? html`
              <p class="read bad" role="alert">${error}</p>
            `
          : null
      }
    </article>
  `;
}

/** When, by whom, and if it was changed since. @param {NoteShape} note */
const origin = (note) =>
  [clock(note.time_ns / 1e6, now.value), note.author, note.edited ? "edited" : ""].filter(Boolean).join(", ");

/** @param {{note: NoteShape, draft: string | null, setDraft: (draft: string | null) => void,
 *   keep: (value: string | false) => void}} props */
function NoteActs({ note, draft, setDraft, keep }) {
  if (draft === null)
    return html`
      <p class="line small">
        <button type="button" class="link" onClick=${() => setDraft(note.text)}>Edit</button>
        <button type="button" class="link" onClick=${() => keep(false)}>Remove</button>
      </p>
    `;
  return html`
    <p class="line">
      <button type="button" class="button" disabled=${!draft.trim()} onClick=${() => keep(draft.trim())}>Keep</button>
      <button type="button" class="button" onClick=${() => setDraft(null)}>Cancel</button>
    </p>
  `;
}
