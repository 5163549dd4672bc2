/** Signing in to a registry: with a password, an API key, at an issuer, or, where tokens are for the asking, a role. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { Dialog } from "./actions.js";
import { call } from "./api.js";
import { BASE } from "./base.js";
import { ROLES, service } from "./service.js";
import { keep, session } from "./session.js";
import { problem } from "./states.js";

async function withKey(key) {
  const isToken = key.startsWith("srt_");
  const headers = isToken ? { Authorization: `Bearer ${key}` } : { "x-api-key": key };
  const { user, role, scope, expires_at } = await call("GET", "/auth/verify", { headers });
  return { role, name: user ?? (scope ? `API key of ${scope}` : "API key"), scope, headers, expires_at, isToken };
}

async function withToken(body, name) {
  const { token, role, expires_at } = await call("POST", "/auth/token", { body, headers: {} });
  return { role, name, scope: name.split("/")[0], headers: { Authorization: `Bearer ${token}` }, expires_at };
}

const TAKEN_HERE = "#signed-in";

/** Return whether the visitor comes back from the issuer. The address forgets it. */
export function comesBack() {
  if (location.hash !== TAKEN_HERE) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

/** Take over the token of the sign-in at the issuer that has just ended. Throws an ApiError where it was refused. */
export async function takeOver() {
  const { user, scope, token } = await call("POST", "/auth/sign-in/token", { headers: {} });
  const headers = { Authorization: `Bearer ${token.token}` };
  keep({ role: token.role, name: user, scope, headers, expires_at: token.expires_at, isPerson: true, hasNoPassword: true });
}

function Issuer() {
  const back = location.pathname.slice(BASE.length) + location.search;
  const leave = () => location.assign(`${BASE}/auth/sign-in?${new URLSearchParams({ back })}`);
  return html`<p class="issuer"><button type="button" class="primary" onClick=${leave}>Sign in with your organization</button></p>`;
}

const WAYS = {
  password: {
    name: "Password",
    fields: [["username", "User name", "username"], ["password", "Password", "current-password"]],
    enter: async ({ username, password }) => ({ ...(await withToken({ username, password }, username)), isPerson: true }),
  },
  key: {
    name: "API key",
    fields: [["key", "API key or token", "off"]],
    enter: ({ key }) => withKey(key),
  },
  role: {
    name: "Try a role",
    fields: [],
    enter: ({ role }) => withToken({ role }, "dev-user"),
  },
};

function isOpenHere(issuer) {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);
  return issuer === "open" || (issuer === "loopback" && isLoopback);
}

export function SignIn({ onClose, refused }) {
  const { issuer, sign_in } = service.use();
  const ways = Object.keys(WAYS).filter((way) => way !== "role" || isOpenHere(issuer));
  const [way, setWay] = useState(ways[ways.length - 1]);
  const [state, setState] = useState(refused ? { error: problem(refused) } : {});
  const enter = async (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    if (given.key) given.key = given.key.trim(); // a key is pasted; a password is taken as it is
    setState({ isWorking: true });
    try {
      keep(await WAYS[way].enter(given));
      onClose();
    } catch (error) {
      setState({ error: problem(error) });
    }
  };
  const { fields } = WAYS[way];
  return html`<${Dialog} title="Sign in" onClose=${onClose}>
    ${sign_in && html`<${Issuer} />`}
    <div class="ways" role="group" aria-label="How to sign in">
      ${ways.map((one) => html`<button type="button" aria-pressed=${one === way} onClick=${() => setWay(one)}>${WAYS[one].name}</button>`)}
    </div>
    <form onSubmit=${enter} key=${way}>
      ${fields.map(([name, label, fill]) => html`<label>${label}
        <input name=${name} required autocomplete=${fill} spellcheck="false" autocapitalize="off"
          type=${name === "username" ? "text" : "password"} /></label>`)}
      ${way === "role" && html`<p>This service hands out tokens for the asking: it is for trying out.</p>
        <label>Role <select name="role">
          ${ROLES.map((role) => html`<option value=${role}>${role}</option>`)}</select></label>`}
      ${state.error && html`<p class="problem" role="alert">${state.error}</p>`}
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class="primary" disabled=${state.isWorking}>${state.isWorking ? "Signing in…" : "Sign in"}</button>
      </div>
    </form>
  <//>`;
}

/** End the session here, and its token at the service. API keys and users' own tokens stay valid: they were not made here. */
export async function signOut() {
  const { headers, isToken } = session.get();
  keep(null);
  if (headers.Authorization && !isToken) await call("POST", "/auth/logout", { headers }).catch(() => {});
}
