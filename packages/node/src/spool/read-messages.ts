import type { HeldMessage } from "@sluice/core";

/** The contents of a spool file. */
export interface SpoolFileContents {
  readonly messages: readonly HeldMessage[];
  /** Lines that are not messages. The id is `""` if the line does not show one. */
  readonly damaged: readonly { readonly messageId: string }[];
}

/** Reads one message per line. If a crash or a full disk truncated the file, the lines before that are still read. */
export function readMessages(text: string): SpoolFileContents {
  const messages: HeldMessage[] = [];
  const damaged: { messageId: string }[] = [];
  for (const json of text.split("\n")) {
    if (json === "") continue;
    const messageId = idOf(json);
    if (messageId === undefined) damaged.push({ messageId: ID_IN_FRAGMENT.exec(json)?.[1] ?? "" });
    else messages.push({ sequence: 0, messageId, json, bytes: Buffer.byteLength(json) });
  }
  return { messages, damaged };
}

/** Does not match ids that contain an escape. */
const ID_IN_FRAGMENT = /"messageId":"([^"\\]+)"/;

function idOf(json: string): string | undefined {
  try {
    const { messageId } = JSON.parse(json) as { readonly messageId?: unknown };
    return typeof messageId === "string" ? messageId : undefined;
  } catch {
    return undefined;
  }
}
