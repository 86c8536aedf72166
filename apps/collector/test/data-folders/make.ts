/**
 * Makes the data folder of the present version as a fixture: `npm run fixtures:data`. Run it once before a release, and commit the file.
 * The test beside it opens every fixture with the newest code.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { VERSION } from "../../src/process/version.js";
import { describeData, type FixtureCollector, startFixtureCollector } from "./fixture-collector.js";

const MOST_BYTES = 100_000;
/** Refuses everything but deletions. */
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk: Buffer) => {
    body += chunk;
  });
  request.on("end", () => response.writeHead(body.includes('"delete"') ? 200 : 400).end("no"));
}).listen(0, "127.0.0.1");
await once(receiver, "listening");

const directory = mkdtempSync(join(tmpdir(), "sluice-fixture-"));
try {
  const collector = await startFixtureCollector(directory);
  await fill(collector);
  await collector.close();
  // Some figures change with a restart, such as when retries are due.
  const reopened = await startFixtureCollector(directory);
  const expected = await describeData(reopened);
  await reopened.close();
  const entry = (name: string, body: Uint8Array) => ({
    header: { name, size: body.byteLength, mtime: new Date(0) },
    body,
  });
  const tar = await packTar([
    ...["sluice.db", "profiles.db"].map((name) => entry(name, readFileSync(join(directory, name)))),
    entry("expected.json", Buffer.from(JSON.stringify(expected))),
  ]);
  const packed = gzipSync(tar, { level: 9 });
  if (packed.byteLength > MOST_BYTES) throw new Error(`the fixture has ${packed.byteLength} bytes`);
  const file = new URL(`./fixtures/${VERSION}.tar.gz`, import.meta.url);
  writeFileSync(file, packed);
  process.stdout.write(`${file.pathname}: ${packed.byteLength} bytes\n`);
} finally {
  receiver.close();
  receiver.closeAllConnections();
  rmSync(directory, { recursive: true, force: true });
}

/** Messages with every outcome, documents of every kind, members of an audience, a deleted user. */
async function fill({ api, send }: FixtureCollector): Promise<void> {
  const source = await api("POST", "/sources", { name: "Shop", rateLimit: 1_000 });
  const settings = (url: string) => ({ webhooks: [{ url }], sharedSecret: "of the fixture" });
  const destination = (name: string, type: string, more: object) =>
    api("POST", "/destinations", { name, type, sourceIds: [source.id], enabled: true, ...more });
  await destination("Console", "console", { settings: {} });
  const { port } = receiver.address() as AddressInfo;
  await destination("Refusing", "webhooks", { settings: settings(`http://127.0.0.1:${port}/`) });
  await api("POST", "/audiences", {
    name: "Buyers",
    condition: { kind: "event", event: "Ordered", times: { atLeast: 1 } },
  });
  const track = (userId: string, no: number) => ({
    type: "track",
    event: "Ordered",
    userId,
    messageId: `m-${userId}-${no}`,
  });
  const identify = {
    type: "identify",
    userId: "ada",
    messageId: "m-identify",
    traits: { plan: "pro", age: 36 },
  };
  await send(source.writeKeys[0].key, [identify, track("ada", 1), track("grace", 1), track("linus", 1)]);
  await send(source.writeKeys[0].key, [track("ada", 2), { type: "track", messageId: "m-refused" }]).catch(
    () => {},
  );
  const deletion = await api("POST", "/deletions", { userIds: ["grace"], suppress: true });
  await until(async () => {
    const { status } = await api("GET", `/deletions/${deletion.id}`);
    return status === "finished";
  });
  await until(async () => (await api("GET", "/profiles/ada")).audiences.length > 0);
  // Nothing may be under way when the folder is packed.
  await until(async () =>
    (await api("GET", "/messages?limit=100")).items.every(({ outcomes }: { outcomes: { state: string }[] }) =>
      outcomes.every(({ state }) => state !== "pending"),
    ),
  );
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isTrue().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the fixture did not get into its state");
}
