import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const VERDACCIO = join(import.meta.dirname, "node_modules/verdaccio/bin/verdaccio");

export const isInstalled = existsSync(VERDACCIO);

/** A registry on this machine, with storage of its own. It knows no other registry. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The environment in which npm uses this registry, and nothing else of the user's: no cache, no settings. */
  readonly env: NodeJS.ProcessEnv;
  /** Publishes a third-party package in one request, as fast as the registry can. */
  add(tarball: string, manifest: Manifest): Promise<void>;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export async function startRegistry(folder: string): Promise<Registry> {
  await mkdir(folder, { recursive: true });
  const config = join(folder, "config.yaml");
  const packages = "{ access: $all, publish: $authenticated }";
  await writeFile(
    config,
    `storage: ./storage
auth: { htpasswd: { file: ./htpasswd } }
uplinks: {}
packages: { "@*/*": ${packages}, "**": ${packages} }
max_body_size: 50mb
web: { enable: false }
log: { type: stdout, format: json, level: error }
`,
  );
  const url = `http://127.0.0.1:${await freePort()}`;
  const server = spawn(process.execPath, [VERDACCIO, "--config", config, "--listen", url], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  await untilAnswering(url, server);
  const token = await createUser(url);
  const settings = join(folder, "npmrc");
  await writeFile(settings, `//${new URL(url).host}/:_authToken=${token}\n`);
  return {
    url,
    env: npmEnvironment(folder, { registry: `${url}/`, userconfig: settings }),
    add: (tarball, manifest) => add(url, token, tarball, manifest),
    [Symbol.asyncDispose]: async () => {
      if (server.exitCode !== null || !server.kill("SIGKILL")) return;
      await new Promise((resolve) => server.once("exit", resolve));
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Polls: another process tells nobody when it listens. */
async function untilAnswering(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const isUp = await fetch(`${url}/-/ping`, { headers: { connection: "close" } }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await delay(100);
  }
  throw new Error(`verdaccio ended with ${server.exitCode}`);
}

/**
 * No connection is used twice. Packing blocks this process for seconds, in which the registry closes an idle connection; the
 * next request would be written to it.
 */
const JSON_BODY = { "content-type": "application/json", connection: "close" };

async function createUser(url: string): Promise<string> {
  const response = await fetch(`${url}/-/user/org.couchdb.user:rehearsal`, {
    method: "PUT",
    headers: JSON_BODY,
    body: JSON.stringify({ name: "rehearsal", password: "a password for a minute" }),
  });
  const { token } = (await response.json()) as { token?: string };
  if (token === undefined) throw new Error(`verdaccio made no user: ${response.status}`);
  return token;
}

/** Without what the npm that runs the tests has passed on, such as its registry, its cache and its workspace. */
function npmEnvironment(folder: string, { registry, userconfig }: { registry: string; userconfig: string }) {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS|VITEST|SLUICE_|INIT_CWD)/i.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    HOME: folder,
    npm_config_registry: registry,
    npm_config_userconfig: userconfig,
    npm_config_cache: join(folder, "cache"),
    npm_config_fund: "false",
    npm_config_audit: "false",
    npm_config_update_notifier: "false",
    NO_COLOR: "1",
  };
}

async function add(url: string, token: string, tarball: string, manifest: Manifest): Promise<void> {
  const { name, version } = manifest;
  const data = readFileSync(tarball);
  const file = `${name}-${version}.tgz`;
  const dist = {
    integrity: `sha512-${createHash("sha512").update(data).digest("base64")}`,
    shasum: createHash("sha1").update(data).digest("hex"),
    tarball: `${url}/${name}/-/${file}`,
  };
  const response = await fetch(`${url}/${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { ...JSON_BODY, authorization: `Bearer ${token}` },
    body: JSON.stringify({
      _id: name,
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } },
      _attachments: {
        [file]: {
          content_type: "application/octet-stream",
          data: data.toString("base64"),
          length: data.length,
        },
      },
    }),
  });
  if (!response.ok) throw new Error(`${name}@${version}: ${response.status} ${await response.text()}`);
}

/** The folders of everything that these packages depend on, found as Node.js finds them. */
export function dependencyFolders(folders: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (folder: string): void => {
    const { dependencies = {} } = readManifest(folder);
    for (const name of Object.keys(dependencies)) {
      if (name.startsWith("@sluice/")) continue;
      const place = findPackage(folder, name);
      if (found.has(place)) continue;
      found.add(place);
      visit(place);
    }
  };
  for (const folder of folders) visit(folder);
  return [...found];
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function findPackage(from: string, name: string): string {
  const place = join(from, "node_modules", name);
  if (existsSync(join(place, "package.json"))) return place;
  if (dirname(from) === from) throw new Error(`${name} is not installed`);
  return findPackage(dirname(from), name);
}
