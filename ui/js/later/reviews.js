/** Reviews: the packages that wait to be published, what is in each, and the decision. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { get, pathOf, post } from "../api.js";
import { Severity } from "../card.js";
import { Changes, told } from "./compare.js";
import { changedFiles } from "./diff.js";
import { Ask } from "./form.js";
import { useLoaded } from "../loaded.js";
import { Table, usePages, When } from "./paged.js";
import { fileAt, filesAt } from "../paths.js";
import { Failure, Skeletons } from "../states.js";
import { size, Text } from "../text.js";

const ROUTE = "/api/v1/registry/reviews";
const of = (job) => `${ROUTE}/${encodeURIComponent(job)}`;

export function Reviews() {
  const pages = usePages(ROUTE);
  const [opened, open] = useState("");
  const columns = [
    ["Package", (one) => html`<button class="text" aria-expanded=${opened === one.job_id} onClick=${() => open(opened === one.job_id ? "" : one.job_id)}>
      <${Text}>${`${one.skill_id} ${one.version}`}<//></button>`],
    ["Risk", (one) => html`<${Severity} of=${one.risk} />`],
    ["Size", (one) => html`<span class="number">${size(one.size)}</span>`],
    ["By", (one) => html`<${Text}>${one.uploaded_by}<//>`], ["Since", (one) => html`<${When} at=${one.held_at} />`],
  ];
  const done = () => {
    open("");
    pages.again();
  };
  return html`<section><h2>Reviews</h2>
    <${Table} name="Reviews" pages=${pages} columns=${columns} empty="No package waits for a review" />
    ${opened && html`<${Review} key=${opened} job=${opened} onDone=${done} />`}</section>`;
}

/** Load a package, and what it changes since the version before. */
async function load(job, signal) {
  const review = await get(of(job), signal);
  const before = review.previous ? await get(filesAt(review.skill_id, review.previous), signal) : [];
  return { ...review, changes: changedFiles(before, review.files) };
}

function Review({ job, onDone }) {
  const { data, error, again } = useLoaded((signal) => load(job, signal), [job]);
  const [asked, ask] = useState("");
  if (error) return html`<${Failure} error=${error} onRetry=${again} />`;
  if (!data) return html`<${Skeletons} count=${2} />`;
  const title = `${data.skill_id} ${data.version}`;
  const at = (path) => [data.previous && fileAt(data.skill_id, path, data.previous), `${of(job)}/files/${pathOf(path)}`];
  const send = async ({ reason = "" }) => {
    await post(`${of(job)}/${asked}`, { reason });
    onDone();
  };
  return html`<section class="review" aria-label="Review">
    <h3><${Text}>${title}<//></h3>
    <p><${Text}>${data.description}<//></p>
    <p class="facts"><code class="digest"><${Text}>${data.checksum}<//></code></p>
    ${data.may_decide ? html`<div class="buttons">
      <button class="primary" onClick=${() => ask("approve")}>Approve</button>
      <button class="danger" onClick=${() => ask("reject")}>Reject</button></div>`
      : html`<p class="facts">Another manager of the scope, or an administrator, decides.</p>`}
    <section class="findings"><h3>Findings</h3>
      ${data.findings.length === 0 && html`<p>Nothing dangerous or hidden was found in its texts. This does not prove that it is safe.</p>`}
      <ul>${data.findings.map(({ severity, message, file, line, rule }) => html`<li><${Severity} of=${severity} />
        <p><${Text}>${message}<//></p>
        <p class="facts">${file && html`<code><${Text}>${line ? `${file}:${line}` : file}<//></code> `}${rule}</p></li>`)}</ul></section>
    <section class="compare" aria-label="Changes">
      <div class="head"><h3>${data.previous ? html`Changes since <${Text}>${data.previous}<//>` : "Files"}</h3>
        <span class="facts">${told(data.changes) || "No file differs"}</span></div>
      <${Changes} changes=${data.changes} at=${at} /></section>
    ${asked && html`<${Ask} title=${asked === "approve" ? `Approve ${title}?` : `Reject ${title}?`} word=${asked === "approve" ? "Approve" : "Reject"}
      fields=${[{ name: "reason", label: "Reason", required: true, maxlength: 1000, hint: "The publisher reads it." }]}
      send=${send} onClose=${() => ask("")} />`}
  </section>`;
}
