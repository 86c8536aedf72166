import type { HeldMessage } from "@sluice/core";

/** What a file of the spool holds. */
export interface SpoolFileContents {
  readonly messages: readonly HeldMessage[];
  /** The lines that are not messages, by the id that they still show; `""` where they show none. */
  readonly damaged: readonly { readonly messageId: string }[];
}

/** Reads one message a line. A file that a crash or a full disk cut off in the middle still holds the lines before that. */
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

/** Ids with an escape in them are not recognised in a fragment. */
const ID_IN_FRAGMENT = /"messageId":"([^"\\]+)"/;

function idOf(json: string): string | undefined {
  try {
    const message: unknown = JSON.parse(json);
    if (typeof message !== "object" || message === null || !("messageId" in message)) return undefined;
    return typeof message.messageId === "string" ? message.messageId : undefined;
  } catch {
    return undefined;
  }
}
