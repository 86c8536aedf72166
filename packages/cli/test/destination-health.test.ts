import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import type { DeliveryView, DestinationStatusView } from "@sluice/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDestination } from "../src/commands/doctor.js";
import { judgeHealth } from "../src/destination-health.js";
import { collectorForCli, receiver } from "./cli.js";

const STATUS: DestinationStatusView = {
  destinationId: "d",
  state: "delivering",
  behind: 0,
  retries: 0,
  waiting: 0,
};
const ONE_URL = { settings: { webhooks: [{ url: "https://a.example/" }] } };

function delivery(
  state: DeliveryView["state"],
  minute: number,
  more: Partial<DeliveryView> = {},
): DeliveryView {
  const at = `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`;
  return {
    id: "d",
    messageId: "m",
    sourceId: "s",
    destinationId: "d",
    state,
    reason: state,
    at,
    attempts: 1,
    ...more,
  };
}

describe("the health of a destination", () => {
  it.each([
    ["delivering", "nothing was tried", []],
    ["delivering", "what is queued was never tried", [delivery("pending", 1, { attempts: 0 })]],
    ["failing", "all fails", [delivery("failed", 1)]],
    ["failing", "the newest fails", [delivery("delivered", 1), delivery("failed", 2)]],
    ["delivering", "it recovered", [delivery("failed", 1), delivery("delivered", 2)]],
    ["delivering", "messages are filtered", [delivery("delivered", 1), delivery("filtered", 2)]],
  ] as const)("is %s when %s", (state, _when, deliveries) => {
    expect(judgeHealth(ONE_URL, STATUS, deliveries).state).toBe(state);
  });

  it.each([
    ["good", "delivering"],
    ["idle", "delivering"],
    ["failing", "failing"],
    ["url_disabled", "url_disabled"],
    ["backing_off", "backing_off"],
  ] as const)("that the collector judges %s is %s, whatever the deliveries say", (health, state) => {
    expect(judgeHealth(ONE_URL, { ...STATUS, health }, [delivery("failed", 1)]).state).toBe(state);
  });

  it("says when the next of the retries is due and why the last failed", () => {
    const waiting = [
      delivery("pending", 3, { nextAttemptAt: "2026-01-01T01:00:00.000Z", reason: "answered 503" }),
      delivery("pending", 2, { nextAttemptAt: "2026-01-01T00:30:00.000Z", reason: "refused" }),
    ];
    expect(judgeHealth(ONE_URL, { ...STATUS, retries: 2 }, waiting)).toMatchObject({
      state: "failing",
      retries: 2,
      nextAttemptAt: "2026-01-01T00:30:00.000Z",
      lastError: "answered 503",
    });
  });

  it("takes a probe's time before a retry's", () => {
    const status = { ...STATUS, state: "backing_off", nextAttemptAt: "2026-01-01T02:00:00.000Z" } as const;
    const waiting = [delivery("pending", 1, { nextAttemptAt: "2026-01-01T00:30:00.000Z" })];
    expect(judgeHealth(ONE_URL, status, waiting)).toMatchObject(status);
  });

  it.each(["delivering", "backing_off"] as const)("is a disabled URL's before it is %s", (state) => {
    const settings = {
      webhooks: [
        { url: "https://a.example/", disabled: { at: "2026-01-01T00:00:00.000Z", reason: "gone" } },
        { url: "https://b.example/" },
      ],
    };
    expect(judgeHealth({ settings }, { ...STATUS, state }, [])).toMatchObject({
      state: "url_disabled",
      disabledUrls: ["https://a.example/"],
    });
  });
});

it.each([
  ["delivering", "ok"],
  ["disabled", "skipped"],
  ["failing", "problem"],
  ["backing_off", "problem"],
  ["url_disabled", "problem"],
] as const)("sluice doctor judges a destination that is %s: %s", (state, result) => {
  expect(checkDestination("Hook", { ...STATUS, state, disabledUrls: [] }).result).toBe(result);
});

