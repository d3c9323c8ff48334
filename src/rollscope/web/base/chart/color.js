/** Colours with a meaning: twelve for series, seven for reward, five for density. Links rely on
 * their order. */

export const SERIES = {
  light: [
    "#445DE0",
    "#BE450E",
    "#05A698",
    "#9A4678",
    "#AE901A",
    "#4821AA",
    "#2F86BD",
    "#753000",
    "#6B925C",
    "#725341",
    "#3F5DA1",
    "#45494F",
  ],
  dark: [
    "#7795FF",
    "#EA7E43",
    "#1AE6D4",
    "#A15883",
    "#EDC41E",
    "#7060CF",
    "#6FBEF6",
    "#C04815",
    "#A5DD8F",
    "#CAA793",
    "#6785C6",
    "#8E9299",
  ],
};
export const REWARD = {
  light: ["#B3470B", "#D97B3E", "#EDB891", "#D9DCE1", "#9CC3DC", "#4B93C4", "#1C5F99"],
  dark: ["#F0884A", "#C96A32", "#8A5334", "#4A515C", "#3F6F93", "#4C9AD1", "#86C7F5"],
};
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** @typedef {"light" | "dark"} Theme */

/** Colour and dash of the nth run. The first twelve runs are solid, the next twelve dashed.
 * @param {number} slot @param {Theme} theme */
export function series(slot, theme) {
  const order = SERIES[theme];
  return {
    color: /** @type {string} */ (order[slot % order.length]),
    dash: /** @type {number[]} */ (DASHES[Math.floor(slot / order.length) % DASHES.length]),
  };
}

/** A pattern of a span's name, and the series colour of that kind of work, counted from 1.
 * @type {[RegExp, number][]} */
const KINDS = [
  [/generat|decode|rollout|sample/, 1],
  [/queue|prefill/, 1],
  [/tool|env/, 3],
  [/reward|score|verif/, 5],
  [/prepare|data|advantage|collate/, 10],
  [/forward|logp|log_prob|ref|values/, 6],
  [/backward/, 4],
  [/optim|update_actor|update/, 8],
  [/sync|weight|broadcast/, 2],
  [/eval|valid|test/, 7],
  [/check|save/, 9],
];

/** The colour of a span by its name: the same kind of work has the same colour on every page.
 * @param {string} name @param {Theme} theme */
export const kind = (name, theme) =>
  /** @type {string} */ (SERIES[theme][((KINDS.find(([p]) => p.test(name))?.[1] ?? 12) - 1) % 12]);

/** The colour of a reward within its range, or null without a value.
 * @param {number | null} v @param {number} lo @param {number} hi @param {Theme} theme */
export function reward(v, lo, hi, theme) {
  if (v === null || !Number.isFinite(v)) return null;
  const share = hi > lo ? (v - lo) / (hi - lo) : 0.5;
  return /** @type {string} */ (REWARD[theme][Math.max(0, Math.min(6, Math.floor(share * 7)))]);
}

/** @param {string} hex @returns {[number, number, number]} */
export const rgb = (hex) => [
  parseInt(hex.slice(1, 3), 16),
  parseInt(hex.slice(3, 5), 16),
  parseInt(hex.slice(5, 7), 16),
];

/** One of five colours between `from` and `to`. A square-root scale keeps faint cells visible.
 * @param {number} share @param {string} from @param {string} to */
export function density(share, from, to) {
  const step = Math.ceil(Math.sqrt(Math.max(0, Math.min(1, share))) * 5) / 5;
  const [r, g, b] = rgb(from);
  const [to_r, to_g, to_b] = rgb(to);
  const channels = [r + (to_r - r) * step, g + (to_g - g) * step, b + (to_b - b) * step];
  return `rgb(${channels.map(Math.round).join(" ")})`;
}

/** A colour with reduced opacity. @param {string} color @param {number} share */
export const faint = (color, share) => `color-mix(in srgb, ${color} ${share * 100}%, transparent)`;

const COLORS = 12;

/** Slots for the runs that are shown. A run keeps the slot it had; a new one gets the slot it
 * prefers if that colour is free, else the first free one, else the next dash.
 * @param {Map<string, number>} before @param {string[]} shown
 * @param {(id: string) => number} prefers @returns {Map<string, number>} */
export function slots(before, shown, prefers) {
  /** @type {Map<string, number>} */
  const now = new Map();
  for (const id of shown) {
    const kept = before.get(id);
    if (kept !== undefined) now.set(id, kept);
  }
  const taken = new Set(now.values());
  for (const id of shown) {
    if (now.has(id)) continue;
    const wanted = prefers(id) % COLORS;
    let slot = taken.has(wanted) ? 0 : wanted;
    while (taken.has(slot)) slot++;
    now.set(id, slot);
    taken.add(slot);
  }
  return now;
}
