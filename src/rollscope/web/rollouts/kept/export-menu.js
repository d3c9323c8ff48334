/** Take samples with you: a choice of formats that downloads a file. */

import { plural } from "../../base/text/format.js";
import { say } from "../../parts/frame/overlay.js";
import { html } from "../../parts/html.js";
import { view } from "../../state.js";
import { ROOT, file, part } from "../../wire/api.js";

/** @type {[string, string][]} */
const SAMPLES = [
  ["jsonl", "JSON lines"],
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["md", "Markdown"],
];
/** @type {[string, string][]} */
const SET = [
  ["jsonl", "JSON lines"],
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["inspect", "Inspect log"],
  ["hf", "Folder for datasets"],
];

/** @param {{label: string, formats: [string, string][], take: (format: string) => void}} props */
const Menu = ({ label, formats, take }) => html`
  <select
    class="quiet"
    aria-label=${label}
    value=""
    onChange=${(/** @type {any} */ e) => {
      const format = e.target.value;
      e.target.value = "";
      if (format) take(format);
    }}>
    <option value="">Export</option>
    ${formats.map(
      ([format, words]) => html`
        <option value=${format}>${words}</option>
      `,
    )}
  </select>
`;

/** @param {string} url @param {string} [name] */
function download(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name ?? "";
  link.click();
}

/** Samples of this run. @param {{ids: () => string[], name: string}} props */
export const ExportSamples = ({ ids, name }) =>
  Menu({ label: "Export these samples", formats: SAMPLES, take: (format) => save(ids(), format, name) });

/** A set, over its runs. @param {{name: string}} props */
export const ExportSet = ({ name }) =>
  Menu({
    label: `Export the set ${name}`,
    formats: SET,
    take: (format) => download(String(new URL(`api/sets/${part(name)}/export?format=${format}`, ROOT))),
  });

/** @param {string[]} ids @param {string} format @param {string} name */
async function save(ids, format, name) {
  const run = view.value.run;
  say(`Writing ${plural(ids.length, "sample")}`);
  try {
    const url = URL.createObjectURL(await file(`runs/${part(run)}/export`, { ids, format }));
    download(url, `${run}-${name}.${format}`);
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (error) {
    say(/** @type {Error} */ (error).message);
  }
}
