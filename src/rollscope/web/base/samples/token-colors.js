/** The colour of a token: a level from −4 (orange) through 0 (no colour) to 4 (blue). Low logprob
 * and high entropy are orange; advantage and sampler gap use both sides. */

/** @typedef {"plain" | "logprob" | "entropy" | "advantage" | "gap"} Colour */
/** @typedef {{tokens: string[] | null, logp: (number | null)[] | null, old_logp: (number |
 *   null)[] | null, rollout_logp: (number | null)[] | null, entropy: (number | null)[] | null,
 *   token_advantages: (number | null)[] | null, action_mask: number[] | null}} TokenArrays */

export const COLOURS = /** @type {[Colour, string][]} */ ([
  ["plain", "plain"],
  ["logprob", "logprob"],
  ["entropy", "entropy"],
  ["advantage", "advantage"],
  ["gap", "sampler gap"],
]);
const STEPS = { logprob: [0.05, 0.4, 1.2, 3], entropy: [0.1, 0.5, 1.2, 2.2], gap: [0.005, 0.05, 0.2, 0.7] };

/** @type {WeakMap<TokenArrays, (number | null)[] | null>} */
const gaps = new WeakMap();

/** The values behind a colour, one per token, or null if they were not recorded.
 * @param {TokenArrays} s @param {Colour} colour @returns {(number | null)[] | null} */
export function valuesOf(s, colour) {
  const logp = s.logp ?? s.old_logp;
  if (colour === "logprob") return logp ?? s.rollout_logp;
  if (colour === "entropy") return s.entropy;
  if (colour === "advantage") return s.token_advantages;
  if (colour === "gap") {
    if (!gaps.has(s))
      gaps.set(
        s,
        logp && s.rollout_logp
          ? logp.map((v, i) => {
              const r = s.rollout_logp?.[i];
              return v === null || r === null || r === undefined ? null : v - r;
            })
          : null,
      );
    return gaps.get(s) ?? null;
  }
  return null;
}

/** Colours for which a sample has values. @param {TokenArrays} s @returns {Colour[]} */
export const coloursOf = (s) =>
  COLOURS.map(([c]) => c).filter(
    (c) => c === "plain" || (Boolean(s.tokens?.length) && Boolean(valuesOf(s, c)?.some((v) => v !== null))),
  );

/** The colour level of a value.
 * @param {number | null | undefined} v @param {Colour} colour
 * @param {number} scale the largest advantage on the screen */
export function level(v, colour, scale) {
  if (v === null || v === undefined || Number.isNaN(v)) return 0;
  if (colour === "advantage")
    return scale > 0 ? Math.sign(v) * Math.min(4, Math.ceil((Math.abs(v) / scale) * 4 - 1e-9)) : 0;
  const edges = STEPS[/** @type {"logprob" | "entropy" | "gap"} */ (colour)] ?? [];
  let size = 0;
  while (size < edges.length && Math.abs(v) >= /** @type {number} */ (edges[size])) size++;
  return colour === "gap" && v > 0 ? size : -size || 0;
}

/** The legend of a colour: levels with the value at which each begins.
 * @param {Colour} colour @param {number} scale the largest advantage on the screen
 * @returns {{level: number, from: number}[]} */
export function legend(colour, scale) {
  if (colour === "plain") return [];
  if (colour === "advantage") return [-4, -2, 0, 2, 4].map((level) => ({ level, from: (level / 4) * (scale || 0) }));
  const edges = STEPS[colour];
  const low = edges.map((edge, i) => ({ level: -(i + 1), from: colour === "entropy" ? edge : -edge }));
  if (colour !== "gap") return [{ level: 0, from: 0 }, ...low];
  return [...low.reverse(), { level: 0, from: 0 }, ...edges.map((edge, i) => ({ level: i + 1, from: edge }))];
}

/** The token range of each turn, found by its text in the joined tokens, or null if a text is not
 * there.
 * @param {string[]} tokens @param {string[]} texts @returns {[number, number][] | null} */
export function align(tokens, texts) {
  /** @type {[number, number][]} */
  const out = [];
  let t = 0,
    at = 0;
  const joined = tokens.join("");
  for (const text of texts) {
    const start = joined.indexOf(text, at);
    if (!text || start < 0) return null;
    while (t < tokens.length && at + (tokens[t]?.length ?? 0) <= start) at += tokens[t++]?.length ?? 0;
    const from = t,
      end = start + text.length;
    while (t < tokens.length && at < end) at += tokens[t++]?.length ?? 0;
    out.push([from, t]);
  }
  return out;
}
