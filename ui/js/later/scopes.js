/** Private scopes and their members: those of who is signed in, for administrators all. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { call, pathOf, post } from "../api.js";
import { BASE } from "../base.js";
import { Ask, Confirm } from "./form.js";
import { Table, When } from "./paged.js";
import { useChanging } from "./people.js";
import { useMay } from "../service.js";
import { session } from "../session.js";
import { Text } from "../text.js";

const SCOPES = "/api/v1/private-scopes";
const SERVICE = BASE.replace(/\/scopes\/[^/]+$/, ""); // the page of a private scope is below the service
const ROLE = { name: "role", label: "Role", options: ["reader", "publisher", "owner"] };

const role = (row) => (row.role ? html`<span class="badge">${row.role}</span>` : "");

function Members({ scope, mayChange, onChange }) {
  const path = `${SCOPES}/${encodeURIComponent(scope)}/members`;
  const { pages, open, setOpen, done, close } = useChanging(path);
  const visitor = session.use();
  const change = async (method, user, body) => {
    await call(method, `${path}/${pathOf(user)}`, { body });
    done();
    onChange();
  };
  const buttons = (member) => html`
    ${mayChange && html`<button class="text" aria-label=${`Change ${member.user}`} onClick=${() => setOpen({ changing: member })}>Change</button>`}
    ${(mayChange || member.user === visitor?.name) && html`<button class="text" aria-label=${`Remove ${member.user}`} onClick=${() => setOpen({ removing: member })}>Remove</button>`}`;
  const columns = [["User", ({ user }) => html`<${Text}>${user}<//>`], ["Role", role], ["Since", ({ since }) => html`<${When} at=${since} />`], ["", buttons]];
  return html`<section>
    <div class="heading"><h2>Members of ${scope}</h2> ${mayChange && html`<button onClick=${() => setOpen({ isNew: true })}>Add a member</button>`}</div>
    <p class="facts">A reader searches and installs. A publisher also publishes and withdraws. An owner also says who is a member.</p>
    <${Table} name=${`Members of ${scope}`} pages=${pages} columns=${columns} empty="There are no members" />
    ${open.isNew && html`<${Ask} title="Add a member" word="Add" send=${({ user, ...body }) => change("PUT", user, body)} onClose=${close}
      fields=${[{ name: "user", label: "User", required: true, hint: "The name with which the user signs in." }, ROLE]} />`}
    ${open.changing && html`<${Ask} title=${`Change ${open.changing.user}`} word="Change" onClose=${close}
      send=${(body) => change("PUT", open.changing.user, body)} fields=${[{ ...ROLE, value: open.changing.role }]} />`}
    ${open.removing && html`<${Confirm} title="Remove this member?" word="Remove" send=${() => change("DELETE", open.removing.user)} onClose=${close}>
      <p><strong><${Text}>${open.removing.user}<//></strong></p><p>For this user there is no such scope from then on.</p><//>`}
  </section>`;
}

export function Scopes() {
  const { pages, open, setOpen, done, close } = useChanging(SCOPES);
  const [shown, show] = useState("");
  const isAdmin = useMay("admin");
  const add = async (body) => {
    await post(SCOPES, body);
    done();
  };
  const end = async () => {
    await call("DELETE", `${SCOPES}/${encodeURIComponent(open.closing.scope)}`);
    show("");
    done();
  };
  const columns = [
    ["Scope", ({ scope, path }) => html`<a href=${`${SERVICE}${path}/`}>${scope}</a>`], ["Your role", role],
    ["Members", ({ members }) => html`<span class="number">${members}</span>`], ["Since", (one) => html`<${When} at=${one.created_at} />`],
    ["", ({ scope }) => html`<button class="text" aria-label=${`Members of ${scope}`} onClick=${() => show(scope)}>Members</button>
      ${isAdmin && html`<button class="text" aria-label=${`Close ${scope}`} onClick=${() => setOpen({ closing: { scope } })}>Close</button>`}`],
  ];
  const chosen = pages.rows?.find(({ scope }) => scope === shown);
  return html`<section>
    <div class="heading"><h2>Private scopes</h2> ${isAdmin && html`<button onClick=${() => setOpen({ isNew: true })}>New private scope</button>`}</div>
    <p class="facts">A private scope is a registry of its own. For everybody but its members there is no such scope.</p>
    <${Table} name="Private scopes" pages=${pages} columns=${columns} empty=${isAdmin ? "There are no private scopes yet" : "You are a member of no private scope"} />
    ${open.isNew && html`<${Ask} title="New private scope" word="Add" send=${add} onClose=${close}
      fields=${[{ name: "scope", label: "Scope", required: true, hint: "Nothing may be published to it yet." }, { name: "owner", label: "Owner", required: true, hint: "The user who names the other members." }]} />`}
    ${open.closing && html`<${Confirm} title="Close this scope?" word="Close" send=${end} onClose=${close}>
      <p><strong>${open.closing.scope}</strong></p><p>It is served no more. Its skills and members are kept, and come back when it is added again.</p><//>`}
  </section>
  ${chosen && html`<${Members} key=${shown} scope=${shown} mayChange=${isAdmin || chosen.role === "owner"} onChange=${pages.again} />`}`;
}
