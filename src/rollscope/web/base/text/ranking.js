/** How well a text fits a query: the order of the palette and of the glossary. */

/** A score for a text, or -1 if the query does not fit. Starts and full words score most, then all
 * words, then letters in order.
 * @param {string} text @param {string} query */
export function score(text, query) {
  const [hay, needle] = [text.toLowerCase(), query.toLowerCase().trim()];
  if (!needle) return 0;
  const at = hay.indexOf(needle);
  if (at >= 0)
    return (
      1000 -
      Math.min(400, at) -
      Math.min(200, hay.length - needle.length) +
      (at === 0 || /\W|_/.test(hay[at - 1] ?? " ") ? 400 : 0)
    );
  const words = needle.split(/\s+/);
  if (words.length > 1 && words.every((w) => hay.includes(w))) return 500 - Math.min(200, hay.length);
  let [from, spread] = [0, 0];
  for (const letter of needle.replace(/\s/g, "")) {
    const next = hay.indexOf(letter, from);
    if (next < 0) return -1;
    spread += next - from;
    from = next + 1;
  }
  return spread > needle.length * 3 ? -1 : 100 - spread;
}
