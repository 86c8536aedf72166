import { createRequire } from "node:module";

/** @typedef {{ kind: "track" | "identify" | "group", call: Record<string, unknown> }} Planned */

/**
 * Turns GitHub's 329 example payloads (up to 27 KB, nested, with real Unicode text) into messages: a track for each, an identify for its
 * sender, and a group for its repository.
 * @returns {Planned[]}
 */
export function realInput() {
  // The package's main file is JSON: `import` would need an attribute that not all bundlers support.
  const definitions = createRequire(import.meta.url)("@octokit/webhooks-examples");
  return definitions.flatMap(({ name, examples }) =>
    examples.flatMap((payload) => [...messagesOf(name, payload)]),
  );
}

function* messagesOf(name, payload) {
  const { sender, repository, action } = payload;
  const userId = sender === undefined ? "github" : `github:${sender.id}`;
  yield {
    kind: "track",
    call: { userId, event: action === undefined ? name : `${name} ${action}`, properties: payload },
  };
  if (sender !== undefined) yield { kind: "identify", call: { userId, traits: sender } };
  if (repository !== undefined)
    yield { kind: "group", call: { userId, groupId: `github:${repository.id}`, traits: repository } };
}
