/** What a careful author gives a skill, and the tasks with which the author tests it. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { count, Text } from "./text.js";

export function Checklist({ met, total, rows }) {
  const row = ({ name, met: isMet, text, advice }) => html`<li key=${name} class=${isMet ? "met" : ""}>
    <span aria-hidden="true">${isMet ? "✓" : "–"}</span> <span class="heard">${isMet ? "Yes:" : "No:"}</span>
    ${text}${!isMet && html`<p class="facts">${advice}</p>`}</li>`;
  return html`<section class="checklist">
    <details><summary><h2>Checklist: ${met} of ${total}</h2></summary><ul>${rows.map(row)}</ul></details>
  </section>`;
}

export function Evals({ evals }) {
  if (!evals) return null;
  const { count: tasks, assertions, cases, problem } = evals;
  const one = ({ prompt, expected_output: expected, assertions: stated }) => html`<li>
    <p><${Text}>${prompt}<//></p>
    ${expected && html`<p class="facts"><${Text}>${expected}<//></p>`}
    ${stated.length > 0 && html`<ul>${stated.map((text) => html`<li class="facts"><${Text}>${text}<//></li>`)}</ul>`}</li>`;
  return html`<section class="evals">
    <h2>Evals</h2>
    ${problem
      ? html`<p class="facts">Its evals/evals.json has no tasks: ${problem}.</p>`
      : html`<p class="facts">Tasks by its author to test it with. Nobody has run them here.</p>
        <details><summary>${count(tasks, "task")}${assertions > 0 && `, ${count(assertions, "assertion")}`}</summary>
          <ol>${cases.map(one)}</ol>${tasks > cases.length && html`<p class="facts">The others are in evals/evals.json.</p>`}</details>`}
  </section>`;
}
