/** Where one is on a page: kept in its entry of the history, so that it is there again after a reload too. */

const SAVED_MS = 200; // browsers refuse more than a hundred changes of the history in half a minute
const ALIGNED_FRAMES = 5; // cards off screen have heights that the browser guesses until it lays them out
const MOST_PAGES = 30;

const find = (path) => [...document.querySelectorAll("#results a.open")].find(({ pathname }) => pathname === path);

/** Return the card at the top of the window: its path, and its distance from there in pixels. */
function atTop(list) {
  const box = list.getBoundingClientRect();
  const card = document.elementFromPoint(box.left + box.width / 2, Math.max(box.top, 0) + 2)?.closest("[role=listitem]");
  return card ? { path: card.querySelector("a.open").pathname, top: card.getBoundingClientRect().top } : {};
}

/** Return how much of the list is drawn, and which card is at the top of the window. */
function inList(list) {
  return { pages: list.children.length, isWeakShown: !document.querySelector(".weaker"), ...(scrollY > 0 && atTop(list)) };
}

let awaited = history.state?.place; // where one comes back to, until what is there has come from the service

/** Write the place on the page into its entry of the history, unless one is still on the way back to the place in it. */
export function savePlace() {
  if (awaited && awaited === history.state?.place) return;
  const list = document.getElementById("results");
  const place = { y: scrollY, ...(list?.checkVisibility() && inList(list)) };
  history.replaceState({ ...history.state, place }, "");
}

/** Return whether one comes back to the page. */
export const isReturn = () => Boolean(history.state?.place);

/** Return the place in the list that one comes back to: `{pages, isWeakShown}`; of a new list, its beginning. */
export function savedPlace() {
  const { pages = 1, isWeakShown = false } = history.state?.place ?? {};
  return { pages: Math.min(pages, MOST_PAGES), isWeakShown };
}

function align({ path, top, y }, at, frames) {
  const card = find(path)?.closest("[role=listitem]");
  if (card) scrollBy(0, card.getBoundingClientRect().top - top);
  else scrollTo(0, y);
  if (card && frames > 0) requestAnimationFrame(() => location.href === at && align({ path, top, y }, at, frames - 1));
}

let opened = "";

/** Note the path of the skill that is open. */
export function noteOpened(path) {
  opened = path;
}

/** Go to where one was on the page, if one comes back to it, and take the keyboard to the card of the skill that was open. */
export function restorePlace() {
  if (isReturn()) {
    const { path, y } = history.state.place;
    align(history.state.place, location.href, ALIGNED_FRAMES);
    if (path ? find(path) : Math.abs(scrollY - y) < 2) awaited = null;
  }
  const card = find(opened);
  if (!card?.checkVisibility()) return;
  if (document.activeElement === document.body) card.focus({ preventScroll: true });
  opened = "";
}

let timer = 0;
const saveSoon = () => {
  clearTimeout(timer);
  timer = setTimeout(savePlace, SAVED_MS);
};
addEventListener("scroll", saveSoon, { passive: true }); // while a page is unloaded, a change of the history is lost
addEventListener("popstate", () => {
  awaited = history.state?.place;
});
for (const input of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(input, () => (awaited = null), { passive: true, capture: true }); // the visitor goes elsewhere
}
