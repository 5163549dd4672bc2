/** Publishing a package: a zip, or a folder that becomes one, is sent, and its job is followed to its end. */

import { html, useEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { link } from "./address.js";
import { call, get } from "./api.js";
import { forget } from "./catalog.js";
import { useMay } from "./service.js";
import { problem } from "./states.js";
import { Text } from "./text.js";
import { zip } from "./zip.js";

export const ROUTE = "/api/v1/registry/publish";
const LOOK_EVERY_MS = 500;
const LIVE = ["pending", "validating"];
const STEPS = { pending: "Waiting", validating: "Being checked", accepted: "Published", rejected: "Refused" };

/** Return whether the service publishes packages: its own description of itself says so. */
export async function canPublish() {
  try {
    const { paths } = await (await fetch("/schema/openapi.json")).json();
    return ROUTE in paths;
  } catch {
    return false;
  }
}

async function filesBelow(entry, path = "") {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: path + entry.name, bytes: new Uint8Array(await file.arrayBuffer()) }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break; // a reader hands out a hundred at a time
    for (const one of some) found.push(...(await filesBelow(one, `${path}${entry.name}/`)));
  }
  return found;
}

/** Return what was dropped as one package. */
async function packageOf(transfer) {
  const entry = transfer.items[0]?.webkitGetAsEntry?.();
  if (!entry?.isDirectory) return transfer.files[0];
  return new File([zip(await filesBelow(entry))], `${entry.name}.zip`);
}

export function Publish() {
  const mayPublish = useMay("manager");
  const [job, setJob] = useState(null);
  const [error, setError] = useState("");
  const [isOver, setOver] = useState(false);
  const isHere = useRef(true);
  useEffect(() => () => (isHere.current = false), []);

  const send = async (file) => {
    if (!file) return;
    setError("");
    setJob({ status: "pending", name: file.name });
    try {
      const form = new FormData();
      form.append("package", file, file.name);
      let now = await call("POST", ROUTE, { form });
      while (isHere.current && LIVE.includes(now.status)) {
        setJob(now);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
        now = await get(`${ROUTE}/${now.job_id}/status`);
      }
      setJob(now);
      forget();
    } catch (failure) {
      setJob(null);
      setError(problem(failure));
    }
  };
  const drop = async (event) => {
    event.preventDefault();
    setOver(false);
    try {
      await send(await packageOf(event.dataTransfer));
    } catch {
      setError("This folder could not be read");
    }
  };
  if (!mayPublish) return html`<p>Publishing needs the role manager.</p>`;
  return html`<div class="publish">
    <h1>Publish a skill</h1>
    <label class=${isOver ? "drop over" : "drop"} onDrop=${drop} onDragLeave=${() => setOver(false)}
      onDragOver=${(event) => (event.preventDefault(), setOver(true))}>
      <strong>Drop a zip or a folder here</strong>
      <span>or choose a zip; it holds a SKILL.md, and its name and version</span>
      <input type="file" accept=".zip,application/zip" onChange=${(event) => send(event.target.files[0])} />
    </label>
    ${error && html`<p class="problem" role="alert">${error}</p>`}
    <div role="status">${job && html`<${Job} ...${job} />`}</div>
  </div>`;
}

function Job({ status, skill_id: id, version, name, errors = [], warnings = [] }) {
  return html`<section>
    <h2><${Text}>${id ? `${id} ${version ?? ""}` : name}<//></h2>
    <p>${STEPS[status] ?? status}${status === "accepted" && html`: <a href=${link({ view: "", skill: id })}>see it</a>`}${LIVE.includes(status) && html`… <progress aria-label="Publishing"></progress>`}</p>
    <ul>${[...errors, ...warnings].map((one) => html`<li class="problem"><${Text}>${one.message ?? one}<//></li>`)}</ul>
  </section>`;
}
