/** Take a chart with you: PNG or SVG for print, copied to the clipboard, or its points as CSV. */

import { useEffect, useRef, useState } from "preact/hooks";
import { value } from "../../base/text/format.js";
import { slotOf } from "../../charts/theme-colors.js";
import { csvOf } from "../../charts/export/csv.js";
import { svgOf } from "../../charts/export/svg.js";
import { alive } from "../../charts/plot.js";
import { view } from "../../state.js";
import { shown } from "../../wire/series.js";
import { IconButton } from "../controls.js";
import { say } from "../frame/overlay.js";
import { h, html } from "../html.js";

const SHARP = 3; // pixels of a PNG per pixel of the SVG

/** @param {{name: string, title: string, unit: string}} props */
export function ExportButton({ name, title, unit }) {
  const [open, setOpen] = useState(false);
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return;
    const close = (/** @type {Event} */ e) => {
      if (!host.current?.contains(/** @type {Node} */ (e.target))) setOpen(false);
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, [open]);
  const act = (/** @type {(svg: string, csv: string) => unknown} */ work) => () => {
    setOpen(false);
    const found = drawn(host.current, title, unit);
    if (!found) return say("The chart has not drawn yet");
    Promise.resolve(work(found.svg, found.csv)).catch(() => say("The browser did not allow this"));
  };
  const file = fileName(name);
  return html`
    <span class="anchor" ref=${host}>
      ${h(IconButton, { icon: "download", label: "Take it with you", act: () => setOpen(!open) })}
      ${
        open
          ? html`
              <span class="menu" role="menu">
                ${item(
                  "PNG",
                  act(async (svg) => save(`${file}.png`, await png(svg))),
                )}
                ${item(
                  "SVG",
                  act((svg) => save(`${file}.svg`, new Blob([svg], { type: "image/svg+xml" }))),
                )}
                ${item("Copy image", act(copyImage))}
                ${item(
                  "CSV",
                  act((_, csv) => save(`${file}.csv`, new Blob([csv], { type: "text/csv" }))),
                )}
                ${item(
                  "Copy CSV",
                  act(async (_, csv) => {
                    await navigator.clipboard.writeText(csv);
                    say("Numbers copied");
                  }),
                )}
              </span>
            `
          : null
      }
    </span>
  `;
}

/** @param {string} words @param {() => void} run */
const item = (words, run) => html`
  <button type="button" role="menuitem" onClick=${run}>${words}</button>
`;

/** The chart of the card that an element is in, as SVG and as CSV.
 * @param {HTMLElement | null} element @param {string} title @param {string} unit */
function drawn(element, title, unit) {
  const card = element?.closest(".card");
  const plot = [...alive].find((p) => card?.contains(p.host));
  const chart = plot?.chart;
  if (!chart?.model) return null;
  const several = shown.value.length > 1;
  const slots = chart.model.series.map((/** @type {any} */ s, /** @type {number} */ i) =>
    several ? slotOf(s.run) : i,
  );
  const svg = svgOf(chart.model, {
    title,
    unit: value(1, unit).unit,
    yRange: chart.yRange,
    smoothed: chart.smoothed,
    slots,
  });
  return { svg, csv: csvOf(chart.model.series, view.value.x) };
}

/** A file name without what a file system may refuse. @param {string} name */
const fileName = (name) => `${view.value.run} ${name}`.replace(/[^\w.@-]+/g, "-").slice(0, 120);

/** @param {string} name @param {Blob} blob */
export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {string} svg @returns {Promise<Blob>} */
async function png(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * SHARP, image.height * SHARP];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no image")))));
}

/** @param {string} svg */
async function copyImage(svg) {
  await navigator.clipboard.write([new ClipboardItem({ "image/png": await png(svg) })]);
  say("Image copied");
}
