/** One sample as it happened: the prompt, each turn, each tool call (folded), and what the policy
 * wrote, as text or as coloured tokens. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { duration, plural } from "../base/text/format.js";
import { pieces } from "../base/text/thoughts.js";
import { align, level, valuesOf } from "../base/samples/token-colors.js";
import { IconButton } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { part, streamed } from "../wire/api.js";
import { eachLine } from "../wire/lines.js";
import { Call } from "./call.js";
import { Drawing } from "./drawn/drawing.js";
import { markdownSources } from "./drawn/sources.js";
import { Viewer } from "./drawn/viewer.js";
import { Media } from "./media.js";
import { loaded } from "./selection.js";
import { shownAs } from "./view-words.js";
import { paint, writeSlowly, writeText, writeTokens } from "./text-blocks.js";

/** @typedef {import("../base/samples/token-colors.js").Colour} Colour */
/** @typedef {import("../base/samples/diff.js").Ranges} Ranges */
/** A part of the conversation. The policy wrote a `written` part, which can be compared and
 * coloured. `offset` is its start among the written texts, `more` the characters that are still on
 * the server.
 * @typedef {{role: string, text: string, written: boolean, tool: any | null, offset: number,
 *   more: number, field: string, tokens: [number, number] | null, facts: string}} Part */

/** @type {Part} */
const EMPTY = {
  role: "",
  text: "",
  written: false,
  tool: null,
  offset: 0,
  more: 0,
  field: "",
  tokens: null,
  facts: "",
};

/** The parts of a conversation, from turns, else from texts, else from messages.
 * @param {any} s a sample with its texts @returns {Part[]} */
function partsOf(s) {
  /** @type {Part[]} */
  const out = [];
  const add = (/** @type {Partial<Part>} */ p) => {
    if (p.tool || p.text) out.push({ ...EMPTY, ...p });
  };
  const turns = s.turn_rows ?? [];
  const messages = Array.isArray(s.messages) ? s.messages : [];
  const inputs = messages.filter((/** @type {any} */ m) => m && m.role !== "assistant" && m.role !== "tool");
  if (turns.some((/** @type {any} */ t) => t.role === "user" || t.role === "system")) {
    // The turns hold the prompt.
  } else if (s.prompt) add({ role: "user", text: s.prompt, more: s.whole.prompt - s.prompt.length, field: "prompt" });
  else for (const m of inputs) add({ role: String(m.role ?? "user"), text: textOf(m.content) });
  if (turns.length) for (const t of turns) addTurn(t, add);
  else if (s.completion)
    add({
      role: "assistant",
      text: s.completion,
      written: true,
      more: s.whole.completion - s.completion.length,
      field: "completion",
    });
  else
    for (const m of messages)
      if (m?.role === "assistant" || m?.role === "tool")
        add({ role: m.role, text: textOf(m.content), written: m.role === "assistant" });
  let offset = 0;
  for (const p of out)
    if (p.written) {
      p.offset = offset;
      offset += p.text.length + 1;
    }
  return withTokens(out, s.tokens ?? []);
}

/** @param {any} t @param {(p: Partial<Part>) => void} add */
function addTurn(t, add) {
  const facts = [
    t.tokens === null ? "" : plural(t.tokens, "token"),
    t.seconds === null || t.tool ? "" : duration(t.seconds),
    t.stop_reason && t.stop_reason !== "stop" ? t.stop_reason : "",
  ]
    .filter(Boolean)
    .join(", ");
  if (t.tool) {
    add({ role: "tool", tool: t });
    return;
  }
  const role = t.role || "assistant";
  add({ role, text: t.content ?? "", written: role === "assistant", facts });
  add({ role: `${role} calls`, text: t.arguments ?? "", facts: t.content ? "" : facts });
}

/** The text of a chat message, whose content is a text or a list of parts. @param {any} content */
const textOf = (content) =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((c) => (typeof c === "string" ? c : (c?.text ?? `[${c?.type ?? "part"}]`))).join("\n")
      : content === null || content === undefined
        ? ""
        : JSON.stringify(content);

/** Give the written parts their tokens. A single written part shows its tokens even if they differ
 * from its text.
 * @param {Part[]} parts @param {string[]} tokens */
function withTokens(parts, tokens) {
  const written = parts.filter((p) => p.written);
  if (!tokens.length || !written.length) return parts;
  const texts = written.map((p) => p.text);
  /** @type {[number, number][] | null} */
  const ranges = written.length === 1 ? [[0, tokens.length]] : align(tokens, texts);
  written.forEach((p, i) => {
    p.tokens = ranges?.[i] ?? null;
  });
  return parts;
}

/** The text that the policy wrote, to compare. @param {any} s */
export const written = (s) =>
  partsOf(s)
    .filter((p) => p.written)
    .map((p) => p.text)
    .join("\n");

