/** Model output as it is: text in pieces, where whatever would move, hide or colour the rest is a named pill instead. */

const SPECIAL = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\u206a-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

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
  if (found.length > 1) return `ESC${found.slice(1).replace(/[\u0000-\u001f]/g, "")}`;
  return `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The first `most` characters on one line, for previews. @param {string} text @param {number} most */
export function preview(text, most) {
  const line = text.slice(0, most * 4).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
