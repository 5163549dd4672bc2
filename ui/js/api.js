/** The service's HTTP interface: envelopes in, data or an `ApiError` out. */

import { BASE } from "./base.js";
import { keep, session } from "./session.js";

export class ApiError extends Error {
  /** `status` is 0 where the service did not answer at all. */
  constructor(status, code, message, details = []) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

/** Return an id as a part of a path. The slash of a scope stays; nothing else of it can leave its place. */
export function pathOf(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}

export function credentials() {
  return session.get()?.headers ?? {};
}

async function answerOf(path, options) {
  try {
    return await fetch(BASE + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "OFFLINE", "The service does not answer");
  }
}

async function envelopeOf(response) {
  try {
    const envelope = await response.json();
    if (envelope.success) return envelope;
    const { code, message, details } = envelope.error;
    return { failure: new ApiError(response.status, code, message, details) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { failure: new ApiError(response.status, "UNREADABLE", `The service answered ${response.status}`) };
  }
}

async function envelope(method, path, { body, form, signal, headers, cache } = {}) {
  const sent = { Accept: "application/json", ...credentials(), ...headers };
  if (body) sent["Content-Type"] = "application/json";
  const response = await answerOf(path, { method, signal, cache, headers: sent, body: form ?? (body && JSON.stringify(body)) });
  const answer = await envelopeOf(response);
  if (!answer.failure) return answer;
  if (answer.failure.status === 401 && !headers && session.get()) keep(null);
  throw answer.failure;
}

/** Send a request and return its data. A credential that is refused ends the session. */
export const call = async (method, path, options) => (await envelope(method, path, options)).data;

/** Return a page of a list: `{rows, total, facets}`. `filters` are parameters of its query, several values as a list. */
export async function paged(path, limit, offset, signal, filters = {}) {
  const query = new URLSearchParams({ limit, offset });
  for (const [name, values] of Object.entries(filters)) for (const value of [values].flat()) query.append(name, value);
  const { data, pagination, facets } = await envelope("GET", `${path}?${query}`, { signal });
  return { rows: data, total: pagination.total, facets };
}

export const get = (path, signal) => call("GET", path, { signal });
export const post = (path, body = {}, options = {}) => call("POST", path, { body, ...options });

/** Return the bytes of a file. */
export async function blobOf(path) {
  const response = await answerOf(path, { headers: credentials() });
  if (!response.ok) throw (await envelopeOf(response)).failure;
  return response.blob();
}

/** Return a text in UTF-8, or in UTF-16 where its first two bytes say so, as Windows PowerShell writes it. */
function decoded(buffer) {
  const [first, second] = new Uint8Array(buffer).subarray(0, 2);
  const encoding = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(buffer);
}

/** Return the text of a file, or null where it is of another type or has more than `limit` bytes. */
export async function textOf(path, limit, signal, type = "text/plain") {
  const response = await answerOf(path, { signal, headers: credentials() });
  if (!response.ok) throw (await envelopeOf(response)).failure;
  const isText = response.headers.get("Content-Type")?.startsWith(type);
  if (!isText || Number(response.headers.get("Content-Length")) > limit) return null;
  return decoded(await response.arrayBuffer());
}

/** Return a text that is no file of a skill. */
export async function plainTextOf(path, signal) {
  const response = await answerOf(path, { signal, headers: credentials() });
  if (!response.ok) throw (await envelopeOf(response)).failure;
  return response.text();
}
