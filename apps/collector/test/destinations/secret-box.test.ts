import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSecretKey, secretBox } from "../../src/destinations/secret-box.js";

describe("a secret box", () => {
  const box = secretBox(randomBytes(32));

  it("opens what it sealed, and never seals a secret to the same text twice", () => {
    const [first, second] = [box.seal("Größe"), box.seal("Größe")];
    expect(first).not.toBe(second);
    expect([box.open(first), box.open(second)]).toEqual(["Größe", "Größe"]);
    // Base64 of random bytes has any two letters by chance. The umlaut is in no base64.
    expect(first).not.toContain("Größe");
    expect(first).not.toContain(Buffer.from("Größe").toString("base64"));
  });

  it.each<[string, (sealed: string) => string]>([
    ["modified", (sealed) => sealed.slice(0, -2) + (sealed.endsWith("AA") ? "BB" : "AA")],
    ["truncated", (sealed) => sealed.slice(0, 20)],
    ["not sealed at all", () => "plain"],
    ["empty", () => ""],
  ])("refuses a sealed text that is %s, and says what to do", (_name, change) => {
    expect(() => box.open(change(box.seal("secret")))).toThrow(/SLUICE_SECRET_KEY/);
  });

  it("refuses a secret that was sealed with another key", () => {
    expect(() => secretBox(randomBytes(32)).open(box.seal("secret"))).toThrow(/cannot be decrypted/);
  });
});

describe("the secret key", () => {
  const sealedFor = async (): Promise<string[]> => [];
  const open = (file: string, destinations: readonly string[] = []) =>
    openSecretKey({ file, sealedFor: async () => destinations });
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-key-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("is created once, in a file that only its owner can read, and reused", async () => {
    const file = join(folder, "secret.key");
    const keys = await Promise.all([1, 2, 3].map(() => open(file)));
    expect(new Set(keys.map(({ key }) => Buffer.from(key).toString("hex"))).size).toBe(1);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("restricts the permissions of a file that others can read", async () => {
    const file = join(folder, "secret.key");
    await open(file);
    await chmod(file, 0o644);
    await open(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["empty", ""],
    ["truncated", "c2hvcnQ=\n"],
    ["zeroed", "\0".repeat(45)],
  ])("names the destinations that need it if its file is %s", async (_case, text) => {
    const file = join(folder, "secret.key");
    await writeFile(file, text);
    const refused = await open(file, ["dst_1", "dst_2"]).catch((error: Error) => error.message);
    expect(refused).toContain(`The secret key file ${file} is damaged`);
    expect(refused).toContain("It is needed to decrypt the secrets of dst_1, dst_2");
    expect(refused).toContain("Restore the file from a backup");
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("is replaced if its file is damaged and no secret is sealed with it", async () => {
    const file = join(folder, "secret.key");
    await writeFile(file, "");
    const { key, orphaned } = await open(file);
    expect([key.length, orphaned]).toEqual([32, []]);
    expect((await open(file, ["dst_1"])).key).toEqual(key);
    expect(await readdir(folder)).toEqual(["secret.key"]);
  });

  it("is replaced if its file is missing, and names the destinations whose secrets are lost", async () => {
    expect((await open(join(folder, "secret.key"), ["dst_1"])).orphaned).toEqual(["dst_1"]);
  });

  it("comes from the environment if set, in hex or base64, and is then not written to a file", async () => {
    const key = randomBytes(32);
    const file = join(folder, "secret.key");
    for (const text of [key.toString("hex"), key.toString("base64"), key.toString("base64url")]) {
      expect(Buffer.from((await openSecretKey({ fromEnvironment: text, file, sealedFor })).key)).toEqual(key);
    }
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });

  it.each(["short", "x".repeat(44), "00".repeat(31)])("refuses %j in the environment", async (text) => {
    await expect(
      openSecretKey({ fromEnvironment: text, file: join(folder, "k"), sealedFor }),
    ).rejects.toThrow("SLUICE_SECRET_KEY must be 32 bytes");
  });
});
