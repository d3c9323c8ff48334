/** The view in the address: readable, sorted, defaults left out. `parse(format(view))` equals the
 * view. */

/** @typedef {"step" | "time" | "relative" | "tokens" | "samples" | "gpu"} XAxis */
/** @typedef {"linear" | "log" | "symlog" | "robust"} YScale */
/** @typedef {{page: string, run: string, step: number | null, range: [number, number] | null,
 *   runs: string[], x: XAxis, q: string, smooth: number, y: YScale, from: number, norm: boolean,
 *   pin: string[], open: string, large: string, table: string, group: string, section: string,
 *   sample: string, view: string, name: string, sort: string, board: string, cols: string,
 *   by: string, show: string, env: string, margin: string, why: string}} View */

/** Pages of a run in the order of the rail: name, title, key. */
export const PAGES = /** @type {const} */ ([
  ["overview", "Overview", "o"],
  ["metrics", "Metrics", "m"],
  ["rollouts", "Rollouts", "r"],
  ["timeline", "Timeline", "t"],
  ["system", "System", "s"],
  ["environment", "Environment", "n"],
  ["evals", "Evals", "e"],
  ["compare", "Compare", "c"],
  ["findings", "Findings", "f"],
  ["glossary", "Glossary", "w"],
  ["sql", "SQL", "q"],
  ["facts", "Facts", "i"],
  ["console", "Console", "k"],
]);
/** Keys of a view whose value is a text, "" by default. */
const TEXTS = /** @type {const} */ ([
  "q",
  "open",
  "large",
  "table",
  "group",
  "section",
  "sample",
  "view",
  "name",
  "sort",
  "board",
  "cols",
  "by",
  "show",
  "env",
  "margin",
  "why",
]);
const X_AXES = ["step", "time", "relative", "tokens", "samples", "gpu"];
const Y_SCALES = ["linear", "log", "symlog", "robust"];

/** @type {View} */
export const DEFAULTS = {
  page: "runs",
  run: "",
  step: null,
  range: null,
  runs: [],
  x: "step",
  q: "",
  smooth: 0,
  y: "linear",
  from: 0,
  norm: false,
  pin: [],
  open: "",
  large: "",
  table: "",
  group: "",
  section: "",
  sample: "",
  view: "",
  name: "",
  sort: "",
  board: "",
  cols: "",
  by: "",
  show: "",
  env: "",
  margin: "",
  why: "",
};

/** Read a view from an address.
 * @param {string} path below the root, without the leading slash @param {string} search
 * @returns {View} */
export function parse(path, search) {
  const parts = path.split("/").filter(Boolean).map(decode);
  const query = new URLSearchParams(search);
  /** @type {View} */
  const view = { ...DEFAULTS };
  if (parts[0] === "r" && parts[1]) {
    view.run = parts[1];
    view.page = PAGES.some(([p]) => p === parts[2]) ? /** @type {string} */ (parts[2]) : "overview";
  } else if (parts[0] === "glossary") view.page = "glossary";
  else if (parts.length) view.page = "missing";
  const step = Number(query.get("step") ?? "");
  if (query.get("step") && Number.isFinite(step)) view.step = step;
  view.range = range(query.get("range") ?? "");
  view.runs = list(query.get("runs"));
  view.pin = list(query.get("pin"));
  view.x = /** @type {XAxis} */ (one(query.get("x"), X_AXES, "step"));
  view.y = /** @type {YScale} */ (one(query.get("y"), Y_SCALES, "linear"));
  view.smooth = Math.min(0.999, Math.max(0, Number(query.get("smooth") ?? 0) || 0));
  view.from = Math.max(0, Math.floor(Number(query.get("from") ?? 0) || 0));
  view.norm = query.get("norm") === "1";
  for (const key of TEXTS) view[key] = query.get(key) ?? "";
  return fitting(view);
}

/** The view with an axis that its page has: only Compare knows GPU time. @param {View} view */
export const fitting = (view) =>
  view.x === "gpu" && view.page !== "compare" ? { ...view, x: /** @type {XAxis} */ ("step") } : view;

/** The address of a view, below the root. @param {View} view */
export function format(view) {
  const path = view.page === "runs" ? "" : view.run ? `r/${encode(view.run)}/${view.page}` : view.page;
  /** @type {[string, string][]} */
  const query = [];
  for (const key of TEXTS) if (view[key]) query.push([key, view[key]]);
  if (view.step !== null) query.push(["step", String(view.step)]);
  if (view.range) query.push(["range", view.range.join("-")]);
  if (view.runs.length) query.push(["runs", view.runs.join(",")]);
  if (view.pin.length) query.push(["pin", view.pin.join(",")]);
  if (view.x !== "step") query.push(["x", view.x]);
  if (view.y !== "linear") query.push(["y", view.y]);
  if (view.smooth) query.push(["smooth", String(view.smooth).replace(/^0/, "")]);
  if (view.from) query.push(["from", String(view.from)]);
  if (view.norm) query.push(["norm", "1"]);
  query.sort(([a], [b]) => (a < b ? -1 : 1));
  const search = query.map(([key, value]) => `${key}=${encode(value)}`).join("&");
  return path + (search ? `?${search}` : "");
}

/** The view of another page or run. It keeps what belongs to the run if the run is the same.
 * @param {View} view @param {string} run @param {string} page @returns {View} */
export function elsewhere(view, run, page) {
  const blank = Object.fromEntries(TEXTS.map((key) => [key, ""]));
  const other = run === view.run ? {} : { step: null, range: null, runs: [], from: 0 };
  return { ...view, ...blank, ...other, page, run };
}

/** In the address: the samples that name no step. */
export const STEPLESS = "no-step";
/** Where the samples of a step are, or those that name none. @param {number | null} step */
export const placeOf = (step) => ({ step, show: step === null ? STEPLESS : "" });

/** Escape only what a path part or a query value needs, so that addresses stay readable.
 * @param {string} text */
const encode = (text) =>
  encodeURIComponent(text.isWellFormed?.() === false ? text.toWellFormed() : text)
    .replace(/%2F/g, "/")
    .replace(/%2C/g, ",")
    .replace(/%40/g, "@")
    .replace(/%3A/g, ":");

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string | null} text */
const list = (text) => (text ? text.split(",").filter(Boolean) : []);

/** @param {string | null} text @param {string[]} known @param {string} otherwise */
const one = (text, known, otherwise) => (text && known.includes(text) ? text : otherwise);

/** Read a range such as "180-312", also with negative or fractional ends.
 * @param {string} text @returns {[number, number] | null} */
export function range(text) {
  const match = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(text);
  if (!match) return null;
  const [lo, hi] = [Number(match[1]), Number(match[2])];
  return Number.isFinite(lo) && Number.isFinite(hi) && lo < hi ? [lo, hi] : null;
}
