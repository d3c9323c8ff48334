/** The thoughts of a text: what stands between <think> and </think>, to be folded. */

/** A piece of a text. `start` is where it begins.
 * @typedef {{text: string, start: number, thought: boolean}} Piece */

const THOUGHT = /<(think|thinking|reasoning)>([\s\S]*?)<\/\1>/g;

/** The pieces of a text in order; a thought that is not closed is no thought.
 * @param {string} text @returns {Piece[]} */
export function pieces(text) {
  /** @type {Piece[]} */
  const out = [];
  let at = 0;
  const add = (/** @type {number} */ end, /** @type {boolean} */ thought) => {
    if (end > at) out.push({ text: text.slice(at, end), start: at, thought });
    at = end;
  };
  for (const match of text.matchAll(THOUGHT)) {
    add(match.index, false);
    add(match.index + match[0].length, true);
  }
  add(text.length, false);
  return out;
}
