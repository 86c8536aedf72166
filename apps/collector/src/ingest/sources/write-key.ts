import type { OpenedRequest } from "../messages/open-request.js";

/** The user name of a Basic header, with or without the colon; undefined if there is none. */
export function basicUser(header: string | undefined): string | undefined {
  if (header === undefined || !/^basic /i.test(header)) return undefined;
  const text = Buffer.from(header.slice(6).trim(), "base64").toString("utf8");
  const colon = text.indexOf(":");
  const user = colon === -1 ? text : text.slice(0, colon);
  return user === "" ? undefined : user;
}

/** The write keys in a body. */
export interface NamedKeys {
  /** From the envelope, or the single message. */
  readonly ofRequest: string | undefined;
  /** From the messages of a batch, each once. */
  readonly ofMessages: readonly string[];
}

export function namedKeys({ root, items, isBatch }: OpenedRequest): NamedKeys {
  const ofMessages = new Set<string>();
  if (isBatch) {
    for (const item of items) {
      const key = textOf((item as { writeKey?: unknown } | null)?.writeKey);
      if (key !== undefined) ofMessages.add(key);
    }
  }
  return { ofRequest: textOf(root?.writeKey), ofMessages: [...ofMessages] };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
