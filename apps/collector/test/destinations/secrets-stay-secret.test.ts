import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { expect, it } from "vitest";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { startTestCollector } from "../../src/testing.js";

it("shared secrets and credential headers never appear in a response, log line, error, metric or file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-secrets-"));
  const lines: string[] = [];
  const answers: string[] = [];
  const store = await openSqliteStore({ directory: folder, clock: systemClock });
  const collector = await startTestCollector({
    store,
    dataDirectory: folder,
    logger: createLogger({ level: "debug", write: (line) => lines.push(line) }),
  });
  const SECRETS = ["hunter2-shared", "hunter2-former", "hunter2-bearer", "hunter2-cookie"];
  const ask = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await fetch(collector.url + path, {
      method,
      headers: { authorization: `Bearer ${collector.adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answers.push(await answer.text());
  };
  const url = "https://hooks.example/a";
  try {
    const settings = {
      webhooks: [{ url, headers: { Authorization: "Bearer hunter2-bearer", Cookie: "a=hunter2-cookie" } }],
      sharedSecret: ["hunter2-shared", "hunter2-former"],
      standardWebhooks: true,
    };
    const id = await collector.connect(settings);
    collector.webhooks.script(url, { status: 500, body: "no" });
    await collector.send({ type: "track", event: "E", userId: "u1", messageId: "m1" });
    while (collector.webhooks.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    // The receiver does get them.
    expect(collector.webhooks.requests[0]?.headers.authorization).toBe("Bearer hunter2-bearer");

    const destination = `/api/v1/destinations/${id}`;
    // Settings with an error in every field, and the secrets in them.
    for (const wrong of [
      { ...settings, sharedSecret: ["hunter2-shared", "hunter2-former", "hunter2-third"] },
      { webhooks: [{ url: "nowhere", headers: { "X-Bad": "hunter2-bearer\n" } }] },
      { ...settings, webhooks: [{ url: `${url}/other`, headers: { Host: "hunter2-cookie" } }] },
    ]) {
      await ask("PATCH", destination, { settings: wrong });
      await ask("POST", "/api/v1/destinations", { type: "webhooks", settings: wrong });
    }
    await ask("PATCH", destination, { settings });
    for (const path of [
      destination,
      "/api/v1/destinations",
      "/api/v1/messages/m1",
      `/api/v1/deliveries?destinationId=${id}`,
      "/api/v1/catalog",
      "/api/v1/audit",
      "/metrics",
    ]) {
      await ask("GET", path);
    }
    await ask("POST", `${destination}/test`);
  } finally {
    await collector.close();
  }
  const files = await Promise.all(
    (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(join(entry.parentPath, entry.name), "latin1")),
  );
  await rm(folder, { recursive: true });

  expect(answers.join("\n")).toContain('"sharedSecretSet":true');
  for (const secret of SECRETS) {
    expect(answers.filter((text) => text.includes(secret))).toEqual([]);
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    expect(files.filter((text) => text.includes(secret))).toHaveLength(0);
  }
  expect(files.length).toBeGreaterThan(1);
});
