import type { Io } from "../../terminal/io.js";
import { jsonDiff } from "../../terminal/json-diff.js";
import type { Style } from "../../terminal/style.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";
import type { SignatureState } from "./signature.js";
import type { ReceivedWebhook } from "./webhook-handler.js";

/** Formats webhooks. Unless `isFull`, it only prints the difference from the last webhook of the same type and event. */
export function webhookPrinter(isFull: boolean, { style }: Io): (webhook: ReceivedWebhook) => string {
  const latest = new Map<string, unknown>();
  return (webhook) => {
    const { body, isRepeat } = webhook;
    const kind = kindOf(body);
    const before = latest.get(kind);
    latest.set(kind, body);
    const head = headLine(webhook, kind, style);
    // A repeated message is identical, so one line is enough.
    if (isRepeat && !isFull) return `${head}  ${style.dim("repeated")}\n`;
    if (!isFull && before !== undefined) return `${head}\n${diffLines(before, body, style)}`;
    return `${head}\n${terminalJson(body, 2).replace(/^/gm, "  ")}\n`;
  };
}

/** `track Signed Up`. */
function kindOf(body: unknown): string {
  const { type, event, name, groupId } = (typeof body === "object" && body !== null ? body : {}) as {
    [field: string]: unknown;
  };
  return `${String(type ?? "?")} ${String(event ?? name ?? groupId ?? "")}`.trim();
}

function headLine(webhook: ReceivedWebhook, kind: string, style: Style): string {
  const { at, signature, attempt, answered, forwardError, messageId } = webhook;
  const status = String(answered);
  const parts = [
    style.dim(at.slice(11, 23)),
    style.bold(terminalText(kind)),
    signatureText(signature, style),
    attempt === undefined || attempt === "1" ? "" : style.yellow(`attempt ${terminalText(attempt)}`),
    answered < 300 ? style.green(status) : style.red(status),
    forwardError === undefined ? "" : style.red(`not forwarded: ${terminalText(forwardError)}`),
    style.dim(terminalText(messageId ?? "")),
  ];
  return parts.filter(Boolean).join("  ");
}

/** Characters of a value that are shown. */
const VALUE_WIDTH = 120;

function diffLines(before: unknown, after: unknown, style: Style): string {
  const valueText = ({ value }: { readonly value: unknown }) => clip(terminalJson(value), VALUE_WIDTH);
  return jsonDiff(before, after)
    .map(({ path, before: removed, after: added }) => {
      const name = terminalText(path);
      return [
        removed === undefined ? "" : `${style.red(`  - ${name}: ${valueText(removed)}`)}\n`,
        added === undefined ? "" : `${style.green(`  + ${name}: ${valueText(added)}`)}\n`,
      ].join("");
    })
    .join("");
}

function signatureText(signature: SignatureState, style: Style): string {
  switch (signature) {
    case "valid":
      return style.green("signed");
    case "invalid":
      return style.red("WRONG SIGNATURE");
    case "outside_window":
      return style.red("SIGNED MORE THAN 5 MIN OFF");
    case "missing":
      return style.red("NOT SIGNED");
    case "unchecked":
      return style.dim("signature not checked");
    default:
      return signature satisfies never;
  }
}
