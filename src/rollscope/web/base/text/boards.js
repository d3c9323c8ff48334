/** Boards: panels one arranges by hand, as JSON. What is read may come from anywhere: every field
 * is checked, and what cannot be used gets a sentence. */

/** @typedef {{name: string, right?: boolean}} PanelMetric */
/** A panel. `size` is how many columns it spans.
 * @typedef {{id: string, kind: "chart" | "text" | "samples" | "sql", title: string, size: number,
 *   metrics: PanelMetric[], text: string, query: string, order: string}} Panel */
/** @typedef {{panels: Panel[]}} Board */

export const KINDS = /** @type {const} */ ([
  ["chart", "Chart"],
  ["text", "Text"],
  ["samples", "Samples"],
  ["sql", "SQL"],
]);
export const ORDERS = /** @type {const} */ (["worst", "best", "first"]);
const MOST_PANELS = 200;
const MOST_METRICS = 12;
const LONGEST = 20_000;

/** The board in a value, and a sentence for each panel that cannot be used.
 * @param {any} value @returns {{board: Board, problems: string[]}} */
export function read(value) {
  const list = value && typeof value === "object" && Array.isArray(value.panels) ? value.panels : null;
  if (!list) return { board: { panels: [] }, problems: ['A board is an object with a list under "panels".'] };
  /** @type {Panel[]} */
  const panels = [];
  const problems = [];
  if (list.length > MOST_PANELS) problems.push(`Only the first ${MOST_PANELS} of ${list.length} panels are shown.`);
  for (const [i, raw] of list.slice(0, MOST_PANELS).entries()) {
    const panel = panelOf(raw, i);
    if (typeof panel === "string") problems.push(`Panel ${i + 1} is left out: ${panel}`);
    else panels.push(panel);
  }
  return { board: { panels }, problems };
}

/** @param {any} raw @param {number} i @returns {Panel | string} */
function panelOf(raw, i) {
  if (!raw || typeof raw !== "object") return "it is no object.";
  const kind = raw.kind ?? "chart";
  if (!KINDS.some(([known]) => known === kind)) return `its kind ${JSON.stringify(kind)?.slice(0, 40)} is unknown.`;
  const metrics = metricsOf(raw.metrics);
  if (kind === "chart" && !metrics.length) return 'a chart needs names under "metrics".';
  return {
    id: text(raw.id) || `p${i}`,
    kind,
    title: text(raw.title).slice(0, 200),
    size: [1, 2, 3].includes(raw.size) ? raw.size : 1,
    metrics,
    text: text(raw.text).slice(0, LONGEST),
    query: text(raw.query).slice(0, LONGEST),
    order: ORDERS.includes(raw.order) ? raw.order : "worst",
  };
}

/** @param {any} list @returns {PanelMetric[]} */
function metricsOf(list) {
  if (!Array.isArray(list)) return [];
  const all = list.map((one) =>
    typeof one === "string" ? { name: one } : { name: text(one?.name), right: one?.right === true },
  );
  return all.filter((one) => one.name).slice(0, MOST_METRICS);
}

/** @param {any} value */
const text = (value) => (typeof value === "string" ? value : "");

/** The panel as it is kept: without what is empty. @param {Panel} p */
export function kept(p) {
  const metrics = p.metrics.map((m) => (m.right ? { name: m.name, right: true } : { name: m.name }));
  const own = { chart: { metrics }, text: { text: p.text }, sql: { query: p.query }, samples: { order: p.order } }[
    p.kind
  ];
  return { id: p.id, kind: p.kind, ...(p.title ? { title: p.title } : {}), size: p.size, ...own };
}

/** The board with one panel put in, replaced, moved or taken away.
 * @param {Board} board @param {string} id
 * @param {(panels: Panel[], at: number) => Panel[]} change */
export function changed(board, id, change) {
  const at = board.panels.findIndex((p) => p.id === id);
  return { panels: change(board.panels, at) };
}

/** @param {Panel} panel */
export const put = (panel) => (/** @type {Panel[]} */ panels, /** @type {number} */ at) =>
  at < 0 ? [...panels, panel] : panels.map((p, i) => (i === at ? panel : p));

/** @param {number} by */
export const move = (by) => (/** @type {Panel[]} */ panels, /** @type {number} */ at) => {
  const to = Math.max(0, Math.min(panels.length - 1, at + by));
  if (at < 0 || to === at) return panels;
  const rest = panels.filter((_, i) => i !== at);
  return [...rest.slice(0, to), /** @type {Panel} */ (panels[at]), ...rest.slice(to)];
};

/** @param {Panel[]} panels @param {number} at */
export const takeAway = (panels, at) => panels.filter((_, i) => i !== at);
