/** The whole catalog, beside the page: thousands of cards are read, filtered and sorted where nobody waits for it. */

import { BASE } from "./base.js";
import { facets, ORDERS, overview, passing } from "./facets.js";

/** Cards of each source, in the order of the sources, sorted by name within. */
let cards = new Map();
let isComplete = false;
let generation = 0;
let loading = Promise.resolve();
let last = { key: null };

async function read(path, headers) {
  let response;
  try {
    response = await fetch(BASE + path, { headers: { Accept: "application/json", ...headers } });
  } catch {
    throw { status: 0, code: "OFFLINE", message: "The service does not answer" };
  }
  const answer = await response.json().catch(() => ({ error: { message: `The service answered ${response.status}` } }));
  if (!answer.success) throw { status: response.status, ...answer.error };
  return answer.data;
}

function keep({ source_name: name, skills }) {
  cards.set(name, skills.sort(ORDERS.name));
  last = { key: null };
}

/** Read what a question needs: one source where it asks for one, else all. */
async function load(source, headers) {
  if (isComplete || (source && cards.has(source))) return;
  const mine = generation;
  if (source) {
    const found = await read(`/api/v1/registry/sources/${encodeURIComponent(source)}/skills`, headers);
    if (mine === generation) keep(found);
    return;
  }
  const { sources } = await read("/api/v1/registry/skills", headers);
  if (mine !== generation) return;
  cards = new Map();
  sources.forEach(keep);
  isComplete = true;
}

function answer({ filters, offset, limit }) {
  const key = JSON.stringify(filters);
  if (last.key !== key) {
    const found = [...cards.values()].flat().filter(passing(filters));
    const order = ORDERS[filters.sort];
    last = { key, found: order ? found.sort(order) : found, facets: facets(found) };
  }
  return { cards: last.found.slice(offset, offset + limit), total: last.found.length, facets: last.facets };
}

const asked = { list: answer, overview: () => overview([...cards.values()].flat()) };

onmessage = async ({ data: { number, question, forget } }) => {
  if (forget) {
    generation += 1;
    cards = new Map();
    isComplete = false;
    last = { key: null };
    return;
  }
  try {
    // One after the other, so that two questions do not load the same twice.
    loading = loading.catch(() => {}).then(() => load(question.filters?.source, question.headers));
    await loading;
    postMessage({ number, page: asked[question.kind](question) });
  } catch (error) {
    postMessage({ number, error: { status: error.status ?? 0, code: error.code, message: error.message } });
  }
};
