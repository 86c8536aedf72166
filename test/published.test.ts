import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pack } from "../scripts/release/publish.mjs";
import { publishedPackages } from "../scripts/release/published.mjs";

interface Manifest {
  readonly name: string;
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

/** The published packages. An application that installs one gets only its declared dependencies. */
const PUBLISHED = [
  "packages/protocol",
  "packages/core",
  "packages/node",
  "packages/webhooks",
  "packages/testing",
  "packages/opentelemetry",
  "packages/destination",
  "packages/destination-email",
  "packages/destination-clickhouse",
  "packages/destination-kafka",
  "packages/destination-nats",
  "packages/destination-postgres",
  "packages/destination-s3",
  "packages/transformations",
  "packages/cli",
  "apps/collector",
];

/** The bundler writes imports at the start of a line. Imports in texts for people are elsewhere. */
const IMPORT = /(?:^(?:import|export)\b[^'";]*|\b(?:require|import)\()['"]([@.\w][\w./:@-]*)['"]/gm;

/** Without those in documentation comments of bundled code, which name types. */
function importsIn(text: string): string[] {
  const code = text.replace(/^\s*(?:\/\*)?\*.*$/gm, "");
  return [...code.matchAll(IMPORT)].map(([, source]) => String(source));
}

describe.each(PUBLISHED)("dist of %s", (place) => {
  const folder = fileURLToPath(new URL(`../${place}/`, import.meta.url));
  const { name, dependencies, peerDependencies } = JSON.parse(
    readFileSync(`${folder}package.json`, "utf8"),
  ) as Manifest;
  const allowed = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
  const files = readdirSync(`${folder}dist`).filter((file) => /\.(d\.)?c?ts$|\.c?js$/.test(file));

  it.each(files)("%s only imports declared dependencies", (file) => {
    const imported = importsIn(readFileSync(`${folder}dist/${file}`, "utf8"));
    const relative = imported.filter((source) => source.startsWith("."));
    expect(
      relative.filter(
        (source) =>
          !files.includes(source.slice(2).replace(/\.(c?)js$/, file.includes(".d.") ? ".d.$1ts" : ".$1js")),
      ),
    ).toEqual([]);
    // Deno, and bundlers for edge runtimes, know the modules of Node.js by this prefix only.
    expect(imported.filter((source) => isBuiltin(source) && !source.startsWith("node:"))).toEqual([]);
    const packages = imported
      .filter((source) => !source.startsWith(".") && !isBuiltin(source))
      .map((source) =>
        source
          .split("/")
          .slice(0, source.startsWith("@") ? 2 : 1)
          .join("/"),
      );
    // Examples in docstrings import the package itself.
    expect(packages.filter((source) => !allowed.has(source) && source !== name)).toEqual([]);
  });
});

describe("what a process loads at its start", () => {
  /** What a built file and the files that it imports statically import from elsewhere. */
  function loadedBy(folder: string, file: string, seen = new Set<string>()): string[] {
    if (seen.has(file)) return [];
    seen.add(file);
    const text = readFileSync(`${ROOT}${folder}/dist/${file}`, "utf8").replace(/\bimport\([^)]*\)/g, "");
    return importsIn(text).flatMap((source) =>
      source.startsWith("./") ? loadedBy(folder, source.slice(2), seen) : [source],
    );
  }

  it.each([
    ["apps/collector", "main.js", []],
    ["apps/collector", "store-worker.js", []],
    ["apps/collector", "audience-worker.js", []],
    ["apps/collector", "worker.js", []],
    ["packages/cli", "main.js", ["commander"]],
  ])(
    "%s/dist/%s imports few packages, and not node:http, which would load fetch",
    (folder, file, packages) => {
      const loaded = loadedBy(folder, file);
      expect(loaded.filter((source) => /^node:(http|https|http2|tls)$/.test(source))).toEqual([]);
      expect([...new Set(loaded.filter((source) => !isBuiltin(source)))].sort()).toEqual(packages);
    },
  );
});

describe("the build of @sluice/node for edge runtimes", () => {
  const folder = fileURLToPath(new URL("../packages/node/", import.meta.url));

  it.each(["edge.js", "edge.cjs"])("%s imports nothing but the engine", (file) => {
    const text = readFileSync(`${folder}dist/${file}`, "utf8");
    expect(new Set([...text.matchAll(IMPORT)].map(([, source]) => source))).toEqual(
      new Set(["@sluice/core"]),
    );
  });

  it("has the types of the other build under every condition", () => {
    const { exports } = JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as {
      exports: { ".": Record<string, unknown> };
    };
    const { import: esm, require: cjs, ...conditions } = exports["."];
    const build = (name: string) => ({
      import: { types: "./dist/index.d.ts", default: `./dist/${name}.js` },
      require: { types: "./dist/index.d.cts", default: `./dist/${name}.cjs` },
    });
    expect({ import: esm, require: cjs }).toEqual(build("index"));
    // The first condition that matches counts: Deno and Bun also match conditions of the web.
    expect(Object.entries(conditions)).toEqual([
      ["deno", build("index")],
      ["bun", build("index")],
      ["workerd", build("edge")],
      ["edge-light", build("edge")],
      ["worker", build("edge")],
      ["browser", build("edge")],
    ]);
  });
});

interface Tarball {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly size: number;
  readonly unpackedSize: number;
}

const KB = 1_024;
/** What a tarball may contain besides manifest, README, LICENSE and CHANGELOG, and how large it may become. */
const TARBALLS: Record<string, { files: RegExp; packedBytes: number; unpackedBytes: number }> = {
  "packages/protocol": library(80 * KB, 280 * KB),
  "packages/core": library(100 * KB, 350 * KB),
  "packages/node": library(60 * KB, 270 * KB),
  "packages/webhooks": library(25 * KB, 100 * KB),
  "packages/testing": library(30 * KB, 100 * KB),
  "packages/opentelemetry": library(60 * KB, 250 * KB),
  "packages/destination": library(15 * KB, 50 * KB),
  "packages/destination-email": library(15 * KB, 50 * KB),
  "packages/destination-clickhouse": library(15 * KB, 50 * KB),
  "packages/destination-kafka": library(15 * KB, 50 * KB),
  "packages/destination-nats": library(15 * KB, 50 * KB),
  "packages/destination-postgres": library(15 * KB, 50 * KB),
  "packages/destination-s3": library(15 * KB, 50 * KB),
  "packages/transformations": {
    files: /^dist\/([\w-]+\.(js|d\.ts)|THIRD-PARTY-LICENSES\.txt)$/,
    // QuickJS as WebAssembly, in the text of the thread.
    packedBytes: 420 * KB,
    unpackedBytes: 1_050 * KB,
  },
  "packages/cli": {
    files: /^(bin\/sluice\.cjs|dist\/(main\.js|THIRD-PARTY-LICENSES\.txt))$/,
    packedBytes: 180 * KB,
    unpackedBytes: 750 * KB,
  },
  "apps/collector": {
    files:
      /^dist\/([\w-]+\.(js|d\.ts)|THIRD-PARTY-LICENSES\.txt|dashboard\/(index\.html|sluice\.svg|THIRD-PARTY-LICENSES\.txt|docs\/([a-z]+\/)?[\w-]+\.(html|css)|assets\/[\w-]+\.(js|css|woff2)))$/,
    // 500 KB unpacked are the client of NATS, which only clusters load, 490 KB the dashboard's code editor, 1,900 KB (500 KB packed)
    // TypeScript's checker for it, and 450 KB the guides.
    packedBytes: 1_870 * KB,
    unpackedBytes: 6_950 * KB,
  },
};

function library(packedBytes: number, unpackedBytes: number) {
  return { files: /^dist\/[\w-]+\.(d\.)?c?[jt]s$/, packedBytes, unpackedBytes };
}

const BESIDES = ["CHANGELOG.md", "LICENSE", "README.md", "package.json"];
const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PERMISSIVE = /^(0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|ISC|MIT(-0)?|OFL-1\.1|Unlicense)$/;

describe("the tarballs", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-tarballs-"));
  let tarballs: Tarball[] = [];
  beforeAll(() => {
    tarballs = pack(PUBLISHED, { root: ROOT, to: folder });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const tarballOf = (place: string) => tarballs[PUBLISHED.indexOf(place)] as Tarball;
  const read = (path: string) => readFileSync(`${ROOT}${path}`, "utf8");

  it("are those of all packages that are not private", () => {
    expect(
      publishedPackages()
        .map((one) => one.folder)
        .sort(),
    ).toEqual([...PUBLISHED].sort());
  });

  describe.each(PUBLISHED)("of %s", (place) => {
    const limits = TARBALLS[place] as (typeof TARBALLS)[string];

    it("contains what its users need, and no more", () => {
      const { files, size, unpackedSize } = tarballOf(place);
      const paths = files.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(BESIDES));
      expect(paths.filter((path) => !BESIDES.includes(path) && !limits.files.test(path))).toEqual([]);
      expect(size).toBeLessThan(limits.packedBytes);
      expect(unpackedSize).toBeLessThan(limits.unpackedBytes);
    });

    it("names no source map and no folder of the machine that built it", () => {
      const texts = tarballOf(place)
        .files.filter(({ path }) => !path.endsWith(".woff2"))
        .map(({ path }) => ({ path, text: read(`${place}/${path}`) }));
      expect(texts.filter(({ text }) => text.includes(ROOT)).map(({ path }) => path)).toEqual([]);
      const mapped = texts.filter(({ text }) => /^\/\/# sourceMappingURL=/m.test(text));
      expect(mapped.map(({ path }) => path)).toEqual([]);
    });

    it("has a manifest that says what it is and runs nothing when it is installed", () => {
      const manifest = JSON.parse(read(`${place}/package.json`));
      expect(manifest).toMatchObject({
        license: "MIT",
        description: expect.stringMatching(/\.$/),
        engines: { node: expect.stringMatching(/^>=2[02]/) },
        publishConfig: { access: "public" },
        scripts: { prepublishOnly: "node ../../scripts/release/require-verified.mjs" },
      });
      expect(manifest.sideEffects).toBeDefined();
      for (const name of ["preinstall", "install", "postinstall", "prepare"])
        expect(manifest.scripts).not.toHaveProperty(name);
      // `npm run release -- --set-repository` writes it, and a release is refused without it.
      if (manifest.repository !== undefined)
        expect(manifest.repository).toEqual({
          type: "git",
          url: expect.stringMatching(/^git\+https:\/\/.*\.git$/),
          directory: place,
        });
      expect(read(`${place}/LICENSE`)).toBe(read("LICENSE"));
    });

    it("has a README whose links work on the registry's site", () => {
      const targets = [...read(`${place}/README.md`).matchAll(/\]\(([^)\s]+)\)/g)].map(
        ([, target]) => target,
      );
      expect(targets.filter((target) => !/^(https:|#)/.test(target ?? ""))).toEqual([]);
    });

    it("ships the licences of all third-party code that is bundled", () => {
      const { files } = tarballOf(place);
      const licences = files
        .filter(({ path }) => path.endsWith("THIRD-PARTY-LICENSES.txt"))
        .map(({ path }) => read(`${place}/${path}`))
        .join("\n");
      // esbuild names each module in a comment.
      const bundled = files
        .filter(({ path }) => /^dist\/[\w-]+\.c?js$/.test(path))
        .flatMap(({ path }) => [
          ...read(`${place}/${path}`).matchAll(/^\/\/ (?:\.\.\/)+node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm),
        ])
        .map(([, name]) => String(name));
      const named = [...licences.matchAll(/^={80}\n(\S+) \S+ \((\S+)\)\n={80}$/gm)];
      expect(named.map(([, name]) => name)).toEqual(expect.arrayContaining([...new Set(bundled)]));
      expect(named.filter(([, , license = ""]) => !PERMISSIVE.test(license))).toEqual([]);
    });
  });

  it("of the collector names everything that the dashboard imports", () => {
    const own = JSON.parse(read("apps/dashboard/package.json")).devDependencies;
    const sources = readdirSync(`${ROOT}apps/dashboard/src`, { recursive: true, encoding: "utf8" });
    const imported = sources
      .filter((path) => /\.(tsx?|css)$/.test(path))
      .flatMap((path) => [
        ...read(`apps/dashboard/src/${path}`).matchAll(
          /^(?:import (?!type)[^;'"]*|\} from |@import )["']((?:@[\w-]+\/)?[a-z][\w-]*)/gm,
        ),
      ])
      .map(([, name]) => String(name))
      // Snippets that the pages show import other packages.
      .filter((name) => name in own && !name.startsWith("@sluice/"));
    const licences = read("apps/collector/dist/dashboard/THIRD-PARTY-LICENSES.txt");
    expect(imported).toContain("react");
    expect([...new Set(imported)].filter((name) => !licences.includes(`\n${name} `))).toEqual([]);
  });
});
