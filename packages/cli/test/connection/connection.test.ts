import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isLoopbackUrl } from "../../src/connection/listening-file.js";
import { cli } from "../support/cli.js";

let folder: string;
let port: number;
/** The authorization of every request, whatever its address. */
let seen: (string | undefined)[];
let close: () => Promise<unknown>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-connection-"));
  await mkdir(join(folder, ".sluice"));
  seen = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { "content-type": "application/json" }).end('{"items":[]}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  close = () => new Promise((resolve) => server.close(resolve));
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, content: object, mode = 0o600) =>
  writeFile(join(folder, ".sluice", name), JSON.stringify(content), { mode });

async function sources(
  env: Record<string, string> = { SLUICE_ADMIN_TOKEN: "of-production" },
  more: string[] = [],
) {
  const running = cli(["sources", "list", ...more], { cwd: folder, env });
  return { code: await running.code, err: running.err() };
}

describe("the address in .sluice/listening.json", () => {
  it("is used with the token from the environment if it is on this machine", async () => {
    await write("listening.json", { url: `http://localhost:${port}` });
    expect(await sources()).toMatchObject({ code: 0 });
    expect(seen).toEqual(["Bearer of-production"]);
  });

  // Requests to 0.0.0.0 also arrive at this machine, so the test sees what another machine would get.
  it("is not used if it is on another machine; nothing is sent", async () => {
    await write("listening.json", { url: `http://0.0.0.0:${port}` });
    const { code, err } = await sources();
    expect([code, seen]).toEqual([2, []]);
    expect(err).toContain("listening.json");
    expect(err).toContain("--url");
    expect(await sources(undefined, ["--url", `http://0.0.0.0:${port}`])).toMatchObject({ code: 0 });
    expect(seen).toEqual(["Bearer of-production"]);
  });

  it.each<[name: string, spoil: (file: string) => Promise<unknown>]>([
    ["other users can write to the file", (file) => chmod(file, 0o622)],
    [
      "the file is a symbolic link",
      async (file) => {
        await rename(file, `${file}.real`);
        await symlink(`${file}.real`, file);
      },
    ],
    ["it is not a file", async (file) => rm(file).then(() => mkdir(file))],
  ])("is not used if %s", async (_name, spoil) => {
    await write("listening.json", { url: `http://127.0.0.1:${port}` });
    await spoil(join(folder, ".sluice", "listening.json"));
    expect([(await sources()).code, seen]).toEqual([2, []]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "is not used if the file belongs to another user (needs root)",
    async () => {
      const { chown } = await import("node:fs/promises");
      await write("listening.json", { url: `http://127.0.0.1:${port}` });
      await chown(join(folder, ".sluice", "listening.json"), 65534, 65534);
      expect([(await sources()).code, seen]).toEqual([2, []]);
    },
  );
});

describe("the token in .sluice/dev.json", () => {
  it("is only sent to this machine", async () => {
    await write("dev.json", { adminToken: "of-dev" });
    expect(await sources({ SLUICE_URL: `http://0.0.0.0:${port}` })).toMatchObject({ code: 4 });
    expect(seen).toEqual([]);
    expect(await sources({ SLUICE_URL: `http://127.0.0.1:${port}` })).toMatchObject({ code: 0 });
    expect(seen).toEqual(["Bearer of-dev"]);
  });
});

describe("a loopback URL", () => {
  it.each([
    "http://127.0.0.1:4400",
    "http://127.1",
    "http://0x7f.0.0.1",
    "http://2130706433/",
    "http://127.255.255.254/",
    "http://localhost:4400",
    "https://LOCALHOST.",
    "http://[::1]:4400",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[::ffff:127.0.0.1]",
  ])("is %s", (url) => {
    expect(isLoopbackUrl(url)).toBe(true);
  });

  it.each([
    "http://127.0.0.1@evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "http://evil.localhost",
    "http://0.0.0.0",
    "http://[::]",
    "http://[::2]",
    "http://128.0.0.1",
    "http://10.0.0.1",
    "http://[::ffff:10.0.0.1]",
    "ftp://127.0.0.1",
    "127.0.0.1:4400",
    "",
  ])("is not %s", (url) => {
    expect(isLoopbackUrl(url)).toBe(false);
  });
});
