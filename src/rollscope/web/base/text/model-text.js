/** Model output as it is: text in pieces, where whatever would move, hide or colour the rest is a named pill instead. */

// Escape sequences; what is invisible or turns the direction; letters hidden in tags; marks piled on marks; halves of characters.
const MARK = "[\\u0300-\\u036f\\u0483-\\u0489\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]";
const HIDDEN =
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]";
const SPECIAL = new RegExp(
  `\\u001b\\[[0-9;?]*[ -/]*[@-~]|\\u001b\\][ -~]{0,400}(?:\\u0007|\\u001b\\\\)|${MARK}{9,}|${HIDDEN}|\\udb40[\\udc00-\\udfff]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
  "g",
);
const ODD = new RegExp(`${HIDDEN}|[\\ud800-\\udfff]|${MARK}{9}`);

/** May there be something to name? Quick, and never wrongly no. @param {string} text */
export const odd = (text) => ODD.test(text);

/** @typedef {{text: string, pill: boolean}} Piece */

/** Pieces of a text; a pill says what stood there. Line breaks and tabs stay. @param {string} text @returns {Piece[]} */
export function pieces(text) {
  /** @type {Piece[]} */
  const out = [];
  let from = 0;
  for (const found of text.matchAll(SPECIAL)) {
    if (found.index > from) out.push({ text: text.slice(from, found.index), pill: false });
    out.push({ text: named(found[0]), pill: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), pill: false });
  return out;
}

/** @param {string} found */
function named(found) {
  if (found.startsWith("\u001b") && found.length > 1) return `ESC${found.slice(1).replace(/[\u0000-\u001f]/g, "")}`;
  const name = `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return found.length > 2 ? `${name} and ${found.length - 1} marks more` : name;
}

/** The same where only plain text can stand, as in a tip. @param {string} text */
export const spelled = (text) =>
  pieces(text)
    .map((p) => p.text)
    .join("");

/** The first `most` characters on one line, for previews. @param {string} text @param {number} most */
export function preview(text, most) {
  const line = text
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
