// The page at /docs: the OpenAPI description, readable, and a way to try each address.

import { element, request } from "./common.js";

const byId = (id) => document.getElementById(id);

// A JSON Schema in a few words.
function typeName(schema, plural = "") {
  if (schema.title) return schema.title + plural;
  if (schema.oneOf) return schema.oneOf.map((item) => typeName(item, plural)).join(" or ");
  if (schema.type === "array") return `list${plural} of ${typeName(schema.items, "s")}`;
  if (schema.minimum !== undefined) return `${schema.minimum} to ${schema.maximum}`;
  if (schema.type === "boolean") return "true or false";
  return schema.type ? schema.type + plural : "any";
}

function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => element("tr", "", [
    element("td", "", element("code", "", name)),
    element("td", "faint", typeName(field)),
    element("td", "", field.description ?? ""),
  ]));
  const head = element("tr", "", ["field", "type", "meaning"].map((text) => element("th", "", text)));
  return element("div", "scroll", element("table", "small", [element("thead", "", head), element("tbody", "", rows)]));
}

function tryIt(path, example) {
  const id = `try${path.replaceAll("/", "-")}`;
  const input = element("textarea", "", null, { rows: 3, id, spellcheck: "false" });
  input.value = JSON.stringify(example);
  const button = element("button", "", "Send", { type: "submit" });
  const output = element("pre", "", null, { hidden: "", "aria-live": "polite", tabindex: "0" });
  const form = element("form", "", [
    element("label", "small faint", "Request", { for: id }), input, element("div", "row", button), output,
  ]);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    try {
      output.textContent = JSON.stringify(await request(path.slice(1), JSON.parse(input.value)), null, 1);
    } catch (error) {
      output.textContent = error.message;
    }
  });
  return form;
}

function endpoint(path, method, operation) {
  const parts = [
    element("h2", "", [element("span", "method", method.toUpperCase()), " ", element("code", "", path)]),
    element("p", "", operation.summary),
  ];
  const content = operation.requestBody?.content["application/json"];
  if (content) {
    parts.push(fields(content.schema));
    if (content.example) parts.push(tryIt(path, content.example));
  }
  return element("section", "card endpoint", parts, { id: operation.operationId });
}

try {
  const description = await request("openapi.json");
  byId("introduction").textContent =
    `${description.info.description} Requests and answers are JSON; errors are {"error": message}. ` +
    (description.security ? "Requests need the header “Authorization: Bearer TOKEN”. " : "") +
    `Version ${description.info.version}.`;
  for (const [path, operations] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      byId("endpoints").append(endpoint(path, method, operation));
    }
  }
} catch (error) {
  byId("message").textContent = error.message;
  byId("message").hidden = false;
}
