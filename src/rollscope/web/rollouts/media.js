/** Images and videos of a sample: thumbnails, and a large view on a click. A missing file is a
 * hatched box with its path. */

import { useLayoutEffect, useState } from "preact/hooks";
import { spelled } from "../base/text/model-text.js";
import { bind } from "../keys.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { ROOT, part } from "../wire/api.js";
import { loaded } from "./selection.js";

/** @param {string} path */
const address = (path) =>
  new URL(`api/runs/${part(loaded.value?.run ?? "")}/media/${path.split("/").map(part).join("/")}`, ROOT).href;
/** True if a path stays below the run's folder as written. The server checks where it really leads.
 * @param {string} path */
const inside = (path) =>
  path !== "" &&
  !/^[\\/]/.test(path) &&
  !/^[a-z][a-z0-9+.-]*:/i.test(path) &&
  path.isWellFormed() &&
  !path.split(/[\\/]/).includes("..");

/** @param {{media: any}} props */
export function Media({ media }) {
  const list = (Array.isArray(media) ? media : []).map((m) => ({
    kind: String(m?.kind ?? ""),
    path: String(m?.path ?? m ?? ""),
  }));
  return list.length
    ? html`
        <div class="media">
          ${list.slice(0, 24).map((m) => h(One, { ...m, key: m.path }))}${
            list.length > 24
              ? html`
                  <span class="ink3">and ${list.length - 24} more</span>
                `
              : null
          }
        </div>
      `
    : null;
}

/** @param {{kind: string, path: string}} props */
function One({ kind, path }) {
  const [missing, setMissing] = useState(!inside(path));
  const [large, setLarge] = useState(false);
  useLayoutEffect(
    () => (large ? bind([{ keys: ["Escape"], says: "close the large view", run: () => setLarge(false) }]) : undefined),
    [large],
  );
  if (missing)
    return html`
      <span class="missing hatch" title=${spelled(`This file is missing or outside the run's folder: ${path}`)}>
        <span class="cut">${h(ModelLine, { text: path })}</span>
      </span>
    `;
  const video = kind === "video" || /\.(mp4|webm|mov|m4v)$/i.test(path);
  const thumb = video
    ? html`
        <video src=${address(path)} preload="metadata" muted onError=${() => setMissing(true)}></video>
      `
    : html`
        <img src=${address(path)} alt=${spelled(path)} loading="lazy" onError=${() => setMissing(true)} />
      `;
  return html`
    <button class="thumb" type="button" title=${spelled(path)} onClick=${() => setLarge(true)}>${thumb}</button>
    ${
      large
        ? html`
            <div class="veil" onClick=${() => setLarge(false)}>
              <figure class="sheet">
                ${
                  video
                    ? html`
                        <video src=${address(path)} controls autoplay></video>
                      `
                    : html`
                        <img src=${address(path)} alt=${spelled(path)} />
                      `
                }
                <figcaption class="small ink3">${h(ModelLine, { text: path })}</figcaption>
              </figure>
            </div>
          `
        : null
    }
  `;
}
