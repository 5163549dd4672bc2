/** One skill in full: what it is, how to get it, its text, its files, what was found in it, its versions. */

import { html, useEffect, useRef } from "../vendor/htm-3.1.1/standalone.module.js";
import { Action } from "./actions.js";
import { CLEARED, follow, isElsewhere, leave, link } from "./address.js";
import { get, pathOf } from "./api.js";
import { Labels, Risk, Severity, Standing } from "./card.js";
import { Checklist, Evals } from "./checklist.js";
import { File, Files, Rendered } from "./file.js";
import { Install } from "./install.js";
import { Deprecate, Upgrade, Version, Waive } from "./later.js";
import { useLoaded } from "./loaded.js";
import { Download, isPublished } from "./package.js";
import { isRegistry, service, useMay } from "./service.js";
import { Similar } from "./similar.js";
import { Failure, Missing, Notice, Skeletons } from "./states.js";
import { day, Text } from "./text.js";
import { useTitle } from "./title.js";
import { useVersion, Versions } from "./versions.js";
import { isRevoked, WithdrawnBanner, WithdrawnMark } from "./withdrawn.js";

/** Return what the list is called that one came from: the address of a skill does not name it. */
function listName({ q, view }) {
  return q && !view ? `← Skills for “${q.length > 40 ? `${q.slice(0, 40)}…` : q}”` : "← All skills";
}

