import type { JsonObject } from "@sluice/protocol";
import { escapeHidden } from "../../words/visible-text.js";

/**
 * A message as something to paste: the request that sends it again, the SDK call that makes it, a test that waits for
 * it. Event data is hostile: it stands in quotes that the shell and JavaScript keep, and hides no character.
 */

/** Made by the collector or the sender, and not what a caller writes. */
const MADE = new Set(["messageId", "sentAt", "originalTimestamp", "receivedAt", "writeKey"]);

export function asCurl(message: JsonObject, baseUrl: string, writeKey: string): string {
  const body = escapeHidden(JSON.stringify(withoutMade(message)));
  return [
    `curl ${baseUrl}/v1/${pathOf(message)} \\`,
    `  -u ${shellQuoted(`${writeKey}:`)} \\`,
    "  -H 'content-type: application/json' \\",
    `  -d ${shellQuoted(body)}`,
  ].join("\n");
}

export function asSdkCall(message: JsonObject): string {
  const { type, ...rest } = withoutMade(message);
  const call = isKind(type) ? type : "track";
  return `analytics.${call}(${escapeHidden(JSON.stringify(rest, null, 2))});`;
}

/** A Vitest test against a collector in development: sends the message and waits until it is delivered. */
export function asTest(message: JsonObject, baseUrl: string, writeKey: string): string {
  const name = JSON.stringify(
    `${String(message.type)} ${String(message.event ?? message.name ?? "")}`.trim(),
  );
  return escapeHidden(`import { Analytics } from "@sluice/node";
import { expect, test } from "vitest";

test(${name}, async () => {
  const analytics = new Analytics({ writeKey: ${JSON.stringify(writeKey)}, host: ${JSON.stringify(baseUrl)} });
  const { messageId } = ${asSdkCall(message).replaceAll("\n", "\n  ")}
  await analytics.close();

  const answer = await fetch(
    \`${baseUrl}/api/v1/wait?messageId=\${messageId}&state=delivered&timeoutMs=10000\`,
    { headers: { authorization: \`Bearer \${process.env.SLUICE_ADMIN_TOKEN}\` } },
  );
  expect(answer.status).toBe(200);
});`);
}

/** One word of a POSIX shell, whatever is in it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function withoutMade(message: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !MADE.has(name)));
}

function pathOf(message: JsonObject): string {
  return isKind(message.type) ? message.type : "track";
}

function isKind(type: unknown): type is string {
  return typeof type === "string" && /^(identify|track|page|screen|group|alias)$/.test(type);
}
