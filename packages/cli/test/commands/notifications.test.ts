import { afterAll, beforeAll, expect, it } from "vitest";
import { collectorForCli, receiver } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);
const notifications = (...args: string[]) => json(["notifications", ...args]);

it("sets up a webhook, tests it, and removes it, without ever showing its secret", async () => {
  await using hook = await receiver();
  await at.sluice(["notifications", "test"], 2);
  const settings = await notifications("webhook", hook.url, "--secret", "hush hush");
  expect(settings).toMatchObject({ webhook: { url: hook.url, sharedSecretSet: true } });
  expect(await notifications("test")).toMatchObject({ items: [{ channel: "webhook", state: "sent" }] });
  expect(JSON.parse(hook.received[0]?.body ?? "")).toMatchObject({ event: "test" });
  const audit = await at.sluice(["audit", "--json"]);
  expect(audit.out).toContain("notifications.configure");
  expect(JSON.stringify([settings, audit])).not.toContain("hush");
  expect((await at.sluice(["notifications", "settings"])).out).toContain(`webhook:\n  url: ${hook.url}\n`);
  expect(await notifications("webhook", "--remove")).not.toHaveProperty("webhook");
});

it("sets up email, and says what is missing", async () => {
  const { err } = await at.sluice(["notifications", "email", "--host", "127.0.0.1"], 2);
  expect(err).toMatch(/email\.from.*address/s);
  const email = ["--host", "127.0.0.1", "--from", "a@example.com", "--to", "b@example.com", "c@example.com"];
  const login = ["--user", "ada", "--password", "hush hush", "--security", "tls", "--port", "465"];
  const settings = await notifications("email", ...email, ...login);
  expect(settings.email).toEqual({
    host: "127.0.0.1",
    port: 465,
    security: "tls",
    user: "ada",
    passwordSet: true,
    from: "a@example.com",
    to: ["b@example.com", "c@example.com"],
  });
  expect((await at.sluice(["audit", "--json"])).out).not.toContain("hush");
  expect(await notifications("email", "--remove")).not.toHaveProperty("email");
});

it("chooses kinds and the interval", async () => {
  expect(await notifications("kinds", "disk_low", "url_disabled", "--min-interval", "2h")).toMatchObject({
    kinds: ["disk_low", "url_disabled"],
    minIntervalMs: 7_200_000,
  });
  expect(await notifications("kinds", "--none")).toMatchObject({ kinds: [], minIntervalMs: 7_200_000 });
  await at.sluice(["notifications", "kinds"], 2);
  await at.sluice(["notifications", "kinds", "fire"], 2);
  expect(await notifications("list")).toMatchObject({ items: [] });
  expect(await notifications("incidents")).toMatchObject({ items: [] });
});