export function Detail({ id, version, from, file, line, list }) {
  const { data, error, again } = useLoaded((signal) => get(`/api/v1/skills/${pathOf(id)}/view`, signal), [id]);
  useTitle(data?.skill.name);
  return html`<div class="detail" aria-busy=${!data && !error}>
    <p class="back"><a href=${link({ skill: "" }, list.skill ? undefined : list)} onClick=${back}>${listName(list)}</a></p>
    ${error && (error.status === 404
      ? html`<${Missing} title="There is no such skill"><code><${Text}>${id}<//></code> may have been removed or renamed.<//>`
      : html`<${Failure} error=${error} onRetry=${again} />`)}
    ${!data && !error && html`<${Skeletons} count=${3} />`}
    ${data && html`<${Loaded} ...${data} version=${version} from=${from} file=${file} line=${line} onChanged=${again} />`}
  </div>`;
}

function back(event) {
  if (isElsewhere(event)) return;
  event.preventDefault();
  leave();
}

/** Take the keyboard to a heading when it is there, unless it is somewhere already: so that what opened is heard. */
function useFirstFocus() {
  const heading = useRef(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current.focus({ preventScroll: true });
  }, []);
  return heading;
}

/** Return the version that the address names where it is another than the current one, whose files are shown anyway. */
const otherThan = (skill, version) => (version && version !== skill.version && isRegistry(service.get()) ? version : "");

/** Return the skill as it was in another version, or as it is, if there is no `old` one. */
function asIn(skill, old, other) {
  if (!old) return skill;
  const { author, license, description, yanked, withdrawn } = old;
  return { ...skill, version: other, author, license, description, yanked, withdrawn, digest: old.checksum, publisher: undefined, updated_at: old.published_at };
}

function Loaded({ skill, content, files: current, versions, dependents, checklist, evals, version, from, file, line, onChanged }) {
  const heading = useFirstFocus();
  const scope = isPublished(skill, service.get()) ? { ...CLEARED, skill: "", q: "", view: "skills", scope: skill.id.split("/")[0] } : null;
  const other = otherThan(skill, version);
  const old = versions.find((one) => one.version === other);
  const shown = asIn(skill, old, other);
  const isGone = Boolean(other) && (!old || isRevoked(old)); // nobody gets its files any more, or ever
  const { data: older, error, again } = useVersion(skill.id, isGone ? "" : other);
  const files = other ? (older?.files ?? []) : current;
  const text = other ? older?.content : content;
  const isOurs = isRegistry(service.get()) && isPublished(skill, service.get());
  const mayWithdraw = useMay("manager") && isOurs;
  const mayWaive = useMay("admin") && isOurs;
  const mayUpgrade = useMay("manager") && skill.installed && skill.source !== "local";
  const isWaiting = Boolean(other) && !isGone && !older && !error;
  const findings = other ? older?.findings : skill.findings;
  return html`
    <header class="title">
      <div class="what">
        <h1 tabindex="-1" ref=${heading}><${Text}>${skill.name}<//> <small><${Text}>${shown.version}<//></small></h1>
        <p class="head"><code><${Text}>${skill.id}<//></code> ${shown.yanked ? html`<${WithdrawnMark} withdrawn=${shown.withdrawn} />` : html`<${Standing} skill=${skill} />`}
          ${findings && html`<${Risk} risk=${findings.risk} leadsTo="findings" />`}
          ${scope && html`<a href=${link(scope)} onClick=${(event) => follow(event, scope)}>all of <${Text}>${scope.scope}<//></a>`}</p>
        <p class="description"><${Text}>${shown.description}<//></p>
        <${Labels} labels=${skill.tags} field="tag" name="Tags" />
        <${Labels} labels=${skill.capabilities} field="capability" name="Capabilities" />
      </div>
      <${Action} skill=${skill} isFull />
      <${Install} skill=${skill} version=${shown !== skill && isPublished(skill, service.get()) ? other : ""}
        risk=${findings?.risk} yanked=${shown.yanked} isRevoked=${isRevoked(old)} />
    </header>
    ${!version && html`<${WithdrawnBanner} withdrawn=${skill.withdrawn} version=${skill.version} />`}
    <div class="columns">
      <div class="main">
        ${version && (!file || isGone) && isRegistry(service.get()) && html`<${Version} skill=${skill} versions=${versions} version=${version} from=${from} onChanged=${onChanged} />`}
        ${other && html`<${Elsewhere} skill=${skill} version=${other} isEmpty=${isGone || (Boolean(older) && !text)} />`}
        ${isWaiting && html`<${Skeletons} count=${2} />`}
        ${error && html`<${Failure} error=${error} onRetry=${again} what="This version cannot be shown" />`}
        ${!isWaiting && !error && (file && !isGone
          ? html`<${File} key=${file} id=${skill.id} version=${other} path=${file} line=${line} files=${files} />`
          : html`<${Body} id=${skill.id} version=${other} text=${text ?? content} files=${files} />`)}
      </div>
      <aside aria-label="About this skill">
        ${mayUpgrade && html`<${Upgrade} id=${skill.id} onChanged=${onChanged} />`}
        <${Findings} findings=${findings} files=${files}
          waiving=${mayWaive && { id: skill.id, version: other || skill.version, onChanged: other ? again : onChanged }} />
        ${mayWithdraw && html`<${Deprecate} skill=${skill} onChanged=${onChanged} />`}
        <${Facts} skill=${shown} dependents=${dependents} />
        ${!other && html`<${Checklist} ...${checklist} /><${Evals} evals=${evals} />`}
        ${files.length > 0
          ? html`<${Files} files=${files} file=${file}><${Package} skill=${skill} version=${other} /><//>`
          : !isGone && html`<section><${Package} skill=${skill} version=${other} /></section>`}
        <${Versions} id=${skill.id} versions=${versions} shown=${version} />
        <${Similar} skill=${skill} />
      </aside>
    </div>`;
}

/** Say that another version than the current one is shown, or only its description. */
function Elsewhere({ skill, version, isEmpty }) {
  const current = { skill: skill.id };
  return html`<p class="elsewhere">${isEmpty ? "The text below is that of the current version" : html`This is the text of version <${Text}>${version}<//>. The current version is`}
    ${" "}<a href=${link(current)} onClick=${(event) => follow(event, current)}><${Text}>${skill.version}<//></a>.</p>`;
}

function Body({ id, version, text, files }) {
  if (text === "") return html`<${Notice} title="Its SKILL.md has no text below its description" />`;
  if (!text) return html`<${Notice} title="Its text cannot be shown here" />`;
  return html`<${Rendered} id=${id} version=${version} path="SKILL.md" content=${text} files=${files} />`;
}

/** The zip of a skill: the published package itself, or the files of an installed skill. */
function Package({ skill, version }) {
  const status = service.use();
  const shown = version || skill.version;
  const folder = skill.installed ? `/v1/skills/${pathOf(skill.id)}/content` : null;
  const url = skill.download_url?.replace(`/${skill.version}.zip`, `/${shown}.zip`) ?? folder;
  if (!url) return null;
  return html`<p class="download"><${Download} url=${url} status=${status}
    name=${`${skill.id.split("/").pop()}-${shown}.zip`}>Download the package<//></p>`;
}

/** Where something was found; a link to the line where the file can be shown. */
function Place({ file, line, files }) {
  const text = html`<code><${Text}>${file}<//>${line ? `:${line}` : ""}</code>`;
  if (!files.some(({ path }) => path === file)) return text;
  const changes = { file, line: line ? String(line) : "" };
  return html`<a href=${link(changes)} onClick=${(event) => follow(event, changes)}>${text}</a>`;
}

