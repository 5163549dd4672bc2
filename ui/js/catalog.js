/** Questions to the whole catalog: what is listed where nothing is searched for. */

import { ApiError, credentials } from "./api.js";
import { keep, session } from "./session.js";

let worker;
let asked = 0;
const waiting = new Map();

function answered({ data: { number, page, error } }) {
  const { resolve, reject } = waiting.get(number);
  waiting.delete(number);
  if (page) return resolve(page);
  if (error.status === 401 && session.get()) keep(null);
  return reject(new ApiError(error.status, error.code, error.message));
}

function started() {
  if (!worker) {
    worker = new Worker(new URL("./catalog-worker.js", import.meta.url), { type: "module" });
    worker.onmessage = answered;
    worker.onerror = () => {
      for (const { reject } of waiting.values()) reject(new ApiError(0, "OFFLINE", "The list could not be made"));
      waiting.clear();
      worker = null;
    };
  }
  return worker;
}

function ask(question) {
  const number = ++asked;
  started().postMessage({ number, question: { ...question, headers: credentials() } });
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

/** Return a page of the cards that pass the filters: `{cards, total, facets}`. Raises ApiError. */
export const list = (filters, offset, limit) => ask({ kind: "list", filters, offset, limit });

/** Return what the start page shows: `{created, updated, tags, examples, total}`. Raises ApiError. */
export const overview = () => ask({ kind: "overview" });

/** Have the next question read the catalog anew. */
export function forget() {
  worker?.postMessage({ forget: true });
}
