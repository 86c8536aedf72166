import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { sign, signStandard } from "@sluice/webhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectorForCli, receiver } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

describe("listen", () => {
  it("creates its destination, verifies, prints differences, and deletes the destination", async () => {
    const listen = at.start(["listen", "--port", "0", "--connect", "--count", "2"]);
    await listen.printed(/listening on/);
    await at.sluice(["send", "track", "--event", "Heard", "--properties", '{"n":1,"same":true}']);
    await listen.printed(/signed/);
    await at.sluice(["send", "track", "--event", "Heard", "--properties", '{"n":2,"same":true}']);
    expect(await listen.code).toBe(0);
    const [first, second] = listen.out().split(/(?<=\n)(?=\S+ {2}track Heard)/);
    expect(first).toContain('"same": true');
    expect(second).toContain("  - properties.n: 1\n  + properties.n: 2\n");
    expect(second).not.toContain("same");
    const { items } = await json(["destinations", "list"]);
    expect(items.filter(({ name }: { name: string }) => name.startsWith("sluice listen"))).toEqual([]);
  });

  it("checks the Standard Webhooks headers, and prints repeated messages in one line", async () => {
    const listen = at.start(["listen", "--port", "0", "--secret", "s3cret"]);
    await listen.printed(/listening on/);
    const url = /listening on (\S+)/.exec(listen.err())?.[1] ?? "";
    const body = JSON.stringify({ type: "track", event: "Heard", messageId: "m1", properties: { n: 1 } });
    const classic = { "x-signature": sign(body, "s3cret") };
    const signedAt = (id: string, timestampMs: number) => ({
      ...classic,
      ...signStandard(body, "s3cret", { id, timestampMs }),
    });
    const post = (headers: Record<string, string>) => fetch(url, { method: "POST", headers, body });
    await post(signedAt("one", Date.now()));
    await post(signedAt("one", Date.now()));
    await post(signedAt("late", Date.now() - 3_600_000));
    await post({ ...signedAt("one", Date.now()), "webhook-id": "other" });
    await post(classic);
    await listen.printed(/( 200\b[\s\S]*){5}/);
    listen.interrupt();
    expect(await listen.code).toBe(0);
    const heads = listen
      .out()
      .split("\n")
      .filter((line) => line.includes("Heard") && !line.includes('"'));
    expect(
      heads.map((line) =>
        line
          .split(/ {2}/)
          .slice(2)
          .filter((word) => word !== ""),
      ),
    ).toEqual([
      ["signed", "200"],
      ["signed", "200", "repeated"],
      ["SIGNED MORE THAN 5 MIN OFF", "200"],
      ["WRONG SIGNATURE", "200"],
      ["signed", "200"],
    ]);
  });

  it("prints each message of a batch", async () => {
    const listen = at.start(["listen", "--port", "0", "--secret", "s3cret", "--json"]);
    await listen.printed(/listening on/);
    const url = /listening on (\S+)/.exec(listen.err())?.[1] ?? "";
    const body = JSON.stringify({
      messages: [1, 2].map((n) => ({ type: "track", event: "Heard", messageId: `m${n}` })),
    });
    const headers = { "x-signature": sign(body, "s3cret"), "x-message-id": "batch_1" };
    for (const _ of [1, 2]) await fetch(url, { method: "POST", headers, body });
    await listen.printed(/(m2[\s\S]*){4}/);
    listen.interrupt();
    expect(await listen.code).toBe(0);
    const lines = listen.out().trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { messageId: "m1", signature: "valid", isRepeat: false, body: { event: "Heard" } },
      { messageId: "m2", isRepeat: false },
      { messageId: "m1", isRepeat: true },
      { messageId: "m2", isRepeat: true },
    ]);
  });

  it("removes only the destination of a killed listen", async () => {
    await using alive = await receiver();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const dead = `http://127.0.0.1:${(taken.address() as AddressInfo).port}/`;
    await new Promise((resolve) => taken.close(resolve));
    const create = (name: string, url: string) =>
      json(["destinations", "create", "--disabled", "--name", name, "--webhook", url]);
    await create(`sluice listen ${dead}`, dead);
    await create(`sluice listen ${alive.url}`, alive.url);
    await create("Down for now", dead);

    const listen = at.start(["listen", "--port", "0", "--connect"]);
    await listen.printed(/listening on/);
    listen.interrupt();
    expect(await listen.code).toBe(0);
    const { items } = await json(["destinations", "list"]);
    const names = items.map(({ name }: { name: string }) => name);
    expect(names).not.toContain(`sluice listen ${dead}`);
    expect(names).toEqual(expect.arrayContaining([`sluice listen ${alive.url}`, "Down for now"]));
    for (const name of [`sluice listen ${alive.url}`, "Down for now"])
      await at.sluice(["destinations", "delete", name, "--yes"]);
  });

  it("says that the address is in use, and what to do", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { err } = await at.sluice(["listen", "--port", String(port)], 1);
    expect(err).toContain(
      `error: The address 127.0.0.1:${port} is already in use by another process\nhint: Choose another port with --port`,
    );
    expect(err).not.toContain("EADDRINUSE");
    await new Promise((resolve) => taken.close(resolve));
  });

  it("says that an address does not belong to this machine", async () => {
    const { err } = await at.sluice(["listen", "--port", "0", "--host", "192.0.2.1"], 2);
    expect(err).toContain("192.0.2.1 is not an address of this machine");
  });

  it("forwards, and responds with the response", async () => {
    await using app = await receiver(503);
    const listen = at.start([
      "listen",
      "--port",
      "0",
      "--forward",
      app.url,
      "--secret",
      "hush",
      "--count",
      "1",
      "--json",
    ]);
    await listen.printed(/listening on (\S+),/);
    const url = /listening on (\S+),/.exec(listen.err())?.[1] ?? "";
    const response = await fetch(url, {
      method: "POST",
      body: '{"type":"track"}',
      headers: { "x-signature": "0".repeat(40) },
    });
    expect(response.status).toBe(503);
    await listen.code;
    expect(app.received[0]?.body).toBe('{"type":"track"}');
    expect(JSON.parse(listen.out())).toMatchObject({ signature: "invalid", answered: 503 });
  });
});
