/** What is found: by the service's search where words are given, else the list of the catalog. */

import { useEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { post } from "./api.js";
import { list } from "./catalog.js";
import { explainer } from "./explanation.js";
import { facets, ORDERS } from "./facets.js";

const PAGE = 40;
const SORTED_PAGE = 100; // as many as one answer can have: another order than the ranking's is made of them here

function asked({ q, source, status, risk, tag, capability, sort }, offset) {
  const filters = { tags: tag, capabilities: capability };
  if (source) filters.source = source;
  if (status) filters.installed = status === "installed";
  if (risk) filters.max_risk = risk;
  return { query: q, limit: ORDERS[sort] ? SORTED_PAGE : PAGE, offset, filters };
}

async function searched(address, offset, signal) {
  const question = asked(address, offset);
  const { skills, mode, took_ms: took, warnings, count } = await post("/api/v1/search", question, { signal });
  const order = ORDERS[address.sort];
  if (order) skills.sort((a, b) => order(a.skill, b.skill));
  const explain = explainer(question);
  const hits = skills.map((hit) => ({ ...hit, explain }));
  return { hits, mode, took, warnings, isLast: Boolean(order) || count < question.limit };
}

async function listed(address, offset) {
  const { source, status, risk, tag, capability, sort } = address;
  const page = await list({ source, status, risk, tag, capability, sort }, offset, PAGE);
  const hits = page.cards.map((skill) => ({ skill }));
  return { hits, total: page.total, facets: page.facets, warnings: [], isLast: offset + hits.length >= page.total };
}

function joined(before, page) {
  const pages = [...before.pages, page.hits];
  const isSearch = page.total === undefined;
  const shown = pages.reduce((sum, hits) => sum + hits.length, 0);
  const counted = isSearch ? facets(pages.flat().map((hit) => hit.skill)) : page.facets;
  return { ...page, phase: "ready", isSearch, pages, shown, facets: counted, offset: before.offset + page.hits.length };
}

const NOTHING = { pages: [], offset: 0 };

/**
 * Use what fits the address: `{phase, pages, shown, facets, …}` and `more`, which adds the next page.
 *
 * Only the answer to the newest question is ever taken; until it comes, what was found before stays.
 */
export function useResults(address, isAsked, turn) {
  const [results, setResults] = useState({ phase: "loading", ...NOTHING });
  const newest = useRef(null);
  const { q, source, status, risk, sort } = address;
  const key = JSON.stringify([q.trim(), source, status, risk, address.tag, address.capability, sort, turn]);

  async function ask(before, signal) {
    const question = { ...address, q: q.trim() };
    try {
      const page = await (question.q ? searched : listed)(question, before.offset, signal);
      if (!signal.aborted) setResults(joined(before, page));
    } catch (error) {
      if (!signal.aborted) setResults((now) => ({ ...now, phase: "error", error }));
    }
  }

  useEffect(() => {
    if (!isAsked) return undefined;
    const controller = new AbortController();
    newest.current = controller;
    setResults((now) => ({ ...now, phase: "loading" }));
    ask(NOTHING, controller.signal);
    return () => controller.abort();
  }, [key, isAsked]);

  const more = () => {
    if (results.phase !== "ready" || results.isLast) return;
    setResults((now) => ({ ...now, phase: "more" }));
    ask(results, newest.current.signal);
  };
  return { ...results, more };
}