/** @param {{sample: any, colour: Colour, marks: Ranges, scale: number}} props */
export function Conversation({ sample, colour, marks, scale }) {
  const parts = useMemo(() => partsOf(sample), [sample]);
  return html`
    <div class="conversation">
      ${shownAs.value === "drawn" ? h(Viewer, { sample }) : null}
      ${h(Media, { media: sample.media })}${parts.map((p, i) =>
        p.tool
          ? h(Call, { call: p.tool, key: i })
          : html`
              <section class=${p.written ? "turn written" : "turn"} key=${i}>
                <h3>
                  ${h(ModelLine, { text: p.role })}${
                    p.facts
                      ? html`
                          <span>${" "}${p.facts}</span>
                        `
                      : null
                  }
                  ${h(IconButton, { icon: "copy", label: "Copy this turn", act: () => copyTurn(sample, p) })}
                </h3>
                ${
                  shownAs.value === "markdown"
                    ? h(Rendered, { p, plain: h(PartText, { sample, p, colour, marks: NONE, scale }) })
                    : h(PartText, { sample, p, colour, marks: p.written ? marks : NONE, scale })
                }
              </section>
            `,
      )}
      ${
        sample.let_go
          ? html`
              <p class="read ink2">${sample.let_go}</p>
            `
          : null
      }
      ${
        sample.error
          ? html`
              <section class="turn">
                <h3>error</h3>
                <div class="model mono bad">${h(ModelLine, { text: String(sample.error) })}</div>
              </section>
            `
          : null
      }
      ${
        sample.answer
          ? html`
              <section class="turn">
                <h3>reference answer</h3>
                <div class="model">${h(ModelLine, { text: String(sample.answer).slice(0, 4000) })}</div>
              </section>
            `
          : null
      }
    </div>
  `;
}
/** @type {Ranges} */
const NONE = [];

/** A turn as Markdown, drawn in a frame of its own. @param {{p: Part, plain: any}} props */
function Rendered({ p, plain }) {
  const input = useMemo(() => ({ text: p.text }), [p]);
  return h(Drawing, { label: "The turn as Markdown", sources: markdownSources(), input, plain });
}

/** @param {{sample: any, p: Part, colour: Colour, marks: Ranges, scale: number}} props */
function PartText({ sample, p, colour: wanted, marks, scale }) {
  const colour = p.tokens ? wanted : "plain";
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const spans = useRef(/** @type {HTMLSpanElement[] | null} */ (null));
  const inTokens = colour !== "plain" && p.tokens !== null;
  const shading = () => {
    const values = valuesOf(sample, colour) ?? [];
    const first = p.tokens?.[0] ?? 0;
    return (/** @type {number} */ i) => level(values[first + i], colour, scale);
  };
  useLayoutEffect(() => {
    // In the frame that shows the sample, not one later.
    const box = host.current;
    if (!box) return;
    box.replaceChildren();
    delete box.dataset.whole;
    spans.current = null;
    if (inTokens && p.tokens) {
      spans.current = writeTokens(box, sample.tokens.slice(...p.tokens), shading(), {
        first: p.tokens[0],
        marks,
        offset: p.offset,
      });
      return;
    }
    writeFolded(box, p, marks);
    if (p.more <= 0) return;
    const gone = new AbortController();
    const run = loaded.peek()?.run ?? "";
    const question = { id: sample.id, field: p.field, start: [...p.text].length };
    const later = setTimeout(() => {
      streamed(`runs/${part(run)}/rollouts/text`, question, gone.signal).then(
        (body) => writeSlowly(box, body, gone.signal),
        () => {},
      );
    }, 60); // after the first screen
    return () => {
      clearTimeout(later);
      gone.abort();
    };
  }, [sample, p, inTokens, marks]);
  useLayoutEffect(() => {
    if (!spans.current || !p.tokens) return;
    paint(spans.current, shading());
    if (host.current) host.current.dataset.ink = `tokens=${spans.current.length} colour=${colour}`;
  }, [sample, p, inTokens, marks, colour, scale]);
  return html`
    <div class=${p.written ? "model mono ink" : "model ink"} ref=${host} dir="auto"></div>
  `;
}

/** Write a text with its thoughts folded. @param {HTMLElement} box @param {Part} p
 * @param {Ranges} marks */
function writeFolded(box, p, marks) {
  for (const piece of p.written ? pieces(p.text) : [{ text: p.text, start: 0, thought: false }]) {
    let host = box;
    if (piece.thought) {
      const [fold, head] = [document.createElement("details"), document.createElement("summary")];
      fold.className = "thought";
      head.textContent = `thought, ${plural(piece.text.length, "character")}`;
      host = document.createElement("div");
      fold.append(head, host);
      box.append(fold);
    }
    writeText(host, piece.text, { marks, offset: p.offset + piece.start });
  }
}

/** Copy a turn, with what of it is still on the server. @param {any} sample @param {Part} p */
async function copyTurn(sample, p) {
  let text = p.text;
  if (p.more > 0) {
    const question = { id: sample.id, field: p.field, start: [...p.text].length };
    const path = `runs/${part(loaded.peek()?.run ?? "")}/rollouts/text`;
    await eachLine(await streamed(path, question, new AbortController().signal), async (more) => {
      text += more;
    });
  }
  await navigator.clipboard?.writeText(text);
}
