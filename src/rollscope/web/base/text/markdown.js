/** Markdown and LaTeX as HTML, in the worker of the sandboxed frame: markup of the text stays text,
 * links and pictures are words, formulas are MathML. */

/** Opening and closing marks of a formula, and if it stands on lines of its own. */
const MATH = /** @type {[string, string, boolean][]} */ ([
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
]);

/** The formula at a place of a text, or null. A single `$` must hug its formula: prices are none.
 * @param {string} text @param {number} at
 * @returns {{math: string, end: number, alone: boolean} | null} */
export function mathAt(text, at) {
  for (const [open, close, alone] of MATH) {
    if (!text.startsWith(open, at)) continue;
    const end = text.indexOf(close, at + open.length);
    const math = end < 0 ? "" : text.slice(at + open.length, end);
    const loose = open === "$" && (/^\s|\s$|\n/.test(math) || /\d/.test(text[end + 1] ?? ""));
    if (!math.trim() || loose) return null;
    return { math, end: end + close.length, alone };
  }
  return null;
}

/** @param {string} text */
const escaped = (text) =>
  text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c] ?? c);

/** @param {any} md @param {(math: string, alone: boolean) => string} formula */
function withMath(md, formula) {
  md.inline.ruler.before("escape", "math", (/** @type {any} */ state, /** @type {boolean} */ silent) => {
    const found = mathAt(state.src, state.pos);
    if (!found) return false;
    if (!silent) Object.assign(state.push("math", "math", 0), { content: found.math, hidden: found.alone });
    state.pos = found.end;
    return true;
  });
  md.renderer.rules.math = (/** @type {any[]} */ tokens, /** @type {number} */ i) =>
    formula(tokens[i].content, tokens[i].hidden);
}

/** @param {{text: string}} input @param {{markdown: any, katex: any}} modules */
export function draw({ text }, { markdown, katex }) {
  const md = markdown.default({ html: false, linkify: false, breaks: true });
  const address = (/** @type {any} */ token, /** @type {string} */ name) => escaped(token.attrGet(name) ?? "");
  md.renderer.rules.link_open = (/** @type {any[]} */ tokens, /** @type {number} */ i) =>
    `<span class="address" title="${address(tokens[i], "href")}">`;
  md.renderer.rules.link_close = () => "</span>";
  md.renderer.rules.image = (/** @type {any[]} */ tokens, /** @type {number} */ i) =>
    `<span class="address">[picture: ${escaped(tokens[i].content)} ${address(tokens[i], "src")}]</span>`;
  const limits = { output: "mathml", throwOnError: false, trust: false, maxSize: 20, maxExpand: 500, strict: "ignore" };
  withMath(md, (math, alone) => katex.default.renderToString(math, { ...limits, displayMode: alone }));
  return md.render(text);
}
