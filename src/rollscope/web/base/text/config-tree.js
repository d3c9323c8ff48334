/** A configuration as a tree one can search, and what differs between two of them. */

import { number } from "./format.js";

/** @typedef {{key: string, path: string, value: any, children: Node[] | null}} Node */

/** The nodes of a value. @param {any} value @param {string} [path] @returns {Node[]} */
export function nodes(value, path = "") {
  if (!value || typeof value !== "object") return [];
  const pairs = Array.isArray(value) ? value.map((v, i) => [String(i), v]) : Object.entries(value);
  return pairs.map(([key, child]) => {
    const at = path ? `${path}.${key}` : key;
    const inner = child && typeof child === "object" && Object.keys(child).length;
    return { key, path: at, value: child, children: inner ? nodes(child, at) : null };
  });
}

/** The nodes whose path or value has every word; a branch stays if one of its leaves does.
 * @param {Node[]} list @param {string} query @returns {Node[]} */
export function fitting(list, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  /** @param {Node} node @returns {Node[]} */
  const keep = (node) => {
    const text = `${node.path} ${node.children ? "" : written(node.value)}`.toLowerCase();
    if (words.every((word) => text.includes(word))) return [node];
    const children = node.children?.flatMap(keep) ?? [];
    return children.length ? [{ ...node, children }] : [];
  };
  return words.length ? list.flatMap(keep) : list;
}

/** A value as it would be typed. @param {any} value */
export const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Keys whose values differ between two flat configurations, in order.
 * @param {Record<string, any>} here @param {Record<string, any>} before
 * @returns {{key: string, here: any, before: any}[]} */
export function differing(here, before) {
  const keys = [...new Set([...Object.keys(here), ...Object.keys(before)])].sort();
  return keys
    .filter((key) => JSON.stringify(here[key]) !== JSON.stringify(before[key]))
    .map((key) => ({ key, here: here[key], before: before[key] }));
}

/** The run of the same project that was started before this one.
 * @template {{id: string, project: string, started_ns: number}} T
 * @param {T[]} runs @param {string} id @returns {T | undefined} */
export function previous(runs, id) {
  const mine = runs.find((r) => r.id === id);
  if (!mine) return undefined;
  const earlier = runs.filter((r) => r.project === mine.project && r.started_ns < mine.started_ns);
  return earlier.reduce(
    (/** @type {T | undefined} */ best, r) => (!best || r.started_ns > best.started_ns ? r : best),
    undefined,
  );
}

/** A setting as text, in the one format of numbers. @param {any} value */
export function setting(value) {
  if (value === undefined || value === null) return "–";
  if (typeof value !== "number") return written(value);
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : number(value, 6);
}