it("sluice doctor names a destination so that its hint can be typed", () => {
  const { hint } = checkDestination("My hook", { ...STATUS, state: "failing", disabledUrls: [] });
  expect(hint).toContain("npx sluice destinations test 'My hook'");
});

describe("against a collector", () => {
  let at: Awaited<ReturnType<typeof collectorForCli>>;
  beforeAll(async () => {
    at = await collectorForCli();
  });
  afterAll(() => at[Symbol.asyncDispose]());
  const json = async (args: readonly string[], expected = 0) =>
    JSON.parse((await at.sluice([...args, "--json"], expected)).out);

  it("doctor says that there is no destination yet", async () => {
    expect((await at.sluice(["doctor"])).out).toContain("messages are stored and go nowhere");
  });

  it.each([
    ["failing", 404, "failed", "failing"],
    ["waiting", 503, "pending", "failing"],
    ["gone", 410, "failed", "url disabled"],
  ] as const)("status and doctor see a destination that is %s", async (name, answer, ends, word) => {
    await using hook = await receiver(answer);
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--name", name]);
    const { messageId } = await json(["send", "track", "--event", "Paid"]);
    // `pending` is a message's state before its first attempt too: the answer is waited for at the receiver's end.
    await json(["messages", "wait", messageId, "--destination", id, "--state", ends, "--timeout", "20s"]);
    const status = async () => (await at.sluice(["destinations", "status", name])).out;
    let shown = await status();
    while (!shown.includes(word)) shown = await status();
    expect(shown).toContain("LAST ERROR");
    const health = await json(["destinations", "status", name]);
    expect(health.lastError).toContain(String(answer));
    expect(health.disabledUrls).toEqual(answer === 410 ? [hook.url] : []);
    expect(health.retries).toBe(ends === "pending" ? 1 : 0);
    if (ends === "pending") expect(health.nextAttemptAt).toMatch(/^20/);
    const { out, err } = await at.sluice(["doctor"], 6);
    expect(out).toMatch(new RegExp(`✗ destination +${name}: ${word}; .*last error: .*${answer}`));
    expect(err).toContain("1 problem found");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("doctor is content with a destination that delivers", async () => {
    await using hook = await receiver();
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--name", "Well"]);
    const { messageId } = await json(["send", "track", "--event", "Paid"]);
    await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect((await at.sluice(["doctor"])).out).toContain("Well: delivering; nothing waits");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("create, get and update show the settings, of secrets only that they are set, and what to do next", async () => {
    const args = ["destinations", "create", "--webhook", "https://example.com/hook", "--name", "My hook"];
    const created = (await at.sluice([...args, "--secret", "hush", "--header", "Authorization: Bearer xyz"]))
      .out;
    expect(created).toContain("URL: https://example.com/hook  (headers: Authorization)");
    expect(created).toContain("secret: set\n");
    expect(created).toContain("Try it: npx sluice destinations test 'My hook'");
    expect(created).not.toMatch(/hush|xyz/);
    expect((await at.sluice(["destinations", "get", "My hook"])).out).toBe(created);
    const updated = await at.sluice(["destinations", "update", "My hook", "--no-secret"]);
    expect(updated.out).toContain("secret: not set\n");
    await at.sluice(["destinations", "delete", "My hook", "--yes"]);
  });

  it("--ca-file is the setting, and a file that is no PEM is refused", async () => {
    const file = join(at.directory, "authority.pem");
    await writeFile(file, rootCertificates[0] ?? "");
    const args = ["destinations", "create", "--webhook", "https://example.com/", "--name", "Tls"];
    expect((await json([...args, "--ca-file", file])).settings.caFile).toBe(file);
    await at.sluice(["destinations", "update", "Tls", "--ca-file", "/nowhere.pem"], 2);
    await at.sluice(["destinations", "delete", "Tls", "--yes"]);
  });
});
