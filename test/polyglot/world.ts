import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { verify, verifyStandard } from "@sluice/webhooks";
import { freePort, ROOT, stopProcess } from "../../docs/test/running-collector.ts";
import { parseExact } from "./exact-json.ts";

const SECRET = "a secret of your own";

export type Received = Readonly<Record<string, unknown>>;

/** A built collector whose webhook keeps what arrives. It can be stopped and started again, at the same address. */
export interface World {
  readonly url: string;
  readonly writeKey: string;
  /** What arrived for a user, or a group with its name, each message once. */
  received(userId: string): readonly Received[];
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-clients-"));
  const port = await freePort();
  const bodies = new Map<string, Received>();
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const isSigned =
      verify(body, String(request.headers["x-signature"]), SECRET) &&
      verifyStandard(body, request.headers as Record<string, string>, SECRET) === "valid";
    response.writeHead(isSigned ? 200 : 401).end();
    if (isSigned)
      bodies.set(String(request.headers["x-message-id"]), parseExact(body.toString()) as Received);
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");

  let child: ChildProcess;
  async function start(): Promise<Record<"url" | "adminToken" | "writeKey" | "sourceId", string>> {
    child = spawn(
      process.execPath,
      ["packages/cli/bin/sluice.cjs", "dev", "--json", "--port", String(port), "--data-dir", dataDir],
      { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] },
    );
    const [line] = await once(createInterface(child.stdout as NodeJS.ReadableStream), "line");
    return JSON.parse(line as string);
  }
  const { url, adminToken, writeKey, sourceId } = await start();
  const created = await fetch(`${url}/api/v1/destinations`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({
      type: "webhooks",
      sourceIds: [sourceId],
      settings: {
        webhooks: [{ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` }],
        sharedSecret: SECRET,
      },
      enabled: true,
    }),
  });
  if (!created.ok) throw new Error(await created.text());

  return {
    url,
    writeKey,
    received: (userId) =>
      [...bodies.values()].filter(({ userId: user, groupId, ...body }) =>
        [user, groupId, body["User ID"]].includes(userId),
      ),
    stop: () => stopProcess(child, "SIGTERM"),
    async start() {
      await start();
    },
    async close() {
      await stopProcess(child, "SIGTERM");
      receiver.closeAllConnections();
      receiver.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
