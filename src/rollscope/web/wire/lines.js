/** Read lines of JSON as they arrive. The next line is read after `take` of the last one resolves,
 * so `take` can pause between lines. */

/** @param {ReadableStream<Uint8Array>} body @param {(line: any) => void | Promise<void>} take */
export async function eachLine(body, take) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) if (line) await take(JSON.parse(line));
  }
}
