/** Filters over cards, and how many cards each value has. No browser here: the catalog's worker uses this too. */

export const RISKS = ["none", "low", "waived", "medium", "high"];

/** Return a function that says whether a card passes. The rules are those of the service's own search. */
export function passing({ source, scope, status, risk, author, license, os, agent, tag, capability }) {
  const tags = tag.map((one) => one.toLowerCase());
  const capabilities = capability.map((one) => one.toLowerCase());
  const [wantedAuthor, wantedLicense] = [comparable(author), comparable(license)];
  const most = RISKS.indexOf(risk);
  return (card) =>
    (!source || card.source === source) &&
    (!scope || (card.source === "registry" && card.id.startsWith(`${scope}/`))) &&
    (!status || card.installed === (status === "installed")) &&
    (most < 0 || (card.findings !== null && RISKS.indexOf(card.findings) <= most)) &&
    (!wantedAuthor || comparable(card.author) === wantedAuthor) &&
    (!wantedLicense || comparable(card.license) === wantedLicense) &&
    isFor(card.requires?.os, os) &&
    isFor(card.agents, agent) &&
    holds(card.tags, tags) &&
    holds(card.capabilities, capabilities);
}

/** Return free text as filters compare it. */
export const comparable = (text) => (text ?? "").trim().replaceAll(/\s+/g, " ").toLowerCase();

/** Return whether a card is for a system or an agent: it says so, or it says nothing. */
const isFor = (said, wanted) => !wanted.trim() || !said?.length || said.includes(comparable(wanted));

function holds(labels, wanted) {
  if (wanted.length === 0) return true;
  const there = new Set(labels.map((label) => label.toLowerCase()));
  return wanted.every((label) => there.has(label));
}

const KEPT = 40;

const byCount = (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1);

function most(cards, values) {
  const counts = new Map();
  for (const card of cards) {
    for (const label of values(card) ?? []) {
      const key = label.toLowerCase();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return [...counts].sort(byCount).slice(0, KEPT);
}

/** Return the values of free text that most cards have, each as most of them spell it. */
function mostSpelled(cards, field) {
  const spellings = new Map();
  for (const card of cards) {
    const text = card[field];
    if (text?.trim()) spellings.set(text, (spellings.get(text) ?? 0) + 1);
  }
  const counts = new Map();
  for (const [text, number] of [...spellings].sort(byCount)) {
    const key = comparable(text);
    counts.set(key, [counts.get(key)?.[0] ?? text, (counts.get(key)?.[1] ?? 0) + number]);
  }
  return [...counts.values()].sort(byCount).slice(0, KEPT);
}

/** Return the values most cards have, as `[value, count]`, and how many cards are installed and of each risk. */
export function facets(cards) {
  const risks = Object.fromEntries(RISKS.map((risk) => [risk, 0]));
  let installed = 0;
  for (const card of cards) {
    if (card.findings in risks) risks[card.findings] += 1;
    if (card.installed) installed += 1;
  }
  const values = { tag: most(cards, ({ tags }) => tags), capability: most(cards, ({ capabilities }) => capabilities) };
  const spelled = { author: mostSpelled(cards, "author"), license: mostSpelled(cards, "license") };
  const needs = { os: most(cards, ({ requires }) => requires?.os), agent: most(cards, ({ agents }) => agents) };
  return { ...values, ...spelled, ...needs, risks, installed, total: cards.length };
}

const byName = (a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()) || compare(a.id, b.id);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export const ORDERS = {
  name: byName,
  updated: (a, b) => compare(b.updated_at, a.updated_at) || byName(a, b),
  risk: (a, b) => RISKS.indexOf(b.findings) - RISKS.indexOf(a.findings) || byName(a, b),
};

const NEW = 6;
const TOPICS = 24;
const EXAMPLES = 5;
const A_MINUTE_MS = 60_000;

const latest = (cards, field) => cards.sort((a, b) => compare(b[field], a[field]) || byName(a, b)).slice(0, NEW);

/** Return whether a skill was changed after it was added, rather than added twice by one scan. */
const isUpdated = (card) => Date.parse(card.updated_at) - Date.parse(card.created_at) > A_MINUTE_MS;

/** Return names that read as a query, spread over the catalog: of two to four plain words, without findings. */
function examples(cards) {
  const texts = new Set();
  for (const { name, findings, enabled } of cards) {
    const text = name.toLowerCase().replaceAll(/[-_]+/g, " ").trim();
    if (enabled && findings === "none" && /^[a-z]{3,12}( [a-z]{2,12}){1,3}$/.test(text)) texts.add(text);
  }
  const found = [...texts].sort();
  const step = Math.max(1, Math.floor(found.length / EXAMPLES));
  return found.filter((_, index) => index % step === step >> 1).slice(0, EXAMPLES);
}

/** Return what the start page shows of all cards. */
export function overview(cards) {
  const tags = most(cards, ({ tags }) => tags).slice(0, TOPICS);
  const updated = latest(cards.filter(isUpdated), "updated_at");
  return { created: latest([...cards], "created_at"), updated, tags, examples: examples(cards), total: cards.length };
}
