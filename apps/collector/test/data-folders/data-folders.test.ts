import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { STORE_LAYOUTS } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { unpackTar } from "modern-tar";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../src/process/version.js";
import { describeData, startFixtureCollector } from "./fixture-collector.js";

const FIXTURES = fileURLToPath(new URL("./fixtures/", import.meta.url));
const fixtures = readdirSync(FIXTURES).filter((name) => name.endsWith(".tar.gz"));
const temporaryDirectory = temporaryDirectories();

/** Unpacks a fixture into a new folder. */
async function unpacked(fixture: string): Promise<{ directory: string; expected: object }> {
  const directory = temporaryDirectory();
  const bytes = gunzipSync(readFileSync(join(FIXTURES, fixture)));
  let expected = {};
  for (const { header, data = new Uint8Array() } of await unpackTar(bytes)) {
    if (header.name === "expected.json") expected = JSON.parse(Buffer.from(data).toString());
    else writeFileSync(join(directory, header.name), data);
  }
  return { directory, expected };
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

const layoutOf = (directory: string, name: string): number => {
  const database = new DatabaseSync(join(directory, name));
  const { user_version: layout } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  database.close();
  return layout;
};

async function openAgain(directory: string, expected: object, openings: number): Promise<void> {
  for (let opening = 0; opening < openings; opening++) {
    const collector = await startFixtureCollector(directory);
    try {
      expect(await describeData(collector)).toEqual(expected);
    } finally {
      await collector.close();
    }
  }
  for (const [name, layout] of Object.entries(STORE_LAYOUTS)) expect(layoutOf(directory, name)).toBe(layout);
}

describe("data folders of older versions", () => {
  it("has a fixture of this version: npm run fixtures:data", () => {
    expect(fixtures).toContain(`${VERSION}.tar.gz`);
  });

  it.each(fixtures)(
    "opens %s with its messages, outcomes, documents, audience and deletion",
    async (fixture) => {
      const { directory, expected } = await unpacked(fixture);
      expect(expected).toMatchObject({ deletion: { status: "finished" }, profile: { userId: "ada" } });
      await openAgain(directory, expected, 2);
    },
  );

  it.each(Object.keys(STORE_LAYOUTS))("does not open a newer %s", async (name) => {
    const { directory } = await unpacked("0.1.0.tar.gz");
    change(join(directory, name), "PRAGMA user_version = 99");
    await expect(startFixtureCollector(directory)).rejects.toThrow(/written by a newer version/);
  });
});
