/** The page: a search box, what it finds, one skill in full, and how the service is. */

import { html, render, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { address as place, CLEARED, follow, go, here, isStart, leave, link } from "./address.js";
import { get } from "./api.js";
import { BASE } from "./base.js";
import { Detail } from "./detail.js";
import { chosenFilters, Filters, Sort } from "./filters.js";
import { listen } from "./keyboard.js";
import { Admin, Publish } from "./later.js";
import { List, summary } from "./list.js";
import { isReturn, noteOpened, restorePlace } from "./place.js";
import { useResults } from "./search.js";
import { isRegistry, may, needsSignIn, refreshStatus, service } from "./service.js";
import { session } from "./session.js";
import { comesBack, SignIn, signOut, takeOver } from "./sign-in.js";
import { Hero, Start } from "./start.js";
import { Failure, Missing, Notice, Skeletons } from "./states.js";
import { count, Text } from "./text.js";
import { ThemeSwitch } from "./theme.js";
import { useTitle } from "./title.js";

const DEBOUNCE_MS = 60;
const ICON = new URL("../icon.svg", import.meta.url).pathname;
const VIEWS = { admin: Admin, publish: Publish };
const TITLES = { admin: "Service", publish: "Publish", skills: "Skills" };

/** Return whether a failure means that one has to sign in. */
const isRefused = (error) => error?.status === 401;

function SearchBox({ q }) {
  const [text, setText] = useState(q);
  const box = useRef(null);
  const timer = useRef(0);
  const sent = useRef(q);
  useLayoutEffect(() => {
    if (isStart(place.get())) box.current.focus({ preventScroll: true }); // who follows a link wants to read, not to type
  }, []);
  useEffect(() => {
    if (q !== sent.current) setText(q); // gone back, or a link: not what is being typed
    sent.current = q;
  }, [q]);
  const typed = (event) => {
    const next = event.target.value;
    setText(next);
    clearTimeout(timer.current);
    const before = place.get();
    timer.current = setTimeout(() => {
      if (place.get() !== before) return; // something else was opened meanwhile
      sent.current = next.trim();
      const { skill, view, q } = place.get();
      const isSame = !skill && (!view || view === "skills") && (q || view); // one search, one entry of the history
      go({ q: sent.current, view: sent.current ? "" : "skills", skill: "" }, { replace: Boolean(isSame) });
    }, DEBOUNCE_MS);
  };
  return html`<search><input id="query" type="search" ref=${box} value=${text} onInput=${typed} maxlength="50000"
    aria-label="Search skills" aria-controls="found" placeholder="What do you want to do?" autocomplete="off"
    spellcheck="false" /><kbd aria-hidden="true">/</kbd></search>`;
}

function Header({ address, onSignIn, isPublishing }) {
  const status = service.use();
  const visitor = session.use();
  const to = (view) => ({ ...CLEARED, q: "", view, skill: "" });
  const isOpen = (view) => address.view === view || (view === "skills" && !address.view && !isStart(address) && !address.isUnknown);
  const tab = (view, name) => html`<a href=${link(to(view))} onClick=${(event) => follow(event, to(view))}
    aria-current=${isOpen(view) ? "page" : undefined}>${name}</a>`;
  return html`<header class="top">
    <a class="skip" href="#found" onClick=${skip}>Skip to the content</a>
    <a class="home" href=${link(to(""))} onClick=${(event) => follow(event, to(""))}>
      <img src=${ICON} alt="" width="28" height="28" /> Skill Registry</a>
    <nav aria-label="Pages">
      ${tab("skills", "Skills")} ${tab("admin", "Service")}
      ${isPublishing && may("manager", status, visitor) && tab("publish", "Publish")}
      <a href=${`${BASE}/schema`}>API</a>
      <${ThemeSwitch} />
      ${isRegistry(status) && (visitor
        ? html`<span class="who" title=${visitor.role}><${Text}>${visitor.name}<//> <span class="badge">${visitor.role}</span></span>
            <button class="quiet" onClick=${signOut}>Sign out</button>`
        : html`<button class="primary" onClick=${onSignIn}>Sign in</button>`)}
    </nav>
  </header>`;
}

/** Go to the content without a change of the address. */
function skip(event) {
  event.preventDefault();
  (document.querySelector(".browse:not([hidden]) > section") ?? document.getElementById("found")).focus(); // not to the filters
}

const LOOK_AGAIN_MS = 2000;

/** A thin line while skills are embedded: what is found by meaning grows with it. */
function Warming() {
  const status = service.use();
  const pending = status?.embedding.provider ? status.pending : 0;
  useEffect(() => {
    if (!pending) return undefined;
    const timer = setTimeout(() => refreshStatus().catch(() => {}), LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [status]);
  if (!pending) return null;
  const { indexed } = status;
  const all = indexed + pending;
  return html`<section class="warming" aria-label="Indexing"><progress aria-label="Indexing" max=${all} value=${indexed}></progress>
    <p>Indexing: ${indexed.toLocaleString("en")} of ${all.toLocaleString("en")} skills can be found by meaning so far, the others by words.</p></section>`;
}

const SHOWN_NOTICES = 3;

/** What an administrator should do, on every page: installed skills that were withdrawn, and settings. */
function Notices() {
  const rows = Object.entries(service.use()?.notices ?? {});
  if (rows.length === 0) return null;
  const line = ([name, text]) => {
    const open = { ...CLEARED, q: "", view: "", skill: name };
    const isSetting = name.includes(".") && !name.includes("/"); // an id with a dot has a scope
    return html`<p key=${name}>${isSetting
      ? html`<code>${name}</code>`
      : html`<a href=${link(open)} onClick=${(event) => follow(event, open)}><${Text}>${name}<//></a>`}: <${Text}>${text}<//></p>`;
  };
  const more = rows.length - SHOWN_NOTICES;
  return html`<section class="withdrawn" aria-label="Notices">${rows.slice(0, SHOWN_NOTICES).map(line)}
    ${more > 0 && html`<details><summary>${count(more, "more notice")}</summary>${rows.slice(SHOWN_NOTICES).map(line)}</details>`}</section>`;
}

function useSources(isAsked, turn) {
  const [sources, setSources] = useState(null);
  useEffect(() => {
    if (!isAsked) return undefined;
    const controller = new AbortController();
    get("/api/v1/registry/sources", controller.signal).then(setSources, () => {}); // the list itself says what is amiss
    return () => controller.abort();
  }, [isAsked, turn]);
  return sources;
}

function Browse({ address, isHidden, isAsked, turn, onRetry, onSignIn }) {
  const wasShown = useRef(false);
  wasShown.current ||= !isHidden;
  const isWanted = isAsked && wasShown.current; // who opens a skill by its link need not wait for the list
  const results = useResults(address, isWanted, turn);
  const sources = useSources(isWanted, turn);
  const clear = () => go({ ...CLEARED, view: "skills" });
  if (isAsked && !isWanted) return null;
  if (!isAsked || isRefused(results.error)) {
    return html`<div hidden=${isHidden}><${Notice} title="Sign in to see the skills" action="Sign in" onAction=${onSignIn}>
      Ask the people who run this registry for an account or an API key.<//></div>`;
  }
  return html`<div class="browse" hidden=${isHidden}>
    <${Filters} address=${address} sources=${sources} results=${results} />
    <section aria-label="Results" tabindex="-1" aria-busy=${results.phase === "loading"}>
      <h1 class=${address.q ? "heard" : ""}>${address.q ? `Skills for “${address.q}”` : address.scope ? html`Skills of <${Text}>${address.scope}<//>` : "Skills"}</h1>
      <div class="line-up"><p role="status">${summary(results)}</p><${Sort} address=${address} /></div>
      <${List} results=${results} sources=${sources} sort=${address.sort} onRetry=${onRetry} onClear=${clear}
        isFiltered=${chosenFilters(address) > 0} />
    </section>
  </div>`;
}

/** Return the title of lists and views. Other pages set their own. */
function titleOf({ isUnknown, skill, view, q }) {
  return isUnknown || skill ? "" : TITLES[view] ?? q;
}

/** Open what is new at its top, and what one comes back to where it was. */
function usePlace(address, isList) {
  const { skill, view } = address;
  // Before the page is painted, so that the scrolling which a shorter page causes is not taken for the visitor's.
  useLayoutEffect(() => {
    if (skill) noteOpened(link({ skill }));
    if (!isList && !isReturn()) scrollTo(0, 0);
  }, [skill, view, isList]);
  useLayoutEffect(restorePlace, [address]);
}

/** Return the address of the list that was shown last: below a skill it stays as it was. */
function useList(address, isHidden) {
  const list = useRef(address);
  if (!isHidden) list.current = address;
  return list.current;
}

function close() {
  const { skill, view, q } = place.get();
  const isOpen = Boolean(skill || VIEWS[view]);
  if (isOpen) leave();
  else if (q) go({ q: "", view: "skills" });
  return isOpen;
}

function NoPage() {
  return html`<${Missing} title="There is no such page" action="To the start page" onAction=${() => location.assign(`${BASE}/`)}>
    Nothing is at <code><${Text}>${here()}<//></code>.<//>`;
}

function App() {
  const address = place.use();
  const status = service.use();
  const visitor = session.use();
  const [error, setError] = useState(null);
  const [turn, setTurn] = useState(0);
  const [isSigningIn, setSigningIn] = useState(false);
  const [refused, setRefused] = useState(null);
  const isPublishing = Boolean(status?.publishing);
  const View = VIEWS[address.view];
  const isFirst = isStart(address);
  const isList = !address.skill && !View && !isFirst && !address.isUnknown;
  const list = useList(address, !isList);

  const start = () => {
    setTurn((before) => before + 1);
    refreshStatus().then(() => setError(null), setError);
  };
  useLayoutEffect(() => listen(close), []);
  useEffect(() => {
    start();
    addEventListener("online", start);
    return () => removeEventListener("online", start);
  }, []);
  useEffect(() => {
    if (comesBack()) takeOver().catch((error) => (setRefused(error), setSigningIn(true)));
  }, []);
  useEffect(() => {
    if (status) refreshStatus().catch(() => {}); // an account may see more of it
  }, [visitor?.name]);
  usePlace(address, isList);
  useTitle(titleOf(address));

  const signIn = () => setSigningIn(true);
  const isAsked = Boolean(status) && !needsSignIn(status, visitor);
  const isBarred = !isAsked && Boolean(address.skill || isFirst);
  return html`
    <${Header} address=${address} onSignIn=${signIn} isPublishing=${isPublishing} />
    <${Warming} />
    <${Notices} />
    ${isFirst && html`<${Hero} />`}
    <${SearchBox} q=${address.q} />
    <main id="found" tabindex="-1">
      ${error && !status && html`<${Failure} error=${error} onRetry=${start} what="The service cannot be used" />`}
      ${!status && !error && html`<${Skeletons} />`}
      ${status && html`
        <${Browse} key=${visitor?.name} address=${list} isHidden=${!isList && !isBarred} isAsked=${isAsked} turn=${turn}
          onRetry=${start} onSignIn=${signIn} />
        ${isFirst && isAsked && html`<${Start} key=${visitor?.name} turn=${turn} onRetry=${start} />`}
        ${address.isUnknown && html`<${NoPage} />`}
        ${View ? html`<${View} key=${visitor?.name} isPublishing=${isPublishing} onSignIn=${signIn} />` : address.skill && isAsked && html`<${Detail} key=${address.skill + visitor?.name} id=${address.skill} version=${address.version} from=${address.from} file=${address.file} line=${address.line} list=${list} />`}`}
    </main>
    ${isSigningIn && status && html`<${SignIn} refused=${refused} onClose=${() => (setSigningIn(false), setRefused(null))} />`}`;
}

history.scrollRestoration = "manual"; // the list comes back later than the browser would wait for
render(html`<${App} />`, document.getElementById("app"));
