/** Why a search gave a skill its rank: asked for when somebody wants to know, once for a page of results. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { post } from "./api.js";
import { problem } from "./states.js";
import { Text } from "./text.js";

const TIERS = {
  exact_name: "Its name is the query, so it comes first.",
  name_prefix: "Its name begins with the query, so it is on the first page.",
};
const PARTS = { words: "words", vectors: "meaning" };

/** Return a function from the id of a skill to the explanation of its rank in this search. */
export function explainer(question) {
  let answer = null;
  return async (id) => {
    answer ??= post("/api/v1/search", { ...question, explain: true });
    try {
      return (await answer).skills.find(({ skill }) => skill.id === id)?.explanation;
    } catch (error) {
      answer = null;
      throw error;
    }
  };
}

export function Explanation({ id, explain }) {
  const [state, setState] = useState({});
  const toggled = async (event) => {
    if (!event.target.open || state.explanation) return;
    setState({ note: "Loading…" });
    try {
      const explanation = await explain(id);
      setState(explanation ? { explanation } : { note: "The catalog has changed since. Search again." });
    } catch (error) {
      setState({ note: problem(error) });
    }
  };
  return html`<details class="explanation" onToggle=${toggled}>
    <summary>Why this rank?</summary>
    ${state.explanation ? html`<${Reasons} ...${state.explanation} />` : state.note && html`<p role="status">${state.note}</p>`}
  </details>`;
}

function Reasons({ tier, evidence, parts, cosine, words, examples }) {
  const sum = Object.entries(parts).map(([part, weight]) => `${PARTS[part] ?? part} ${weight.toFixed(2)}`);
  return html`<div>
    ${TIERS[tier] && html`<p>${TIERS[tier]}</p>`}
    <p>Evidence ${evidence.toFixed(2)} = ${sum.join(" + ")}${cosine === null ? "" : `, cosine ${cosine.toFixed(2)}`}</p>
    ${words.length > 0 && html`<table>
      <thead><tr><th scope="col">Word</th><th scope="col">Weight</th><th scope="col">Found in</th></tr></thead>
      <tbody>${words.map(({ word, weight, fields }) => html`<tr key=${word}>
        <th scope="row"><${Text}>${word}<//></th><td>${weight.toFixed(2)}</td><td>${fields.join(", ")}</td>
      </tr>`)}</tbody>
    </table>`}
    ${examples.length > 0 && html`<p>Others chose it for:</p>
      <ul>${examples.map((example) => html`<li key=${example}><${Text}>${example}<//></li>`)}</ul>`}
  </div>`;
}
