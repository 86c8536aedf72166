import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { systemClock } from "@sluice/resilience";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
// @boundaries-ignore the mail server of the package that sends email
import {
  type SmtpServerOptions,
  smtpServer,
} from "../../../../packages/destination-email/test/smtp-server.js";
import { secretBox } from "../../src/destinations/secret-box.js";
import { emailChannel } from "../../src/notifications/channels/email-channel.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";

const before = getCACertificates("default");
beforeAll(() => {
  const ca = readFileSync(join(import.meta.dirname, "../sender/fixtures/ca.pem"), "utf8");
  setDefaultCACertificates([...before, ca]);
});
afterAll(() => setDefaultCACertificates(before));

const LOGIN = { user: "sluice", password: "correct horse" };

async function send(options: SmtpServerOptions, password: string) {
  const smtp = await smtpServer(options);
  onTestFinished(() => smtp[Symbol.asyncDispose]());
  const secrets = secretBox(new Uint8Array(32));
  const channel = emailChannel(
    {
      host: "hooks.test",
      port: smtp.port,
      security: options.security ?? "none",
      user: "sluice",
      password: secrets.seal(password),
      from: "sluice@example.com",
      to: ["ops@example.com", "dev@example.com"],
    },
    {
      clock: systemClock,
      secrets,
      egress: egressPolicy({ allow: ["127.0.0.0/8"] }),
      resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    },
  );
  const result = await channel.send({
    id: "ntf_1",
    atMs: 0,
    attempt: 1,
    event: "test",
    title: "Größe ändern",
    text: "Text\n",
  });
  return { result, mails: smtp.mails };
}

it.each(["tls", "starttls"] as const)("logs in over %s and sends to everybody", async (security) => {
  const { result, mails } = await send({ security, login: LOGIN }, LOGIN.password);
  expect(result).toMatchObject({ kind: "sent", detail: "250 2.0.0 queued" });
  expect(mails).toMatchObject([
    { user: "sluice", isEncrypted: true, to: ["<ops@example.com>", "<dev@example.com>"] },
  ]);
  expect(mails[0]?.data).toContain("Message-ID: <ntf_1@sluice.invalid>");
});

it("says that the password is wrong, without the password", async () => {
  const { result, mails } = await send({ security: "tls", login: LOGIN }, "another passphrase");
  expect(result).toMatchObject({
    kind: "failed",
    detail: expect.stringMatching(/refused the user name or password: .*535 5\.7\.8 wrong user name/),
  });
  expect(JSON.stringify(result)).not.toContain("another passphrase");
  expect(mails).toEqual([]);
});
