import { createRequire } from "node:module";

/** @typedef {{ kind: "track" | "identify" | "group", call: Record<string, unknown> }} Planned */

/**
 * GitHub's example payloads (329 of them, up to 27 KB, nested, with all of Unicode that real people use) as messages:
 * each a track; its sender as an identify, its repository as a group, where it has them.
 * @returns {Planned[]}
 */
export function realInput() {
  // A plain JSON file under its package's main: `import` would need an attribute that bundlers dispute.
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
