/** A live picture of the answering process, from `/metrics`: searches a minute, their latency, the age of the index. */

import { html, useEffect, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { plainTextOf } from "../api.js";

const EVERY_MS = 5000;
const KEPT = 60;
const SEARCH = /route="\/api\/(?:v1\/)?(?:search|resolve)"/;
const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** Return what one reading of the metrics says: searches so far, how many took at most how long, the index. */
export function reading(text, at) {
  const found = { at, searches: 0, below: new Map(), written: null, pending: 0 };
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    const number = Number(value);
    if (name === "skill_registry_request_seconds_bucket" && SEARCH.test(labels)) {
      const limit = Number(/le="([^"]*)"/.exec(labels)[1].replace("+Inf", "Infinity"));
      found.below.set(limit, (found.below.get(limit) ?? 0) + number);
    }
    if (name === "skill_registry_request_seconds_count" && SEARCH.test(labels)) found.searches += number;
    if (name === "skill_registry_index_pending") found.pending = number;
    if (name === "skill_registry_thread_last_success_timestamp_seconds" && labels.includes('"keyword index"')) found.written = number;
  }
  return found;
}

/** Return the time in seconds that this share of the searches between two readings took at most; null without any. */
export function quantile(before, now, share) {
  const limits = [...now.below.keys()].sort((a, b) => a - b);
  const total = now.searches - before.searches;
  if (total <= 0) return null;
  return limits.find((limit) => now.below.get(limit) - (before.below.get(limit) ?? 0) >= share * total) ?? Infinity;
}

function took(seconds) {
  if (seconds === null) return "–";
  if (seconds === Infinity) return "over 10 s";
  return seconds < 1 ? `≤ ${seconds * 1000} ms` : `≤ ${seconds} s`;
}

function age(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** A line of the last five minutes. */
function Curve({ values, name }) {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${KEPT - values.length + index + 1},${(22 - (20 * value) / most).toFixed(2)}`).join(" ");
  return html`<svg class="curve" viewBox="0 0 61 24" preserveAspectRatio="none" role="img" aria-label=${`${name}, the last five minutes, at most ${Math.round(most)}`}>
    <polyline points=${points} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" /></svg>`;
}

function useReadings() {
  const [state, setState] = useState({ readings: [] });
  useEffect(() => {
    const controller = new AbortController();
    const look = () => plainTextOf("/metrics", controller.signal).then(
      (text) => setState(({ readings }) => ({ readings: [...readings, reading(text, Date.now())].slice(-KEPT - 1) })),
      (error) => controller.signal.aborted || setState((now) => ({ ...now, error })),
    );
    look();
    const timer = setInterval(() => document.hidden || look(), EVERY_MS);
    return () => (clearInterval(timer), controller.abort());
  }, []);
  return state;
}

export function Live() {
  const { readings, error } = useReadings();
  const now = readings.at(-1);
  if (!now) return error ? html`<p class="facts">The metrics cannot be read.</p>` : null;
  const first = readings[0];
  const rates = readings.slice(1).map((one, index) => {
    const before = readings[index];
    return (60_000 * Math.max(0, one.searches - before.searches)) / (one.at - before.at);
  });
  const minutes = (now.at - first.at) / 60_000;
  const rate = minutes ? Math.round((now.searches - first.searches) / minutes) : null;
  return html`<section class="live" aria-label="Live">
    <h2>Live <span class="number">of the process that answers, every ${EVERY_MS / 1000} s</span></h2>
    <dl class="figures">
      <div class="figure wide"><dt>Searches a minute</dt><dd>${rate === null ? "–" : rate.toLocaleString("en")}<${Curve} values=${rates} name="Searches a minute" /></dd></div>
      <div class="figure"><dt>Half of them took</dt><dd>${took(quantile(first, now, 0.5))}</dd></div>
      <div class="figure"><dt>95 of 100 took</dt><dd>${took(quantile(first, now, 0.95))}</dd></div>
      <div class="figure"><dt>Index written</dt><dd>${now.written ? `${age(Math.max(0, now.at / 1000 - now.written))} ago` : "–"}</dd></div>
    </dl>
  </section>`;
}
