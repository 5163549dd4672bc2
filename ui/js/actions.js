/** Installing and removing skills: what a skill's button says and does, and what became of it. */

import { html, useLayoutEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { call, pathOf, post } from "./api.js";
import { tellChosen } from "./feedback.js";
import { isPublished, isRecord } from "./package.js";
import { isRegistry, refreshStatus, service, useMay, useMayPublishTo } from "./service.js";
import { problem } from "./states.js";
import { store } from "./store.js";
import { Text } from "./text.js";

/** What was done here, by the id of the card: `{installed, id}` or `{gone: true}`. It counts before the lists' word. */
const done = store(new Map());

function remember(id, what) {
  done.set(new Map(done.get()).set(id, what));
  refreshStatus().catch(() => {}); // only the counts in the header are older then
}

/** Return how a skill is now: `{installed, gone, id}`, `id` being the one to remove it by. */
export function useStanding(skill) {
  const known = done.use((all) => all.get(skill.id));
  return { installed: skill.installed, id: skill.id, ...known };
}

/** Return what can be done with a skill: it is installed from a source, taken off this machine, brought back, or deleted. */
function possible(skill, state, inRegistry) {
  if (state.gone) return state.isKept ? "restore" : null;
  if (state.installed) return "uninstall";
  if (skill.source === "local") return null;
  if (skill.source !== "registry") return "install";
  if (!inRegistry) return null; // others install it on their machines, with the line that its card shows
  return isRecord(skill, service.get()) ? "delete" : "yank";
}

const WORDS = {
  install: ["Install", "Installing…"],
  uninstall: ["Uninstall", "Uninstalling…"],
  restore: ["Bring back", "Bringing back…"],
  delete: ["Delete", "Deleting…"],
  yank: ["Delete", "Deleting…"],
};

async function carryOut(action, skill, state) {
  if (action === "install") {
    await tellChosen(skill.id); // before the search that showed it is out of date
    const made = await post("/api/v1/skills", { skill_id: skill.id, source_name: skill.source });
    return remember(skill.id, { installed: true, id: made?.id ?? skill.id });
  }
  if (action === "restore") {
    await post(`/api/v1/skills/${pathOf(state.id)}/restore`);
    return remember(skill.id, { installed: skill.source !== "registry", gone: false, id: state.id });
  }
  await call("DELETE", `/api/v1/skills/${pathOf(state.id)}`);
  const isListed = action === "uninstall" && skill.source !== "local" && skill.source !== "registry";
  const isKept = action !== "delete"; // the versions of a record are gone for good
  return remember(skill.id, isListed ? { installed: false } : { installed: false, gone: true, isKept, id: state.id });
}

/** The button of a skill, and what it says while and after it works. */
export function Action({ skill, isFull = false }) {
  const state = useStanding(skill);
  const inRegistry = isRegistry(service.use());
  const mayPublish = useMayPublishTo(skill.id);
  const mayChange = useMay("manager") && (mayPublish || !isPublished(skill, service.get()));
  const [phase, setPhase] = useState({});
  const action = possible(skill, state, inRegistry);
  if (!mayChange || !action || (action !== "install" && !isFull)) return null; // a list offers nothing that removes

  const run = async () => {
    setPhase({ isWorking: true });
    try {
      await carryOut(action, skill, state);
      setPhase({});
    } catch (error) {
      setPhase({ error: problem(error) });
    }
  };
  const start = () => (WARNINGS[action] ? setPhase({ isAsking: true }) : run());
  const [word, working] = WORDS[action];
  return html`<div class="action">
    <button class=${action === "install" && isFull ? "primary" : "quiet"} disabled=${phase.isWorking} aria-busy=${phase.isWorking}
      aria-label=${`${word} ${skill.name}`} onClick=${start}>${phase.isWorking ? working : word}</button>
    ${phase.error && html`<p class="problem" role="alert">${phase.error}</p>`}
    ${phase.isAsking &&
    html`<${Confirm} skill=${skill} action=${action} onYes=${run} onNo=${() => setPhase({})} />`}
  </div>`;
}

const WARNINGS = {
  uninstall: "Its folder leaves the skills directory, with everything in it. It can be brought back for a month.",
  delete: "It is removed from the registry for everybody, with all its versions.",
  yank: "All its versions are yanked: it leaves lists and search, and can be brought back. " +
    "Requests that name a version still get its files. To refuse them for ever, an administrator revokes the version.",
};

function Confirm({ skill, action, onYes, onNo }) {
  return html`<${Dialog} title=${`${WORDS[action][0]} this skill?`} onClose=${onNo}>
    <p><strong><${Text}>${skill.name}<//></strong> <code><${Text}>${skill.id}<//></code></p>
    <p>${WARNINGS[action]}</p>
    <div class="buttons">
      <button onClick=${onNo}>Cancel</button>
      <button class="danger" onClick=${onYes}>${WORDS[action][0]}</button>
    </div>
  <//>`;
}

/** A dialog over the page: the browser keeps the focus in it, closes it on Escape and gives the focus back. */
export function Dialog({ title, onClose, children }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${box} aria-label=${title} onClose=${onClose}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}
