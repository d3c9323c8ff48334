/** Requests to the server that sent this page, always relative to its root. Errors are the server's sentences. */

import { signal } from "@preact/signals";

/** @param {string} name */
const meta = (name) => document.querySelector(`meta[name="rollscope-${name}"]`)?.getAttribute("content") ?? "";

/** Where the application lives, whatever prefix or port forward is in front of it. */
export const ROOT = new URL(meta("root") || "./", document.baseURI);
export const DIGEST = meta("digest");
/** When the server made this page, by its clock. */
export const AT = meta("at");

/** @type {import("@preact/signals").Signal<{gone: boolean, since: number, wait: number}>} */
export const server = signal({ gone: false, since: 0, wait: 0 });
/** True when the server answers with another version of the web than this page has. */
export const updated = signal(false);

export class ApiError extends Error {
  /** @param {number} status @param {string} kind @param {string} says */
  constructor(status, kind, says) {
    super(says);
    this.status = status;
    this.kind = kind;
  }
}

/** @param {string} path @param {RequestInit} [options] */
async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(new URL(`api/${path}`, ROOT), options);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    lost();
    throw new ApiError(0, "Gone", "the server does not answer");
  }
  const digest = response.headers.get("x-rollscope-web");
  if (digest && digest !== DIGEST) updated.value = true;
  if (server.value.gone) server.value = { gone: false, since: 0, wait: 0 };
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new ApiError(response.status, said.error ?? "Error", said.says ?? `the server said ${response.status}`);
}

/** Ask for life after 1, 2, 4, 8 seconds, then every 8. */
function lost() {
  if (server.value.gone) return;
  const since = Date.now();
  const again = (/** @type {number} */ wait) => {
    server.value = { gone: true, since, wait };
    setTimeout(async () => {
      try {
        await send("health");
      } catch {
        again(Math.min(8, wait * 2));
      }
    }, wait * 1000);
  };
  again(1);
}

/** @param {string} path @param {AbortSignal} [abort] @returns {Promise<any>} */
export const get = async (path, abort) => (await send(path, abort ? { signal: abort } : {})).json();

/** @param {string} path @param {any} body @param {AbortSignal} [abort] @returns {Promise<any>} */
export const post = async (path, body, abort) => (await write(path, body, abort)).json();

/** Packed columns. @param {string} path @param {any} body @param {AbortSignal} [abort] */
export const packed = async (path, body, abort) => (await write(path, body, abort)).arrayBuffer();

/** Packed columns of a question that needs no body. @param {string} path @param {AbortSignal} [abort] */
export const columns = async (path, abort) => (await send(path, abort ? { signal: abort } : {})).arrayBuffer();

/** An answer that comes bit by bit. @param {string} path @param {AbortSignal} abort */
export const stream = async (path, abort) =>
  /** @type {ReadableStream<Uint8Array>} */ ((await send(path, { signal: abort })).body);

/** The same, of a question with a body. @param {string} path @param {any} body @param {AbortSignal} abort */
export const streamed = async (path, body, abort) =>
  /** @type {ReadableStream<Uint8Array>} */ ((await write(path, body, abort)).body);

/** A file that is written for this question. @param {string} path @param {any} body */
export const file = async (path, body) => (await write(path, body)).blob();

/** @param {string} path @param {any} body @param {AbortSignal} [abort] */
const write = (path, body, abort) =>
  send(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(abort ? { signal: abort } : {}),
  });

/** A path part. @param {string} text */
export const part = (text) => encodeURIComponent(text);
