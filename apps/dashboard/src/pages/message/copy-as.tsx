import type { JsonObject } from "@sluice/protocol";
import { useCollectorUrl, useSources } from "../../api/queries.js";
import { copyText } from "../../ui/controls/button.js";
import { Menu, MenuItem } from "../../ui/controls/menu.js";
import { useNotify } from "../../ui/feedback.js";
import { escapeHidden } from "../../words/messages.js";
import { newestKey } from "../sources/snippets.js";

/**
 * A message as text to paste: a request that sends it again, an SDK call, or a test that waits for its delivery. Event
 * data is untrusted, so it is quoted for the shell or JavaScript and hidden characters are escaped.
 */

/** Fields that the SDK or the collector sets, not the caller. */
const GENERATED = new Set(["messageId", "sentAt", "originalTimestamp", "receivedAt", "writeKey"]);

export function asCurl(message: JsonObject, baseUrl: string, writeKey: string): string {
  const body = escapeHidden(JSON.stringify(withoutGenerated(message)));
  return [
    `curl ${baseUrl}/v1/${pathOf(message)} \\`,
    `  -u ${shellQuoted(`${writeKey}:`)} \\`,
    "  -H 'content-type: application/json' \\",
    `  -d ${shellQuoted(body)}`,
  ].join("\n");
}

export function asSdkCall(message: JsonObject): string {
  const { type, ...rest } = withoutGenerated(message);
  const call = isKind(type) ? type : "track";
  return `analytics.${call}(${escapeHidden(JSON.stringify(rest, null, 2))});`;
}

/** A Vitest test against a collector in development. It sends the message and waits for its delivery. */
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

/** Quotes any text as one word of a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function withoutGenerated(message: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !GENERATED.has(name)));
}

function pathOf(message: JsonObject): string {
  return isKind(message.type) ? message.type : "track";
}

function isKind(type: unknown): type is string {
  return typeof type === "string" && /^(identify|track|page|screen|group|alias)$/.test(type);
}

export function CopyAs({ message, sourceId }: { message: JsonObject; sourceId: string }) {
  const notify = useNotify();
  const source = useSources().data?.find((one) => one.id === sourceId);
  const writeKey = newestKey(source);
  const url = useCollectorUrl();
  const copy = (what: string, text: string) => () =>
    void copyText(text).then((worked) =>
      notify(worked ? `Copied as ${what}` : "The browser did not allow copying"),
    );
  return (
    <Menu label="Copy this message" icon="copy" text="Copy as">
      <MenuItem icon="terminal" onSelect={copy("curl", asCurl(message, url, writeKey))}>
        curl
      </MenuItem>
      <MenuItem icon="sources" onSelect={copy("SDK call", asSdkCall(message))}>
        SDK call
      </MenuItem>
      <MenuItem icon="check" onSelect={copy("test", asTest(message, location.origin, writeKey))}>
        Test
      </MenuItem>
      <MenuItem icon="file" onSelect={copy("JSON", escapeHidden(JSON.stringify(message, null, 2)))}>
        JSON
      </MenuItem>
    </Menu>
  );
}
