import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli } from "../support/cli.js";

let folder: string;
let running: ReturnType<typeof cli>;
let stop: () => Promise<unknown>;
let listening: { readonly url: string; readonly adminUrl: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-addresses-"));
  running = cli(
    ["collector", "--json", "--port", "0", "--admin-listen", "127.0.0.1:0", "--data-dir", "data"],
    { cwd: folder, env: {} },
  );
  await running.printed(/"url"/);
  listening = JSON.parse(await readFile(join(folder, "data/listening.json"), "utf8"));
  stop = async () => {
    running.interrupt();
    await running.code;
  };
});
afterAll(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

const sluice = async (args: readonly string[], env: Record<string, string> = {}) => {
  const command = cli([...args], { cwd: folder, env });
  return { code: await command.code, out: command.out(), err: command.err() };
};

describe("a collector with an address of its own for the control API", () => {
  it("says both when it is ready", () => {
    expect(JSON.parse(running.out())).toEqual({ url: listening.url, adminUrl: listening.adminUrl });
    expect(listening.adminUrl).not.toBe(listening.url);
  });

  it("is found by its data folder, with the token in it", async () => {
    expect(await sluice(["sources", "create", "web"], { SLUICE_DATA_DIR: "data" })).toMatchObject({
      code: 0,
    });
    const { code, out } = await sluice(["sources", "list", "--data-dir", "data"]);
    expect([code, out]).toEqual([0, expect.stringContaining("web")]);
  });

  it("is found by SLUICE_ADMIN_URL, while messages go to SLUICE_URL", async () => {
    const token = (await readFile(join(folder, "data/admin-token"), "utf8")).trim();
    const { url, adminUrl } = listening;
    const env = { SLUICE_URL: url, SLUICE_ADMIN_URL: adminUrl, SLUICE_TOKEN: token };
    const { out } = await sluice(["sources", "list", "--json"], env);
    const writeKey = JSON.parse(out).items[0].writeKeys[0].key;
    const { out: doctor } = await sluice(["doctor", "--json", "--write-key", writeKey], env);
    const checks = JSON.parse(doctor).checks as { name: string; result: string; message: string }[];
    expect(checks.filter(({ name }) => name === "address").map(({ message }) => message)).toEqual([
      `${url} is ready`,
      `${adminUrl} is ready`,
    ]);
    expect(checks).toContainEqual({
      name: "proxy",
      result: "ok",
      message: `browsers are told to send to ${url}`,
    });
    expect(checks.filter(({ result }) => result === "problem")).toEqual([]);
  });

  it("is explained to who asks the public address", async () => {
    const env = { SLUICE_URL: listening.url, SLUICE_TOKEN: "slt_any" };
    const refused = await sluice(["sources", "list"], env);
    expect(refused.code).toBe(5);
    expect(refused.err).toContain("SLUICE_ADMIN_URL");
    const { out } = await sluice(["doctor"], env);
    expect(out).toContain(`there is no control API at ${listening.url}`);
  });

  it("says which address is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    await writeFile(
      join(folder, "sluice.json"),
      JSON.stringify({ adminListen: `127.0.0.1:${port}`, port: 0 }),
    );
    const { code, err } = await sluice(["collector", "--config", "sluice.json", "--data-dir", "other"]);
    await new Promise((resolve) => taken.close(resolve));
    expect(code).toBe(1);
    expect(err).toContain(`127.0.0.1:${port} is already in use`);
    expect(err).toContain("--admin-listen");
  });
});
