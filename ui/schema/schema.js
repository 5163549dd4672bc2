"use strict";

/** Mend what stands in the way of those who hear the page: links inside of buttons, and a choice without a name. */
function mend(page) {
  for (const link of page.querySelectorAll(".opblock-summary-control a[href]")) link.removeAttribute("href");
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
