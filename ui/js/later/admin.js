/** How the service is: its index, its model, its sources; who may do what; and what was done. */

import { html, useEffect, useRef, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { address, CLEARED, follow, link } from "../address.js";
import { get, post } from "../api.js";
import { Account } from "./account.js";
import { Live } from "./live.js";
import { Keys, Publishers, Users } from "./people.js";
import { Audit, Jobs } from "./records.js";
import { Reviews } from "./reviews.js";
import { Scopes } from "./scopes.js";
import { isRegistry, needsSignIn, refreshStatus, service, useMay } from "../service.js";
import { session } from "../session.js";
import { Sources } from "./sources.js";
import { Failure, problem } from "../states.js";
import { count, Text } from "../text.js";

const LOOK_EVERY_MS = 400;
const STATUS_EVERY_MS = 5000;

const TABS = { "": "Overview", jobs: "Publish jobs", reviews: "Reviews", account: "Your account", keys: "API keys", users: "Users", publishers: "Publishers", scopes: "Private scopes", audit: "Audit log" };
const PAGES = { jobs: Jobs, reviews: Reviews, account: Account, keys: Keys, users: Users, publishers: Publishers, scopes: Scopes, audit: Audit };

/** Return which pages somebody may see. */
function useTabs(isPublishing) {
  const isHere = isRegistry(service.use());
  const isAdmin = useMay("admin") && isHere;
  const isReader = useMay("user") && isHere && isPublishing;
  const isReviewer = useMay("manager") && isReader;
  const isUser = Boolean(session.use()?.isPerson) && isHere;
  const shown = { "": true, jobs: isReader, reviews: isReviewer, account: isUser, scopes: isPublishing && (isUser || isAdmin) };
  return Object.keys(TABS).filter((tab) => shown[tab] ?? isAdmin);
}

/** How the service is, and for those who may see them, pages about who may do what and what was done. */
export function Admin({ isPublishing }) {
  const tabs = useTabs(isPublishing);
  const { tab } = address.use();
  const Page = tabs.includes(tab) ? (PAGES[tab] ?? Overview) : Overview;
  const row = (one) => {
    const changes = { view: "admin", tab: one };
    return html`<a key=${one} href=${link(changes)} aria-current=${PAGES[one] === Page || (!one && Page === Overview) ? "page" : undefined}
      onClick=${(event) => follow(event, changes)}>${TABS[one]}</a>`;
  };
  return html`<div class="admin">
    <h1>Service</h1>
    ${tabs.length > 1 && html`<nav class="tabs" aria-label="Service">${tabs.map(row)}</nav>`}
    <${Page} />
  </div>`;
}

function Overview() {
  const status = service.use();
  const mayMeasure = useMay("manager") && isRegistry(status);
  const [error, setError] = useState(null);
  useEffect(() => {
    const look = () => refreshStatus().then(() => setError(null), setError);
    look();
    const timer = setInterval(look, STATUS_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return html`
    ${error && html`<${Failure} error=${error} onRetry=${() => refreshStatus().then(() => setError(null), setError)} />`}
    <${Index} status=${status} />
    ${mayMeasure && html`<${Live} />`}
    ${!needsSignIn(status, session.get()) && html`<${Sources} />`}
    <${Skipped} skipped=${status.skipped} />
    <${Warnings} warnings=${status.warnings} />`;
}

function Figure({ name, children, isBad }) {
  return html`<div class=${isBad ? "figure bad" : "figure"}><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Index({ status }) {
  const { provider, model, dim, error } = status.embedding;
  const means = provider ? `Model: ${model} (${provider}, ${dim} dimensions)` : "There is no model: search is by words.";
  return html`<section>
    <h2>Index</h2>
    <dl class="figures">
      <${Figure} name="Service" isBad=${status.status === "degraded"}>${status.status}, ${status.version}<//>
      <${Figure} name="Skills">${status.skills.toLocaleString("en")}<//>
      <${Figure} name="Indexed">${status.indexed.toLocaleString("en")}<//>
      <${Figure} name="Pending" isBad=${status.pending > 0}>${status.pending.toLocaleString("en")}<//>
      <${Figure} name="Drift" isBad=${status.drift !== 0}>${status.drift.toLocaleString("en")}<//>
    </dl>
    ${Object.entries(status.problems ?? {}).map(([part, why]) => html`<p class="problem"><${Text}>${`${part}: ${why}`}<//></p>`)}
    <p><${Text}>${means}<//></p>
    ${error && html`<p class="problem"><${Text}>${error}<//></p>`}
    <${Lists} />
    <${Reindex} />
  </section>`;
}

/** Lists that those want to see who look after skills. */
function Lists() {
  if (!useMay("manager")) return null;
  const to = (changes, name) => {
    const list = { ...CLEARED, view: "skills", ...changes };
    return html`<a href=${link(list)} onClick=${(event) => follow(event, list)}>${name}</a>`;
  };
  return html`<p>${to({ sort: "unused" }, "Least used skills")} · ${to({ status: "disabled" }, "Disabled skills")}</p>`;
}

function told({ status, done, total, rate, eta_seconds: left, error, result }) {
  if (status === "failed") return `It failed: ${error}`;
  if (status === "done") return `Done: ${count(result?.reindexed ?? done, "skill")} in ${((result?.duration_ms ?? 0) / 1000).toFixed(1)} s`;
  return `${done} of ${total || "…"}${rate ? `, ${rate} a second` : ""}${left ? `, ${Math.ceil(left)} s left` : ""}`;
}

function Reindex() {
  const mayChange = useMay("manager");
  const [job, setJob] = useState(null);
  const [error, setError] = useState("");
  const isHere = useRef(true);
  useEffect(() => () => (isHere.current = false), []);
  const run = async (force) => {
    setError("");
    setJob({ status: "running", done: 0, total: 0 });
    try {
      const { job_id: id } = await post("/api/v1/reindex?async=true", { force });
      for (let now = { status: "running" }; isHere.current && now.status === "running"; ) {
        now = await get(`/api/v1/reindex/${id}`);
        setJob(now);
        if (now.status === "running") await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      await refreshStatus();
    } catch (failure) {
      setJob(null);
      setError(problem(failure));
    }
  };
  if (!mayChange) return null;
  const isRunning = job?.status === "running";
  return html`<div class="reindex">
    <div class="buttons">
      <button disabled=${isRunning} onClick=${() => run(false)}>Reindex what changed</button>
      <button class="quiet" disabled=${isRunning} onClick=${() => run(true)}>Reindex everything</button>
    </div>
    ${job && html`<progress aria-label="Reindexing" max=${job.total || 1} value=${isRunning ? job.done : job.total || 1}></progress>`}
    <p role="status">${job && told(job)}</p>
    ${error && html`<p class="problem" role="alert">${error}</p>`}
  </div>`;
}

function Skipped({ skipped }) {
  const rows = Object.entries(skipped ?? {});
  if (rows.length === 0) return null;
  return html`<section>
    <h2>Folders that were skipped</h2>
    <details><summary>${count(rows.length, "folder")}</summary>
      <ul>${rows.map(([folder, why]) => html`<li><code><${Text}>${folder}<//></code> <${Text}>${why}<//></li>`)}</ul>
    </details>
  </section>`;
}

/** What was untidy in skills that were read all the same; each leads to its skill. */
function Warnings({ warnings }) {
  const rows = Object.entries(warnings ?? {});
  if (rows.length === 0) return null;
  return html`<section class="warnings">
    <h2>Skills with warnings</h2>
    <details><summary>${count(rows.length, "skill")}</summary>
      <ul>${rows.map(([id, why]) => {
        const open = { view: "", skill: id };
        return html`<li key=${id}><a href=${link(open)} onClick=${(event) => follow(event, open)}><${Text}>${id}<//></a>:${" "}
          <${Text}>${why.join("; ")}<//></li>`;
      })}</ul>
    </details>
  </section>`;
}
