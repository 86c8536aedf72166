import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, it } from "vitest";
// @boundaries-ignore the servers that it cannot use
import {
  type FakeCluster,
  fakeCluster,
  type Manner,
} from "../../../event-log/test/jetstream/fake-cluster.ts";

/** The built command line, on NATS servers that it cannot use. */
const SLUICE = fileURLToPath(new URL("../../bin/sluice.cjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-cluster-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let servers: FakeCluster | undefined;
afterEach(() => servers?.close());

async function onCluster(manners: readonly Manner[], args: (servers: string) => readonly string[]) {
  const nats = await fakeCluster(manners);
  servers = nats;
  const child = spawn(process.execPath, [SLUICE, ...args(nats.urls.join(","))], {
    env: {
      ...process.env,
      NO_COLOR: "1",
      SLUICE_SECRET_KEY: Buffer.alloc(32, 9).toString("base64"),
      SLUICE_CLUSTER_USER: "me",
      SLUICE_CLUSTER_PASSWORD: "wrong",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, said }));
  return { nats, child, ended };
}

const data = join(folder, "data");
const collector = (urls: string) => [
  ...["collector", "--host", "127.0.0.1", "--port", "0"],
  ...["--data-dir", data, "--cluster-servers", urls],
];
const migrate = (urls: string) => ["migrate", "--from", urls, "--to", join(folder, "out")];

it.each([
  ["a collector", collector],
  ["a migration", migrate],
])("ends with the reason, and does not try again, if credentials are refused: %s", async (_, args) => {
  const { nats, ended } = await onCluster(["refuses", "refuses", "refuses"], args);
  const { code, said } = await ended;
  expect(said).toContain("error: The NATS server does not accept the credentials");
  expect([code, nats.tries]).toEqual([1, [1, 1, 1]]);
});

it("ends on SIGTERM while a server leaves it without an answer", async () => {
  const { nats, child, ended } = await onCluster(["says nothing"], collector);
  await nats.tried();
  child.kill("SIGTERM");
  expect(await ended).toEqual({ code: 130, said: "error: Interrupted\n" });
});
