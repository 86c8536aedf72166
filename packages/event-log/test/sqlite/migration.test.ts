import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openDatabase } from "../../src/sqlite/database/database.js";
import { DATABASE_FILE } from "../../src/sqlite/database/database-files.js";
import { SCHEMA_STEPS } from "../../src/sqlite/database/schema.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

describe("a folder of an older version", () => {
  it("applies each missing step once and keeps its data", () => {
    const directory = temporaryDirectory();
    const older = openDatabase(directory, SCHEMA_STEPS);
    older.exec("INSERT INTO sources (no, id) VALUES (1, 'src_1')");
    older.close();
    const newer = [...SCHEMA_STEPS, "ALTER TABLE sources ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"];
    for (let opening = 0; opening < 2; opening++) {
      const database = openDatabase(directory, newer);
      expect({ ...database.prepare("SELECT * FROM sources").get() }).toEqual({
        no: 1,
        id: "src_1",
        colour: "red",
      });
      database.close();
    }
    expect(() => openDatabase(directory, SCHEMA_STEPS)).toThrow(/written by a newer version/);
  });

  it("stays unchanged if a step fails", () => {
    const directory = temporaryDirectory();
    openDatabase(directory, SCHEMA_STEPS).close();
    const broken = [...SCHEMA_STEPS, "CREATE TABLE made (x); INSERT INTO missing VALUES (1)"];
    expect(() => openDatabase(directory, broken)).toThrow(/cannot be opened: no such table: missing/);
    const database = new DatabaseSync(join(directory, DATABASE_FILE));
    expect(database.prepare("SELECT name FROM sqlite_schema WHERE name = 'made'").get()).toBeUndefined();
    database.close();
    openDatabase(directory, SCHEMA_STEPS).close();
  });
});
