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
