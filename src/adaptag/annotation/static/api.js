// Requests to the server. Whatever fails is thrown as an error with a message for the user.

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. What was accepted is saved.");
  }
  const text = await response.text();
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (!response.ok) throw new Error(value?.error ?? `The server answered ${response.status}.`);
  return value;
}

export function get(path, values = {}) {
  const query = new URLSearchParams(values).toString();
  return request(`/api/${path}${query ? "?" + query : ""}`);
}

export function post(path, values = {}) {
  return request(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
}
