/** Who may do what: API keys and users. For administrators. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { Dialog } from "../actions.js";
import { call, pathOf, post } from "../api.js";
import { Line } from "../copy-line.js";
import { Ask, Confirm } from "./form.js";
import { Table, usePages, When } from "./paged.js";
import { ROLES } from "../service.js";
import { Text } from "../text.js";

const KEYS = "/api/v1/auth/keys";
const USERS = "/api/v1/auth/users";
const PUBLISHERS = "/api/v1/auth/publishers";
const ROLE = { name: "role", label: "Role", options: ROLES };
const SCOPE = { name: "scope", label: "Scope it may publish to", hint: "Without one it cannot publish." };

const badge = ({ role }) => html`<span class="badge">${role}</span>`;
const text = (field) => (row) => html`<${Text}>${row[field] ?? "—"}<//>`;

/** Use a list that dialogs change: its pages, which dialog is open, and how they close. */
export function useChanging(path) {
  const pages = usePages(path);
  const [open, setOpen] = useState({});
  const done = (next = {}) => {
    pages.again();
    setOpen(next);
  };
  return { pages, open, setOpen, done, close: () => setOpen({}) };
}

export function Keys() {
  const { pages, open, setOpen, done, close } = useChanging(KEYS);
  const create = async (given) => done({ made: await post(KEYS, given) });
  const revoke = async () => {
    await call("DELETE", `${KEYS}/${encodeURIComponent(open.revoking.id)}`);
    done();
  };
  const columns = [
    ["Name", text("name")], ["Role", badge], ["Scope", text("scope")],
    ["Made", (key) => html`<${When} at=${key.created_at} />`], ["Last used", (key) => html`<${When} at=${key.last_used_at} />`],
    ["", (key) => (key.revoked_at ? html`<span class="badge">revoked</span>`
      : html`<button class="text" aria-label=${`Revoke ${key.name}`} onClick=${() => setOpen({ revoking: key })}>Revoke</button>`)],
  ];
  return html`<section>
    <div class="heading"><h2>API keys</h2> <button onClick=${() => setOpen({ isNew: true })}>New key</button></div>
    <${Table} name="API keys" pages=${pages} columns=${columns} empty="There are no API keys yet" />
    ${open.isNew && html`<${Ask} title="New API key" word="Create" send=${create} onClose=${close}
      fields=${[{ name: "name", label: "Name", required: true, hint: "What will use it." }, ROLE, SCOPE]} />`}
    ${open.made && html`<${Dialog} title="The new key" onClose=${close}>
      <p>Copy it now: it is not shown again.</p><${Line} name=${open.made.name} text=${open.made.key} isBare />
      <div class="buttons"><button onClick=${close}>Done</button></div><//>`}
    ${open.revoking && html`<${Confirm} title="Revoke this key?" word="Revoke" send=${revoke} onClose=${close}>
      <p><strong><${Text}>${open.revoking.name}<//></strong></p><p>What uses it is refused from now on. This cannot be undone.</p><//>`}
  </section>`;
}

export function Users() {
  const { pages, open, setOpen, done, close } = useChanging(USERS);
  const send = async (method, path, body) => {
    await call(method, path, { body });
    done();
  };
  const at = (user) => `${USERS}/${pathOf(user.name)}`;
  const columns = [
    ["Name", text("name")], ["Role", badge], ["Scope", text("scope")], ["Changed", (user) => html`<${When} at=${user.updated_at} />`],
    ["", (user) => html`<button class="text" aria-label=${`Change ${user.name}`} onClick=${() => setOpen({ changing: user })}>Change</button>
      <button class="text" aria-label=${`Remove ${user.name}`} onClick=${() => setOpen({ removing: user })}>Remove</button>`],
  ];
  const password = { name: "password", label: "Password", type: "password", autocomplete: "new-password", minlength: 12, required: true };
  return html`<section>
    <div class="heading"><h2>Users</h2> <button onClick=${() => setOpen({ isNew: true })}>New user</button></div>
    <${Table} name="Users" pages=${pages} columns=${columns} empty="There are no users yet" />
    ${open.isNew && html`<${Ask} title="New user" word="Add" send=${(given) => send("POST", USERS, given)} onClose=${close}
      fields=${[{ name: "name", label: "Name", required: true, autocomplete: "username" }, password, ROLE, { ...SCOPE, hint: "Without one: the name up to its first slash." }]} />`}
    ${open.changing && html`<${Ask} title=${`Change ${open.changing.name}`} word="Change" user=${open.changing.name} onClose=${close}
      send=${(given) => send("PUT", at(open.changing), given)}
      fields=${[{ ...ROLE, value: open.changing.role }, { ...password, label: "New password", required: false, hint: "Left empty, it stays." }]}>
      <p class="facts">The user signs in anew afterwards.</p><//>`}
    ${open.removing && html`<${Confirm} title="Remove this user?" word="Remove" send=${() => send("DELETE", at(open.removing))} onClose=${close}>
      <p><strong><${Text}>${open.removing.name}<//></strong></p><p>Tokens of this user end at once.</p><//>`}
  </section>`;
}

const GITHUB = [
  { name: "scope", label: "Scope it publishes to", required: true },
  { name: "repository", label: "Repository", required: true, hint: "OWNER/REPOSITORY at GitHub." },
  { name: "owner_id", label: "Number of the owner", required: true, inputmode: "numeric", hint: "`id` of https://api.github.com/users/OWNER: a name can get another owner." },
  { name: "workflow", label: "Workflow", required: true, hint: "The file in .github/workflows, such as publish.yml." },
  { name: "environment", label: "Environment", hint: "Left empty, any." },
  { name: "skills", label: "Skills", hint: "Such as acme/pdf-forms or acme/pdf-*. Left empty, every skill of the scope." },
];
const OTHER = [
  { name: "scope", label: "Scope it publishes to", required: true },
  { name: "name", label: "Name", required: true },
  { name: "issuer", label: "Issuer", required: true, hint: "The https address that its tokens name." },
  { name: "claims", label: "Claims", required: true, hint: "NAME=VALUE, separated by spaces: what its tokens must say." },
  { name: "skills", label: "Skills", hint: "Left empty, every skill of the scope." },
];

const words = (given) => (given ?? "").split(/[\s,]+/).filter(Boolean);
const pairs = (given) => Object.fromEntries(words(given).map((pair) => [pair.split("=")[0], pair.slice(pair.indexOf("=") + 1)]));

/** Workflows that publish without a secret. */
export function Publishers() {
  const { pages, open, setOpen, done, close } = useChanging(PUBLISHERS);
  const add = async (body) => {
    await post(PUBLISHERS, body);
    done();
  };
  const addGitHub = ({ scope, skills, ...github }) => add({ name: github.repository, scope, skills: words(skills), github });
  const addOther = ({ skills, claims, ...given }) => add({ ...given, skills: words(skills), claims: pairs(claims) });
  const remove = async () => {
    await call("DELETE", `${PUBLISHERS}/${encodeURIComponent(open.removing.id)}`);
    done();
  };
  const columns = [
    ["Name", text("name")], ["Scope", text("scope")],
    ["Skills", ({ skills }) => html`<${Text}>${skills.join(", ") || "all"}<//>`],
    ["Must say", ({ issuer, claims }) => html`<${Text}>${issuer}<//><ul>${Object.entries(claims).map(([name, value]) =>
      html`<li><code><${Text}>${name}<//></code> <${Text}>${value}<//></li>`)}</ul>`],
    ["Last used", ({ last_used_at }) => html`<${When} at=${last_used_at} />`],
    ["", (one) => html`<button class="text" aria-label=${`Remove ${one.name}`} onClick=${() => setOpen({ removing: one })}>Remove</button>`],
  ];
  return html`<section>
    <div class="heading"><h2>Trusted publishers</h2> <button onClick=${() => setOpen({ isGitHub: true })}>Add a GitHub workflow</button>
      ${" "}<button class="quiet" onClick=${() => setOpen({ isOther: true })}>Add another issuer</button></div>
    <p class="facts">A workflow that is listed here publishes without a secret: its build server proves which one it is.</p>
    <${Table} name="Trusted publishers" pages=${pages} columns=${columns} empty="There are no trusted publishers yet" />
    ${open.isGitHub && html`<${Ask} title="Add a GitHub workflow" word="Add" send=${addGitHub} onClose=${close} fields=${GITHUB} />`}
    ${open.isOther && html`<${Ask} title="Add another issuer" word="Add" send=${addOther} onClose=${close} fields=${OTHER} />`}
    ${open.removing && html`<${Confirm} title="Remove this publisher?" word="Remove" send=${remove} onClose=${close}>
      <p><strong><${Text}>${open.removing.name}<//></strong></p><p>It publishes no more, and its tokens end at once.</p><//>`}
  </section>`;
}
