/** The bill of materials is valid CycloneDX, and names what it should. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { publishedPackages, ROOT, tagOf } from "../../scripts/release/published.mjs";

/** The schemas come with this package. They are not in the root's lock file. */
const SCHEMAS = join(import.meta.dirname, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
const isInstalled = existsSync(SCHEMAS);
const load = createRequire(import.meta.url);

interface Bill {
  readonly specVersion: string;
  readonly components: readonly {
    readonly "bom-ref": string;
    readonly name: string;
    readonly version: string;
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** What the schema finds wrong; empty if the bill is valid. */
function problemsOf(bill: unknown, specVersion: string): readonly unknown[] {
  const { default: Ajv } = load("ajv/dist/ajv.js");
  const { default: addFormats } = load("ajv-formats/dist/index.js");
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  // Their checks are not part of the package.
  for (const format of ["iri-reference", "idn-email"]) ajv.addFormat(format, true);
  for (const name of ["spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"])
    ajv.addSchema(readJson(join(SCHEMAS, name)), `http://cyclonedx.org/schema/${name}`);
  const validate = ajv.compile(readJson(join(SCHEMAS, `bom-${specVersion}.SNAPSHOT.schema.json`)));
  return validate(bill) ? [] : validate.errors;
}

describe.skipIf(!isInstalled && process.env.CI === undefined)("the bill of materials", () => {
  let bill: Bill;
  beforeAll(() => {
    execFileSync(process.execPath, [join(ROOT, "scripts/release/sbom.mjs")], { stdio: "pipe" });
    bill = readJson(join(ROOT, "dist/sbom.cdx.json")) as Bill;
  });

  it("is valid by the schema of its version of CycloneDX", () => {
    expect(problemsOf(bill, bill.specVersion)).toEqual([]);
  });

  it("would not be with a licence that does not exist, or a component twice", () => {
    const [first, ...rest] = bill.components;
    const changed = { ...first, licenses: [{ license: { id: "Not-A-Licence" } }] };
    expect(problemsOf({ ...bill, components: [changed, ...rest] }, bill.specVersion)).not.toEqual([]);
    expect(problemsOf({ ...bill, components: [first, first] }, bill.specVersion)).not.toEqual([]);
  });

  it("names every published package, and no reference leads nowhere", () => {
    const tags = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect(tags).toEqual(expect.arrayContaining(publishedPackages().map(tagOf)));
    const refs = bill.components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    const known = new Set(refs);
    const unknown = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(unknown.filter((ref) => !known.has(ref))).toEqual([]);
  });
});
