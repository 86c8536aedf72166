import { hash } from "node:crypto";
import type { OutgoingMessage } from "@sluice/destination";

export interface Email {
  /** Without angle brackets. The same for each attempt. */
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
}

const MAX_SUBJECT = 150;
const MAX_TEXT = 100_000;

/** The email of a message. Texts come from whoever sent it, so none may begin a new line of the header. */
export function emailOf({ id, payload }: OutgoingMessage): Email {
  const { title, text = payload.text } = (payload.properties ?? {}) as {
    readonly title?: unknown;
    readonly text?: unknown;
  };
  const what = [title, payload.event, payload.name, payload.type].find(
    (one) => typeof one === "string" && one.trim() !== "",
  );
  const body = typeof text === "string" ? text : `${JSON.stringify(payload, null, 2)}\n`;
  return {
    messageId: `${/^[\w.-]{1,100}$/.test(id) ? id : hash("sha256", id)}@sluice.invalid`,
    subject: `[Sluice] ${oneLine(String(what))}`,
    text: body.length > MAX_TEXT ? `${body.slice(0, MAX_TEXT)}…\n` : body,
  };
}

function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ").trim();
  return line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT - 1)}…` : line;
}
