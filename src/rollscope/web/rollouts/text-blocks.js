/** Model text on the page, straight into the document: blocks of about 8 kB that cost nothing until they are scrolled to, tokens as spans inside them.
 *  Everything is a text node. What would move, hide or colour the rest is a pill. */

import { cut } from "../base/samples/diff.js";
import { odd, pieces } from "../base/text/model-text.js";
import { eachLine } from "../wire/lines.js";

/** @typedef {import("../base/samples/diff.js").Ranges} Ranges */

const BLOCK = 8000;
const TOKENS = 4000; // characters of a block of tokens at most: each token is an element, so no more of them are styled than a screen needs

/** @param {Node} into @param {string} text */
function write(into, text) {
  if (!odd(text)) {
    into.appendChild(document.createTextNode(text));
    return;
  }
  for (const piece of pieces(text)) {
    if (!piece.pill) {
      into.appendChild(document.createTextNode(piece.text));
      continue;
    }
    const pill = document.createElement("span");
    pill.className = "pill";
    pill.textContent = piece.text;
    into.appendChild(pill);
  }
}

/** Where a block that begins at `from` ends: at a line break if one is near, never inside a character. @param {string} text @param {number} from */
export function blockEnd(text, from) {
  const end = from + BLOCK;
  if (end >= text.length) return text.length;
  const half = from + BLOCK / 2;
  const line = text.slice(half, end).lastIndexOf("\n"); // in a slice: over the whole text a search for what is not there would be slow
  if (line >= 0) return half + line + 1;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

/** Add a text. Marks are stretches that differ; `offset` is where the text begins among them.
 *  @param {HTMLElement} host @param {string} text @param {{marks?: Ranges, offset?: number}} [more] */
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

/** Add the rest of a long text piece by piece as it comes, so that no frame waits for it. @param {HTMLElement} host @param {ReadableStream<Uint8Array>} body @param {AbortSignal} gone */
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
    /* left before all of it had come */
  }
}

/** Which token a span is. @type {WeakMap<Element, number>} */
export const placeOf = new WeakMap();

/** Tokens as spans in their colours; gives them, so that another colour is only another class.
 *  @param {HTMLElement} host @param {string[]} tokens @param {(index: number) => number} level @param {{first?: number, marks?: Ranges, offset?: number}} [more] */
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
    const colour = look(level(i));
    if (colour) span.className = colour;
    placeOf.set(span, first + i);
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

/** @param {HTMLSpanElement[]} spans @param {(index: number) => number} level */
export function paint(spans, level) {
  spans.forEach((span, i) => {
    const colour = look(level(i));
    if (span.className !== colour) span.className = colour;
  });
}

const LOOKS = ["tk n4", "tk n3", "tk n2", "tk n1", "", "tk p1", "tk p2", "tk p3", "tk p4"];
/** @param {number} level */
const look = (level) => LOOKS[level + 4] ?? "";
