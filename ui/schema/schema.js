"use strict";

SwaggerUIBundle({
  domNode: document.getElementById("schema"),
  url: "/schema/openapi.json",
  deepLinking: true,
  validatorUrl: null, // the default sends the document to a public checker
});
