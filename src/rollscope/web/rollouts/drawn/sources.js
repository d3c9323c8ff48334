/** The modules that the sandboxed frame runs, as text: fetched when they are first asked for. */

import { get, part } from "../../wire/api.js";

/** @param {string} path relative to this module */
async function text(path) {
  const reply = await fetch(new URL(path, import.meta.url));
  if (!reply.ok) throw new Error(`the server answered with status ${reply.status}`);
  return reply.text();
}

/** @type {Promise<Record<string, string>> | null} */
let markdown = null;
/** Markdown with formulas. */
export const markdownSources = () =>
  (markdown ??= Promise.all([
    text("../../base/text/markdown.js"),
    text("../../vendor/markdown-it.js"),
    text("../../vendor/katex.js"),
  ]).then(([draw = "", library = "", katex = ""]) => ({ markdown: library, katex, draw })));

/** @typedef {import("../../wire/types.gen").ViewerShape} Viewer */
/** @type {Map<string, Promise<Viewer>>} */
const viewers = new Map();
/** The viewer of an environment, asked for once. @param {string} run @param {string} env */
export function viewerOf(run, env) {
  const key = `${run}\n${env}`;
  const known = viewers.get(key) ?? get(`runs/${part(run)}/viewer?env=${part(env)}`);
  viewers.set(key, known);
  return known;
}
