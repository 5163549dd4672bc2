"use strict";

/** Mend what stands in the way of those who hear the page: links inside of buttons, names and levels that are missing. */
function mend(page) {
  for (const link of page.querySelectorAll(".opblock-summary-control a[href]")) link.removeAttribute("href");
  for (const heading of page.querySelectorAll("h3, h4, h5")) heading.setAttribute("aria-level", heading.localName[1] - 1);
  for (const [place, name] of [[".information-container", "About"], [".scheme-container", "Settings"]]) {
    const block = page.querySelector(place);
    block?.setAttribute("role", "region");
    block?.setAttribute("aria-label", name);
  }
  page.querySelector("#servers")?.setAttribute("aria-label", "Server");
}

const page = document.getElementById("schema");
new MutationObserver(() => mend(page)).observe(page, { childList: true, subtree: true });
SwaggerUIBundle({
  domNode: page,
  url: document.querySelector('a[href$="/openapi.json"]').href,
  deepLinking: true,
  validatorUrl: null, // the default sends the document to a public checker
});
