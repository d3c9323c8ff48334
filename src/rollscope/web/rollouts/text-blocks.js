/** Model text, written straight into the document: in blocks of about 8 kB that cost nothing until
 * they are in view, with tokens as spans. Everything is a text node. Characters that would move,
 * hide or colour other text are pills. */

import { cut } from "../base/samples/diff.js";
import { odd, withPills } from "../base/text/model-text.js";
import { eachLine } from "../wire/lines.js";

/** @typedef {import("../base/samples/diff.js").Ranges} Ranges */

const BLOCK = 8000;
const TOKENS = 4000; // characters in a block of tokens, fewer because each token is an element

/** @param {Node} into @param {string} text */
function write(into, text) {
  if (!odd(text)) {
    into.appendChild(document.createTextNode(text));
    return;
  }
  for (const part of withPills(text)) {
    if (!part.pill) {
      into.appendChild(document.createTextNode(part.text));
      continue;
    }
    const pill = document.createElement("span");
    pill.className = "pill";
    pill.textContent = part.text;
    into.appendChild(pill);
  }
}

/** The end of the block that begins at `from`: at a line break if one is near, never inside a
 * character.
 * @param {string} text @param {number} from */
function blockEnd(text, from) {
  const end = from + BLOCK;
  if (end >= text.length) return text.length;
  const half = from + BLOCK / 2;
  const line = text.slice(half, end).lastIndexOf("\n"); // searching the full text would be slow
  if (line >= 0) return half + line + 1;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

/** Add a text. Marks are ranges that differ; `offset` is the start of the text among them.
 * @param {HTMLElement} host @param {string} text @param {{marks?: Ranges, offset?: number}} [more]
 */
export function writeText(host, text, { marks = [], offset = 0 } = {}) {
  const all = document.createDocumentFragment();
  for (let at = 0; at < text.length;) {
    const end = blockEnd(text, at);
    const block = document.createElement("div");
    block.className = "textblock";
    if (!marks.length) write(block, text.slice(at, end));
    else
      for (const [a, b, inside] of cut(at + offset, end + offset, marks)) {
        if (!inside) {
          write(block, text.slice(a - offset, b - offset));
          continue;
        }
        const span = document.createElement("span");
        span.className = "differs";
        write(span, text.slice(a - offset, b - offset));
        block.appendChild(span);
      }
    all.appendChild(block);
    at = end;
  }
  host.appendChild(all);
}

/** Add the rest of a long text as it arrives, with a pause after each part, so that no frame waits.
 * @param {HTMLElement} host @param {ReadableStream<Uint8Array>} body @param {AbortSignal} gone */
export async function writeSlowly(host, body, gone) {
  let size = 0;
  try {
    await eachLine(body, async (text) => {
      if (gone.aborted) return;
      writeText(host, text);
      size += text.length;
      await new Promise((rested) => setTimeout(rested, 0));
    });
    if (!gone.aborted) host.dataset.whole = String(size);
  } catch {
    // The sample was closed before the end.
  }
}

/** The index of the token that a span shows. @type {WeakMap<Element, number>} */
export const tokenIndex = new WeakMap();

/** Add tokens as coloured spans, and return the spans, so that another colour only changes classes.
 * @param {HTMLElement} host @param {string[]} tokens @param {(index: number) => number} level
 * @param {{first?: number, marks?: Ranges, offset?: number}} [more] */
export function writeTokens(host, tokens, level, { first = 0, marks = [], offset = 0 } = {}) {
  /** @type {HTMLSpanElement[]} */
  const spans = [];
  const all = document.createDocumentFragment();
  let block = document.createElement("div");
  let [size, at, m] = [0, offset, 0];
  block.className = "textblock tokens";
  tokens.forEach((token, i) => {
    if (size > TOKENS || (size > TOKENS / 4 && tokens[i - 1]?.includes("\n"))) {
      all.appendChild(block);
      block = document.createElement("div");
      block.className = "textblock tokens";
      size = 0;
    }
    const span = document.createElement("span");
    if (odd(token)) write(span, token);
    else span.textContent = token;
    const colour = classOf(level(i));
    if (colour) span.className = colour;
    tokenIndex.set(span, first + i);
    while (m < marks.length && /** @type {[number, number]} */ (marks[m])[1] <= at) m++;
    const mark = marks[m];
    if (mark && mark[0] < at + token.length) span.dataset.differs = "";
    block.appendChild(span);
    spans.push(span);
    size += token.length;
    at += token.length;
  });
  all.appendChild(block);
  host.appendChild(all);
  return spans;
}

/** Colour tokens that are on the page.
 * @param {HTMLSpanElement[]} spans @param {(index: number) => number} level */
export function paint(spans, level) {
  spans.forEach((span, i) => {
    const colour = classOf(level(i));
    if (span.className !== colour) span.className = colour;
  });
}

const CLASSES = ["tk n4", "tk n3", "tk n2", "tk n1", "", "tk p1", "tk p2", "tk p3", "tk p4"];
/** The class of a colour level. @param {number} level */
export const classOf = (level) => CLASSES[level + 4] ?? "";
