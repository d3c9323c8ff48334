/** The legend of a chart with more than four runs: swatch, name, value, the highest first. A line
 * is lit while one points at its name. */

import { difference, worded } from "../../base/text/format.js";

/** @typedef {import("../../charts/model.js").Row} Row */

/** Write the rows into an element, straight, because values change with every move of the pointer.
 * @param {HTMLElement} host @param {Row[]} rows @param {string} unit
 * @param {(at: number) => void} light */
export function writeLegend(host, rows, unit, light) {
  host.hidden = !rows.length;
  while (host.children.length > rows.length) host.lastChild?.remove();
  while (host.children.length < rows.length) host.append(line());
  rows.forEach((row, i) => {
    const item = /** @type {HTMLElement} */ (host.children[i]);
    const [swatch, name, value] = /** @type {HTMLElement[]} */ ([...item.children]);
    if (!swatch || !name || !value) return;
    swatch.style.setProperty("--c", row.color);
    if (name.textContent !== row.name) [name.textContent, item.title] = [row.name, row.name];
    const text = [worded(row.value, unit), difference(row.delta, unit)].filter(Boolean).join(", ");
    if (value.textContent !== text) value.textContent = text;
    item.onpointerenter = () => light(row.at);
    item.onpointerleave = () => light(-1);
  });
}

function line() {
  const item = document.createElement("li");
  const [swatch, name, value] = ["i", "span", "b"].map((tag) => document.createElement(tag));
  if (swatch && name && value) {
    [swatch.className, name.className, value.className] = ["swatch", "cut", "n"];
    item.append(swatch, name, value);
  }
  return item;
}
