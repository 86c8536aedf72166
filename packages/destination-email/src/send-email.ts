import { hash } from "node:crypto";
import { isIP } from "node:net";
import type { Connect, DeliveryResult, OutgoingMessage } from "@sluice/destination";
import { createTransport } from "nodemailer";
import type { EmailSettings } from "./email-settings.js";

interface Email {
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

/** The limit for each step of a conversation with the mail server, in milliseconds. */
const STEP_TIMEOUT_MS = 8_000;

/** Sends one email in a conversation of its own. Never rejects. */
export async function sendEmail(
  settings: EmailSettings,
  { messageId, subject, text }: Email,
  connect: Connect,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const { host, port, security, user, password, from, to } = settings;
  try {
    const connection = await connect({ host, port, signal });
    const transport = createTransport({
      connection,
      host,
      port,
      secure: security === "tls",
      requireTLS: security === "starttls",
      ignoreTLS: security === "none",
      ...(user === undefined || password === undefined ? {} : { auth: { user, pass: password } }),
      tls: {
        minVersion: "TLSv1.2",
        rejectUnauthorized: true,
        ...(isIP(host) === 0 ? { servername: host } : {}),
      },
      greetingTimeout: STEP_TIMEOUT_MS,
      socketTimeout: STEP_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const stop = (): void => void connection.destroy(new Error("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    try {
      const { response } = await transport.sendMail({
        from: { name: "Sluice", address: from },
        to: [...to],
        subject,
        text,
        messageId: `<${messageId}>`,
        headers: { "Auto-Submitted": "auto-generated" },
      });
      return { kind: "delivered", reason: response.slice(0, 3), detail: response };
    } finally {
      signal.removeEventListener("abort", stop);
      transport.close();
      connection.destroy();
    }
  } catch (error) {
    return failureOf(error as SmtpError, settings);
  }
}

interface SmtpError {
  readonly message: string;
  readonly code?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

/** What a failure means, and what to do. A refusal for good (5xx) of this message fails; everything else may work later. */
function failureOf(
  { message, code = "error", response, responseCode = 0 }: SmtpError,
  { host, port, security }: EmailSettings,
): DeliveryResult {
  const server = `${host}:${port}`;
  const said = response ?? message;
  const reason = responseCode === 0 ? code : String(responseCode);
  switch (code) {
    case "EENVELOPE":
    case "EMESSAGE": {
      const what = code === "EMESSAGE" ? "the message" : "the sender or a recipient";
      const detail = `${server} refused ${what}: ${said}`;
      return responseCode >= 500
        ? { kind: "failed", reason, detail }
        : { kind: "retry", reason, detail, isReachable: true };
    }
    case "EAUTH":
      return retry(reason, `${server} refused the user name or password: ${said}`);
    case "ETLS":
      return retry(
        code,
        `${server} does not offer an encrypted connection over STARTTLS: use tls, often on port 465. (${said})`,
      );
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return retry(
        "timeout",
        `${server} did not answer in time. Check host and port${security === "starttls" ? "; on port 465 use tls instead of starttls" : ""}`,
      );
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return retry(code, `${host} has no address. Check the host name`);
    case "ERR_EGRESS_REFUSED":
      return retry(code, message);
    default:
      return /certificate|self.signed/i.test(said)
        ? retry("certificate", `The certificate of ${server} is not trusted: ${said}`)
        : retry(reason, `No connection to ${server}: ${said}`);
  }
}

function retry(reason: string, detail: string): DeliveryResult {
  return { kind: "retry", reason, detail };
}
