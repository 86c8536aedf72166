import { isIP } from "node:net";
import { oneLine } from "../../destinations/one-line.js";
import { echoRedactor } from "../../destinations/webhooks/request/redact-echo.js";
import { EgressRefused } from "../../sender/checked-connector.js";
import type { EmailSettings } from "../settings/notification-settings.js";
import type { Channel, ChannelResult, Outgoing } from "./channel.js";
import type { ChannelDeps } from "./webhook-channel.js";

/** The limit for each step of a conversation with the mail server, and for all of it, in milliseconds. */
const STEP_TIMEOUT_MS = 8_000;
const TIMEOUT_MS = 25_000;
const MAX_DETAIL = 500;

/** Sends notifications over SMTP as plain text. The server's address must be allowed, as that of a webhook must be. */
export function emailChannel(
  settings: EmailSettings,
  deps: Pick<ChannelDeps, "clock" | "secrets" | "egress" | "resolve">,
): Channel {
  const { clock } = deps;
  return {
    name: "email",
    async send(outgoing): Promise<ChannelResult> {
      const startedMs = clock.monotonic();
      const ended = (kind: ChannelResult["kind"], detail: string): ChannelResult => ({
        kind,
        detail: oneLine(detail, MAX_DETAIL),
        latencyMs: clock.monotonic() - startedMs,
      });
      let redact = (text: string): string => text;
      try {
        const password = settings.password === undefined ? undefined : deps.secrets.open(settings.password);
        if (password !== undefined) redact = echoRedactor([password]);
        const address = await checkedAddress(settings.host, deps);
        return ended("sent", redact(await deliver(settings, { address, password, clock }, outgoing)));
      } catch (error) {
        return ended("failed", redact(failureText(error, settings)));
      }
    },
  };
}

/** The address to connect to. A name with a forbidden address is refused even if it has others. */
async function checkedAddress(
  host: string,
  { egress, resolve }: Pick<ChannelDeps, "egress" | "resolve">,
): Promise<string> {
  const addresses = isIP(host) === 0 ? (await resolve(host)).map(({ address }) => address) : [host];
  for (const address of addresses) {
    const verdict = egress.judge(address, host);
    if (!verdict.allowed) throw new EgressRefused(verdict.message);
  }
  const [first] = addresses;
  if (first === undefined) throw Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" });
  return first;
}

/** Resolves with the server's answer. */
async function deliver(
  { host, port, security, user, from, to }: EmailSettings,
  {
    address,
    password,
    clock,
  }: Pick<ChannelDeps, "clock"> & { readonly address: string; readonly password: string | undefined },
  { id, title, text }: Outgoing,
): Promise<string> {
  // Loaded with the first email: most collectors send none, and start faster without it.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    host: address,
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
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    dnsTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const tooLate = Promise.withResolvers<never>();
  const cancel = clock.after(TIMEOUT_MS, () =>
    tooLate.reject(Object.assign(new Error("too slow"), { code: "ETIMEDOUT" })),
  );
  try {
    const sending = transport.sendMail({
      from: { name: "Sluice", address: from },
      to: [...to],
      subject: `[Sluice] ${title}`,
      text,
      messageId: `<${id}@sluice.invalid>`,
      headers: { "Auto-Submitted": "auto-generated" },
    });
    return (await Promise.race([sending, tooLate.promise])).response;
  } finally {
    cancel();
    transport.close();
  }
}

/** What went wrong, and what to do. */
function failureText(error: unknown, { host, port, security }: EmailSettings): string {
  const { message, code, response } = error as { message: string; code?: string; response?: string };
  const server = `${host}:${port}`;
  const said = response ?? message;
  if (error instanceof EgressRefused) return message;
  switch (code) {
    case "EAUTH":
      return `${server} refused the user name or password: ${said}`;
    case "EENVELOPE":
      return `${server} refused the sender or a recipient: ${said}`;
    case "EMESSAGE":
      return `${server} refused the message: ${said}`;
    case "ETLS":
      return `${server} does not offer an encrypted connection over STARTTLS: use tls, often on port 465. (${said})`;
    case "ETIMEDOUT":
      return `${server} did not answer in time. Check host and port${security === "starttls" ? "; on port 465 use tls instead of starttls" : ""}`;
    case "EDNS":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} has no address. Check the host name`;
    default:
      return /certificate|self.signed/i.test(said)
        ? `The certificate of ${server} is not trusted: ${said}`
        : `No connection to ${server}: ${said}`;
  }
}
