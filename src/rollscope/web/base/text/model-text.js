/** Model output as safe text. Characters that would move, hide or colour other text become named
 * pills. */

// Pills replace escape sequences, invisible characters, changes of direction, letters hidden in
// tags, piles of combining marks, and lone surrogates.
const MARK = "[\\u0300-\\u036f\\u0483-\\u0489\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]";
const HIDDEN =
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]";
const ESCAPE = "\\u001b\\[[0-9;?]*[ -/]*[@-~]|\\u001b\\][ -~]{0,400}(?:\\u0007|\\u001b\\\\)";
const HIGH_ALONE = "[\\ud800-\\udbff](?![\\udc00-\\udfff])";
const LOW_ALONE = "(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const SPECIAL = new RegExp(`${ESCAPE}|${MARK}{9,}|${HIDDEN}|\\udb40[\\udc00-\\udfff]|${HIGH_ALONE}|${LOW_ALONE}`, "g");
const ODD = new RegExp(`${HIDDEN}|[\\ud800-\\udfff]|${MARK}{9}`);

/** True if the text may need pills. A quick test that never misses one. @param {string} text */
export const odd = (text) => ODD.test(text);

/** @typedef {{text: string, pill: boolean}} Part */

/** Split a text into plain parts and pills. A pill names its character. Line breaks and tabs stay.
 * @param {string} text @returns {Part[]} */
export function withPills(text) {
  /** @type {Part[]} */
  const out = [];
  let from = 0;
  for (const match of text.matchAll(SPECIAL)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), pill: false });
    out.push({ text: named(match[0]), pill: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), pill: false });
  return out;
}

/** The name of a special character or sequence. @param {string} text */
function named(text) {
  if (text.startsWith("\u001b") && text.length > 1) return `ESC${text.slice(1).replace(/[\u0000-\u001f]/g, "")}`;
  const name = `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return text.length > 2 ? `${name} and ${text.length - 1} marks more` : name;
}

/** The text with the names of special characters, for places without elements, such as a tooltip.
 * @param {string} text */
export const spelled = (text) =>
  withPills(text)
    .map((p) => p.text)
    .join("");

/** The first `most` characters on one line, for previews.
 * @param {string} text @param {number} most */
export function preview(text, most) {
  const line = text
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