/** What was found in the version that is shown. `waiving` is of what visitors who may waive can waive findings. */
function Findings({ findings, files, waiving }) {
  if (!findings) return null;
  const { findings: all, waivers = [] } = findings;
  const waiversOf = ({ rule, file }) => waivers.filter((one) => one.rule === rule && one.file === (file ?? null));
  return html`<section class="findings">
    <h2 id="findings" tabindex="-1">Findings</h2>
    ${all.length === 0 && html`<p>Nothing dangerous or hidden was found in its texts. This does not prove that it is safe.</p>`}
    <ul>
      ${all.map((finding) => html`<li>
        <${Severity} of=${finding.severity} />
        <p><${Text}>${finding.message}<//></p>
        <p class="facts"><${Place} file=${finding.file} line=${finding.line} files=${files} /> ${finding.rule}
          ${waiving && finding.severity !== "none" && html` <${Waive} ...${waiving} finding=${finding} isWaived=${waiversOf(finding).length > 0} />`}</p>
        ${waiversOf(finding).map((one) => html`<p class="facts waiver">Waived by
          <${Text}>${one.by}<//> on ${day(one.at)}: <${Text}>${one.reason}<//></p>`)}
      </li>`)}
    </ul>
  </section>`;
}

/** Return what a skill requires as one text: programs, variables and systems. */
function required(needs) {
  const { bins = [], any_bins: either = [], env = [], os = [] } = needs || {};
  return [bins.join(", "), either.join(" or "), env.join(", "), os.length ? `on ${os.join(", ")}` : ""].filter(Boolean).join("; ");
}

/** Show a source as a link where it is an address of the web, else as text. */
function Where({ url }) {
  if (!/^https?:\/\//i.test(url)) return html`<${Text}>${url}<//>`;
  return html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow"><${Text}>${url.replace(/^https?:\/\//i, "")}<//></a>`;
}

/** The workflow that has published a skill, its commit and its run, as its build server says; empty without one. */
function runText(publisher) {
  if (!publisher) return "";
  const { issuer, repository, workflow_ref, sha, run_id } = publisher;
  return [workflow_ref || repository || issuer, sha && `commit ${sha.slice(0, 12)}`, run_id && `run ${run_id}`].filter(Boolean).join(", ");
}

/** Show skills that need one another as links: to the skill where its id is known, else to a search for it. */
function Others({ named, exact }) {
  const to = (id) => (exact ? link({ skill: id }) : link({ skill: "", q: id }));
  return named.map(({ id, range }, place) => html`${place > 0 && ", "}<a href=${to(id)}><${Text}>${id}<//></a>${range !== "*" && html` <${Text}>${range}<//>`}`);
}

const needed = (dependency) => {
  const [id, range = "*"] = dependency.split("@");
  return { id, range };
};

function Facts({ skill, dependents }) {
  const exact = isRegistry(service.use());
  const rows = [
    ["Source", skill.source],
    ["Author", skill.author],
    ["License", skill.license],
    ["Published by", runText(skill.publisher)],
    ["Used for", (skill.triggers || []).join(" · ")],
    ["Compatibility", skill.compatibility],
    ["Requires", required(skill.requires)],
    ["Agents", (skill.agents || []).join(", ")],
    ["Allowed tools", (skill.allowed_tools || []).join(" ")],
    ["Cannot be installed", skill.installable === false ? skill.not_installable : ""],
    ["Chosen by", skill.model_invocation === false ? "persons only" : ""],
    ["Updated", day(skill.updated_at)],
    ["Uses", skill.uses_30d && `${skill.uses_30d.toLocaleString("en")} in 30 days`],
    ["Needs", skill.dependencies.length > 0 && html`<${Others} named=${skill.dependencies.map(needed)} exact=${exact} />`],
    ["Needed by", dependents.length > 0 && html`<${Others} named=${dependents} exact=${true} />`],
    ["Runs in", skill.execution_environment],
    ["Time limit", skill.timeout && `${skill.timeout} s`],
    ["Digest", skill.digest],
  ].filter(([, value]) => value);
  return html`<section>
    <h2>About</h2>
    <dl>
      ${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd class=${name === "Digest" ? "digest" : ""}>${typeof value === "string" ? html`<${Text}>${value}<//>` : value}</dd></div>`)}
      ${skill.source_url && html`<div><dt>From</dt><dd><${Where} url=${skill.source_url} /></dd></div>`}
    </dl>
    ${skill.warnings.map((warning) => html`<p class="problem"><${Text}>${warning}<//></p>`)}
  </section>`;
}
