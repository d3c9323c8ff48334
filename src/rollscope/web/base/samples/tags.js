/** Tags of a sample: words, or names with words, as a person reads them. */

/** The tags as one text: "hard, side chosen". @param {any} tags a list, an object or a text */
export function tagText(tags) {
  if (Array.isArray(tags)) return tags.map(String).join(", ");
  if (tags && typeof tags === "object")
    return Object.entries(tags)
      .map(([name, word]) => (name === "side" ? String(word) : `${name} ${String(word)}`))
      .join(", ");
  return tags ? String(tags) : "";
}

/** "chosen" or "rejected" for an answer of a pair, else "". @param {string} text tags as JSON */
export function sideOf(text) {
  if (!text.includes("side")) return "";
  try {
    const side = JSON.parse(text)?.side;
    return side === "chosen" || side === "rejected" ? side : "";
  } catch {
    return "";
  }
}
