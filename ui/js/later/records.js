/** What was done here: publish jobs, and the audit log. */

import { html, useEffect, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "../address.js";
import { post } from "../api.js";
import { Download } from "../package.js";
import { Confirm } from "./form.js";
import { Table, usePages, When } from "./paged.js";
import { useMay } from "../service.js";
import { count, size, Text } from "../text.js";

const LOOK_EVERY_MS = 2000;
const LIVE = ["pending", "validating"];
const KINDS = { accepted: "installed", rejected: "risk-high" };

function Package({ job }) {
  const text = html`<${Text}>${`${job.skill_id} ${job.version}`}<//>`;
  if (job.status !== "accepted") return text;
  const open = { view: "", skill: job.skill_id, version: job.version };
  return html`<a href=${link(open)} onClick=${(event) => follow(event, open)}>${text}</a>`;
}

function Outcome({ job }) {
  const notes = [...job.errors, ...job.warnings];
  return html`<span class=${`badge ${KINDS[job.status] ?? ""}`}>${job.set_aside ? "set aside" : job.status}</span>
    ${notes.length > 0 && html`<details><summary>${count(notes.length, "note")}</summary>
      <ul>${notes.map(({ field, message }) => html`<li>${field && html`<code><${Text}>${field}<//></code> `}<${Text}>${message}<//></li>`)}</ul></details>`}`;
}

const JOBS = "/api/v1/registry/publish";

export function Jobs() {
  const pages = usePages(JOBS);
  const mayRetry = useMay("admin");
  const [retried, setRetried] = useState(null);
  const isLive = pages.rows?.some(({ status }) => LIVE.includes(status));
  useEffect(() => {
    if (!isLive) return undefined;
    const timer = setTimeout(pages.again, LOOK_EVERY_MS);
    return () => clearTimeout(timer);
  }, [pages.rows]);
  const columns = [
    ["Package", (job) => html`<${Package} job=${job} />`], ["Outcome", (job) => html`<${Outcome} job=${job} />`],
    ["Size", (job) => html`<span class="number">${size(job.size)}</span>`], ["By", (job) => html`<${Text}>${job.uploaded_by}<//>`],
    ["Uploaded", (job) => html`<${When} at=${job.uploaded_at} />`],
  ];
  if (mayRetry && pages.rows?.some((job) => job.set_aside)) {
    columns.push(["", (job) => job.set_aside && html`<button class="text" aria-label=${`Retry ${job.skill_id} ${job.version}`}
      onClick=${() => setRetried(job)}>Retry</button>`]);
  }
  const retry = async () => {
    await post(`${JOBS}/${encodeURIComponent(retried.job_id)}/retry`);
    setRetried(null);
    pages.again();
  };
  return html`<section><h2>Publish jobs</h2>
    <${Table} name="Publish jobs" pages=${pages} columns=${columns} empty="Nothing was published yet" />
    ${retried && html`<${Confirm} title="Retry this job?" word="Retry" kind="primary" send=${retry} onClose=${() => setRetried(null)}>
      <p><strong><${Text}>${`${retried.skill_id} ${retried.version}`}<//></strong></p>
      <p>The service died twice during it. If the cause is still there, it dies again.</p><//>`}</section>`;
}

const FILTERS = { actor: "Who", action: "What contains", target: "Changed contains" };

/** Choose the entries of the audit log, and take them along as a file. */
function AuditFilters({ filters, onFilter }) {
  const submit = (event) => {
    event.preventDefault();
    onFilter(Object.fromEntries([...new FormData(event.currentTarget)].filter(([, value]) => value.trim())));
  };
  return html`<form class="buttons choose" role="search" aria-label="Audit log" onSubmit=${submit}>
    ${Object.entries(FILTERS).map(([name, label]) => html`<label>${label} <input name=${name} value=${filters[name] ?? ""} maxlength="200" autocomplete="off" spellcheck="false" /></label>`)}
    <button class="quiet">Filter</button>
    <${Download} url=${`/api/v1/audit/export?${new URLSearchParams(filters)}`} name="audit.ndjson">Download these<//>
  </form>`;
}

export function Audit() {
  const [filters, setFilters] = useState({});
  const pages = usePages("/api/v1/audit", filters);
  const isFiltered = Object.keys(filters).length > 0;
  const filter = (chosen) => {
    pages.turn(0);
    setFilters(chosen);
  };
  const columns = [
    ["When", (entry) => html`<${When} at=${entry.at} />`],
    ["Who", (entry) => html`<${Text}>${entry.actor}<//> <span class="badge">${entry.role}</span>`],
    ["What", (entry) => html`<code><${Text}>${entry.action}<//></code>`],
    ["Changed", (entry) => html`<${Text}>${entry.detail || entry.target}<//>`],
    ["From", (entry) => html`<${Text}>${entry.client}<//>`],
  ];
  return html`<section><h2>Audit log</h2>
    <${AuditFilters} filters=${filters} onFilter=${filter} />
    <${Table} name="Audit log" pages=${pages} columns=${columns} empty=${isFiltered ? "No entry matches" : "Nothing was changed yet"} /></section>`;
}
