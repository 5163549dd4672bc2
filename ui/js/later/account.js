/** What users change of their own: the tokens that they make for programs, and the password. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { Dialog } from "../actions.js";
import { call, post } from "../api.js";
import { Line } from "../copy-line.js";
import { Ask, Confirm } from "./form.js";
import { Table, When } from "./paged.js";
import { useChanging } from "./people.js";
import { keep, session } from "../session.js";
import { Text } from "../text.js";

const TOKENS = "/api/v1/auth/tokens";
const PASSWORD = "/api/v1/auth/me/password";
const USES = { "Publish": ["publish"], "Read": ["read"], "Publish and withdraw": ["publish", "yank"], "Read, publish and withdraw": ["read", "publish", "yank"] };
const DAYS = ["90", "30", "7", "365"];
const DAY_MS = 86_400_000;

const words = (text) => (text ?? "").split(/[\s,]+/).filter(Boolean);

const columns = (revoke) => [
  ["Name", (token) => html`<${Text}>${token.name}<//>`],
  ["For", (token) => html`<${Text}>${token.operations.join(", ")}<//>`],
  ["Skills", (token) => html`<${Text}>${token.skills.join(", ") || "all of the scope"}<//>`],
  ["Expires", (token) => html`<${When} at=${token.expires_at} />`],
  ["Last used", (token) => html`<${When} at=${token.last_used_at} />`],
  ["", (token) => html`<button class="text" aria-label=${`Revoke ${token.name}`} onClick=${() => revoke(token)}>Revoke</button>`],
];

const FIELDS = [
  { name: "name", label: "Name", required: true, hint: "What will use it." },
  { name: "use", label: "For", options: Object.keys(USES) },
  { name: "skills", label: "Skills", hint: "Such as acme/pdf-forms or acme/pdf-*. Without any: every skill of your scope." },
  { name: "days", label: "Days until it expires", options: DAYS },
];

/** The tokens of who is signed in, and the password. */
export function Account() {
  const { pages, open, setOpen, done, close } = useChanging(TOKENS);
  const [told, setTold] = useState("");
  const visitor = session.use();
  const create = async ({ name, use, skills, days }) => {
    const expires_at = new Date(Date.now() + days * DAY_MS).toISOString();
    done({ made: await post(TOKENS, { name, operations: USES[use], skills: words(skills), expires_at }) });
  };
  const revoke = async () => {
    await call("DELETE", `${TOKENS}/${encodeURIComponent(open.revoking.id)}`);
    done();
  };
  const change = async (body) => {
    const { token, expires_at } = await call("PUT", PASSWORD, { body });
    keep({ ...visitor, headers: { Authorization: `Bearer ${token}` }, expires_at });
    setTold("The password is changed. Your other sign-ins have ended.");
    close();
  };
  const password = (name, label, autocomplete) => ({ name, label, type: "password", autocomplete, required: true });
  return html`<section>
    <div class="heading"><h2>Your tokens</h2> <button onClick=${() => setOpen({ isNew: true })}>New token</button></div>
    <p class="facts">A token is for a program: it may do only what it is made for, and it expires.</p>
    <${Table} name="Your tokens" pages=${pages} columns=${columns((revoking) => setOpen({ revoking }))} empty="You have no tokens yet" />
    ${!visitor.hasNoPassword && html`<div class="heading"><h2>Your password</h2> <button onClick=${() => setOpen({ isChanging: true })}>Change password</button></div>`}
    <p role="status">${told}</p>
    ${open.isNew && html`<${Ask} title="New token" word="Create" send=${create} onClose=${close} fields=${FIELDS} />`}
    ${open.made && html`<${Dialog} title="The new token" onClose=${close}>
      <p>Copy it now: it is not shown again.</p><${Line} name=${open.made.name} text=${open.made.token} isBare />
      <div class="buttons"><button onClick=${close}>Done</button></div><//>`}
    ${open.revoking && html`<${Confirm} title="Revoke this token?" word="Revoke" send=${revoke} onClose=${close}>
      <p><strong><${Text}>${open.revoking.name}<//></strong></p><p>What uses it is refused from now on. This cannot be undone.</p><//>`}
    ${open.isChanging && html`<${Ask} title="Change your password" word="Change" user=${visitor.name} send=${change} onClose=${close}
      fields=${[password("old_password", "Old password", "current-password"), { ...password("new_password", "New password", "new-password"), minlength: 12 }]}>
      <p class="facts">Your other sign-ins end. Your tokens stay.</p><//>`}
  </section>`;
}
