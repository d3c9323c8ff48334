/** Requests to the server that sent this page, relative to its root. Error messages are the
 * server's sentences. */

import { signal } from "@preact/signals";

/** @param {string} name */
const meta = (name) => document.querySelector(`meta[name="rollscope-${name}"]`)?.getAttribute("content") ?? "";

/** The address of the application, behind any prefix or port forward. */
export const ROOT = new URL(meta("root") || "./", document.baseURI);
const DIGEST = meta("digest");
/** When the server made this page, by the server's clock. */
export const AT = meta("at");
/** Who signed in; empty where the server asks nobody. */
export const USER = meta("user");

/** @type {import("@preact/signals").Signal<{gone: boolean, since: number, wait: number}>} */
export const server = signal({ gone: false, since: 0, wait: 0 });
/** True if the server now serves another version of the web than this page has. */
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
  if (response.status === 401) toSignIn();
  const error = await response.json().catch(() => ({}));
  const says = error.says ?? `the server answered with status ${response.status}`;
  throw new ApiError(response.status, error.error ?? "Error", says);
}

/** The session is over: sign in, and come back here. */
function toSignIn() {
  const here = location.href.slice(ROOT.href.length);
  location.assign(new URL(`sign-in?to=${encodeURIComponent(here)}`, ROOT));
}

/** End the session of this browser. */
export async function signOut() {
  await post("session/end", {});
  location.assign(new URL("sign-in", ROOT));
}

/** The server is gone: try again after 1, 2, 4, 8 seconds, then every 8 seconds. */
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

/** Packed columns, from a request with a body.
 * @param {string} path @param {any} body @param {AbortSignal} [abort] */
export const packed = async (path, body, abort) => (await write(path, body, abort)).arrayBuffer();

/** Packed columns, from a request without a body.
 * @param {string} path @param {AbortSignal} [abort] */
export const columns = async (path, abort) => (await send(path, abort ? { signal: abort } : {})).arrayBuffer();

/** A reply that is read as it arrives. @param {string} path @param {AbortSignal} abort */
export const stream = async (path, abort) =>
  /** @type {ReadableStream<Uint8Array>} */ ((await send(path, { signal: abort })).body);

/** The same, from a request with a body.
 * @param {string} path @param {any} body @param {AbortSignal} abort */
export const streamed = async (path, body, abort) =>
  /** @type {ReadableStream<Uint8Array>} */ ((await write(path, body, abort)).body);

/** A file that the server writes for this request. @param {string} path @param {any} body */
export const file = async (path, body) => (await write(path, body)).blob();

/** @param {string} path @param {any} body @param {AbortSignal} [abort] */
const write = (path, body, abort) =>
  send(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(abort ? { signal: abort } : {}),
  });

/** Take answers in the order of their questions: one that a later answer overtook is dropped.
 * @template T @param {(answer: T) => void} take @returns {(reply: Promise<T>) => Promise<T>} */
export function inOrder(take) {
  let [asked, taken] = [0, 0];
  return async (reply) => {
    const turn = ++asked;
    const answer = await reply;
    if (turn > taken) {
      taken = turn;
      take(answer);
    }
    return answer;
  };
}

/** Escape a part of a path or query. @param {string} text */
export const part = (text) => encodeURIComponent(text);
