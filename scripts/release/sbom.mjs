// `npm run sbom` writes a CycloneDX bill of materials to dist/sbom.cdx.json: the published packages, what npm installs with them,
// and the third-party code that is bundled in them. `npm sbom` is no use here: it leaves out dependencies that are also
// development dependencies of another workspace (undici, lru-cache), and names workspaces by their folder.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedPackages, ROOT } from "./published.mjs";

const FILE = join(ROOT, "dist/sbom.cdx.json");
const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;

const purlOf = (name, version) => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

function componentOf(name, { version, license, integrity = "" }) {
  const [, algorithm, digest] = /^(sha\d+)-(.+)$/.exec(integrity) ?? [];
  const hash = digest && {
    alg: algorithm.replace("sha", "SHA-"),
    content: Buffer.from(digest, "base64").toString("hex"),
  };
  return {
    "bom-ref": purlOf(name, version),
    type: "library",
    name,
    version,
    purl: purlOf(name, version),
    licenses: [{ license: { id: license } }],
    ...(hash ? { hashes: [hash] } : {}),
  };
}

/** The folder in the lock file from which `from` gets a dependency, found as Node.js finds it. */
function placeOf(from, name) {
  for (let folder = from; ; folder = folder.replace(/\/?[^/]+$/, "")) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (lock[place] !== undefined) return lock[place].link ? lock[place].resolved : place;
    if (folder === "") throw new Error(`${name}, which ${from} depends on, is not in package-lock.json`);
  }
}

/** Adds a package and everything that npm installs with it. Answers its reference. */
function add(bill, folder, name) {
  const entry = lock[folder];
  const component = componentOf(name, entry);
  const ref = component["bom-ref"];
  if (bill.dependencies.has(ref)) return ref;
  bill.components.push(component);
  bill.dependencies.set(ref, []);
  const wanted = Object.keys(entry.dependencies ?? {});
  bill.dependencies.set(
    ref,
    wanted.map((other) => add(bill, placeOf(folder, other), other)),
  );
  return ref;
}

/** What no manifest says: the headings of the licences that the builds keep, each once even if two bundles have it. */
function bundledIn({ folder, manifest }) {
  const dist = join(ROOT, folder, "dist");
  if (!existsSync(dist)) throw new Error(`${folder} is not built. Run \`npm run build\`.`);
  const bundled = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("THIRD-PARTY-LICENSES.txt"))
    .flatMap((path) => [
      ...readFileSync(join(dist, path), "utf8").matchAll(/^={80}\n(\S+) (\S+) \((\S+)\)\n={80}$/gm),
    ])
    .map(([, name, version, license]) => ({
      ...componentOf(name, { version, license }),
      "bom-ref": `${purlOf(name, version)}?bundled-in=${manifest.name}`,
      properties: [{ name: "sluice:bundledIn", value: manifest.name }],
    }));
  return [...new Map(bundled.map((component) => [component["bom-ref"], component])).values()];
}

const bill = { components: [], dependencies: new Map() };
for (const { folder, manifest } of publishedPackages()) {
  const ref = add(bill, folder, manifest.name);
  const bundled = bundledIn({ folder, manifest });
  bill.components.push(...bundled);
  bill.dependencies.get(ref).push(...bundled.map((component) => component["bom-ref"]));
}
mkdirSync(join(ROOT, "dist"), { recursive: true });
writeFileSync(
  FILE,
  `${JSON.stringify(
    {
      $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      version: 1,
      metadata: { component: { "bom-ref": "sluice-packages", type: "application", name: "sluice-packages" } },
      components: bill.components,
      dependencies: [...bill.dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
    },
    null,
    2,
  )}\n`,
);
console.log(`${FILE}: ${bill.components.length} components`);
