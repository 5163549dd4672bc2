/** How many of some cards have each value: of the close matches of a search, which only the page tells from weak ones. */

export const RISKS = ["none", "low", "waived", "medium", "high"];

/** Return free text as filters compare it. */
export const comparable = (text) => (text ?? "").trim().replaceAll(/\s+/g, " ").toLowerCase();

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
