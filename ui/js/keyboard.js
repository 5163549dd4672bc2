/** The keyboard: `/` goes to the search box, arrows move between it and the cards, Escape goes back. */

const box = () => document.getElementById("query");

function isTyping(element) {
  return element.matches?.("input, textarea, select, [contenteditable]");
}

function move(event, step) {
  const stops = [box(), ...document.querySelectorAll("#results a.open")];
  const isNowhere = document.activeElement === document.body; // then as from the box
  const here = isNowhere ? 0 : stops.indexOf(document.activeElement);
  const next = stops[here + step];
  if (here < 0 || !next) return;
  event.preventDefault();
  next.focus();
  next.closest("article")?.scrollIntoView({ block: "nearest" });
}

/** Listen to the keys of the whole page; `onEscape` closes what is open and says whether anything was. */
export function listen(onEscape) {
  const pressed = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return; // the browser's own keys count there
    if (event.key === "/" && !isTyping(event.target)) {
      event.preventDefault();
      box()?.focus();
      box()?.select();
    }
    if (event.key === "ArrowDown") move(event, 1);
    if (event.key === "ArrowUp") move(event, -1);
    if (event.key === "Escape" && !onEscape()) box()?.focus();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
