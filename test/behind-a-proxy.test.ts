import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";
import { connect as connectTcp, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const GUIDE = readFileSync(`${ROOT}docs/guide/behind-a-proxy.md`, "utf8");
const ADMIN_TOKEN = "an-admin-token-of-the-test";
const METRICS_TOKEN = "a-metrics-token-of-the-test";

/** The block of the guide in that language. */
function blockOf(language: string): string {
  const [, code] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(GUIDE) ?? [];
  if (code === undefined) throw new Error(`The guide has no block of ${language}`);
  return code;
}

interface Ports {
  readonly collector: number;
  readonly admin: number;
  readonly tls: number;
  readonly http: number;
}

/** The configuration of the guide, on free ports. */
function onPorts(code: string, ports: Ports): string {
  return code
    .replaceAll("127.0.0.1:8787", `127.0.0.1:${ports.collector}`)
    .replaceAll("127.0.0.1:8788", `127.0.0.1:${ports.admin}`)
    .replaceAll("listen 443", `listen 127.0.0.1:${ports.tls}`);
}

interface Proxy {
  readonly name: "nginx" | "caddy";
  /** Writes the configuration into the folder, and returns the arguments of the program. */
  prepare(folder: string, ports: Ports): Promise<string[]>;
}

/** `nginx` reads the block inside of `http`, as Debian's `nginx.conf` includes it. What it would write to `/var` goes to the folder. */
const nginx: Proxy = {
  name: "nginx",
  async prepare(folder, ports) {
    const sluice = onPorts(blockOf("nginx"), ports).replaceAll("/etc/ssl/", `${folder}/`);
    await writeFile(join(folder, "sluice.conf"), sluice);
    const temporary = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(" ");
    await writeFile(
      join(folder, "nginx.conf"),
      `user root; worker_processes 1; pid ${folder}/pid; error_log stderr; daemon off;
events { worker_connections 256; }
http { access_log off; ${temporary} include ${folder}/sluice.conf; }
`,
    );
    return ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
  },
};

/** Caddy's own certificates, instead of those of Let's Encrypt, and its files in the folder. */
const caddy: Proxy = {
  name: "caddy",
  async prepare(folder, ports) {
    const options = `{
  admin off
  http_port ${ports.http}
  https_port ${ports.tls}
  auto_https disable_redirects
  default_bind 127.0.0.1
}
`;
    const named = onPorts(blockOf("caddyfile"), ports).replaceAll(
      /^(\w+\.example\.com \{)$/gm,
      `$1\n\ttls ${folder}/sluice.crt ${folder}/sluice.key`,
    );
    await writeFile(join(folder, "Caddyfile"), options + named);
    return ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")];
  },
};

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Another process has no event for an open port. */
async function untilOpen(port: number, child: ChildProcess, log: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The process ended: ${log()}`);
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connectTcp(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (isOpen) return;
    await delay(20);
  }
}

async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** A request over HTTP/2, as a browser sends it. */
function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Uint8Array,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let text = "";
    let answered: Readonly<Record<string, unknown>> = {};
    stream.setEncoding("utf8");
    stream.on("response", (received) => {
      answered = received;
    });
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.on("end", () => resolve({ status: Number(answered[":status"]), headers: answered, text }));
    stream.on("error", reject);
    stream.end(body);
  });
}

const NOT_INSTALLED = [nginx, caddy].filter(({ name }) => !isInstalled(name)).map(({ name }) => name);

function isInstalled(name: string): boolean {
  return ["/usr/sbin", "/usr/bin", "/usr/local/bin"].some((folder) => existsSync(join(folder, name)));
}

test.runIf(process.env.CI)("nginx and Caddy are installed", () => {
  expect(NOT_INSTALLED).toEqual([]);
});

/** A certificate for the names of the guide. */
function makeCertificate(folder: string): void {
  execFileSync(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:*.example.com"],
      ...["-keyout", join(folder, "sluice.key"), "-out", join(folder, "sluice.crt")],
    ],
    { stdio: "ignore" },
  );
}

describe.each([nginx, caddy])("behind $name, as the guide configures it", ({ name, prepare }) => {
  let folder: string;
  let ports: Ports;
  let collector: ChildProcess | undefined;
  let proxy: ChildProcess | undefined;
  let writeKey: string;
  let collectorLog = "";
  const sessions: ClientHttp2Session[] = [];

  const isSkipped = !isInstalled(name);

  /** The collector with the settings of the guide, and tokens of the test. */
  async function startCollector(): Promise<void> {
    const settings = {
      ...JSON.parse(blockOf("json")),
      port: ports.collector,
      adminListen: `127.0.0.1:${ports.admin}`,
      dataDir: join(folder, "data"),
      adminToken: ADMIN_TOKEN,
      metricsToken: METRICS_TOKEN,
    };
    const file = join(folder, "sluice.json");
    await writeFile(file, JSON.stringify(settings));
    const child = spawn(
      process.execPath,
      [`${ROOT}packages/cli/bin/sluice.cjs`, "collector", "--config", file, "--log-format", "json"],
      { stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env.PATH } },
    );
    child.stderr?.on("data", (chunk) => {
      collectorLog += chunk;
    });
    collector = child;
    await untilOpen(ports.collector, child, () => collectorLog);
  }

  /** A connection of HTTP/2 from an address, to a name of the guide. */
  function open(host: string, localAddress = "127.0.0.1") {
    const session = connect(`https://127.0.0.1:${ports.tls}`, {
      servername: host,
      ca: readFileSync(join(folder, "sluice.crt")),
      localAddress,
    });
    // A session that the proxy ends fails its requests; nothing else needs the event.
    session.on("error", () => {});
    sessions.push(session);
    const authority = `${host}:${ports.tls}`;
    return {
      session,
      get: (path: string, headers: OutgoingHttpHeaders = {}) =>
        ask(session, { ":authority": authority, ":path": path, ...headers }),
      send: (path: string, body: string | Uint8Array, headers: OutgoingHttpHeaders = {}, method = "POST") =>
        ask(
          session,
          {
            ":authority": authority,
            ":method": method,
            ":path": path,
            authorization: `Basic ${btoa(`${writeKey}:`)}`,
            ...headers,
          },
          body,
        ),
    };
  }

  async function admin(path: string, body?: object) {
    const response = await fetch(`http://127.0.0.1:${ports.admin}/api/v1${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
    return response.json();
  }

  beforeAll(async () => {
    if (isSkipped) return;
    folder = await mkdtemp(join(tmpdir(), `sluice-${name}-`));
    await mkdir(join(folder, "data"));
    makeCertificate(folder);
    ports = {
      collector: await freePort(),
      admin: await freePort(),
      tls: await freePort(),
      http: await freePort(),
    };
    const args = await prepare(folder, ports);
    let log = "";
    const child = spawn(name, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: `${process.env.PATH}:/usr/sbin`,
        HOME: folder,
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
      },
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        log += chunk;
      });
    proxy = child;
    await startCollector();
    await untilOpen(ports.tls, child, () => log);
    const source = await admin("/sources", { name: "web", kind: "web" });
    writeKey = source.writeKeys[0].key;
  });
  afterAll(async () => {
    for (const session of sessions) session.destroy();
    await stop(proxy);
    await stop(collector);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  test.skipIf(isSkipped)("a browser is told to send to the proxy, over https, and can", async () => {
    const page = open("events.example.com", "127.0.0.2");
    const settings = await page.get(`/v1/projects/${writeKey}/settings`, { origin: "https://shop.example" });
    const { protocol, apiHost } = JSON.parse(settings.text).integrations["Segment.io"];
    expect(`${protocol}://${apiHost}`).toBe(`https://events.example.com:${ports.tls}/v1`);

    const preflight = await page.send("/v1/track", "", { origin: "https://shop.example" }, "OPTIONS");
    expect(preflight.headers["access-control-allow-origin"]).toBe("https://shop.example");
    const body = JSON.stringify({
      ...{ type: "track", userId: "u1", event: "Ordered", messageId: "from-a-browser" },
      context: { library: { name: "analytics.js" } },
    });
    const claimed = {
      "x-forwarded-for": "6.6.6.6",
      "x-forwarded-host": "evil.example",
      forwarded: "for=6.6.6.6",
    };
    const sent = await page.send("/v1/track", body, { origin: "https://shop.example", ...claimed });
    expect([sent.status, sent.headers["access-control-allow-origin"]]).toEqual([200, "https://shop.example"]);
    // The address of the client, not of the proxy and not the one that it claims.
    const { message } = await admin("/messages/from-a-browser");
    expect(message.context.ip).toBe("127.0.0.2");
    const spoofed = await page.get(`/v1/projects/${writeKey}/settings`, claimed);
    expect(spoofed.text).not.toContain("evil.example");
  });

  test.skipIf(isSkipped)(
    "batches of 500 KB pass, also compressed, over connections that are reused",
    async () => {
      const client = open("events.example.com");
      const message = (id: string) => ({ type: "track", userId: "u1", event: "Large", messageId: id });
      const filled = (id: string): string => {
        const messages = Array.from({ length: 16 }, (_, i) => ({
          ...message(`${id}-${i}`),
          properties: { text: "x".repeat(31_500) },
        }));
        const text = JSON.stringify({ batch: messages });
        return text.padEnd(512_000, " ");
      };
      const plain = filled("plain");
      expect(Buffer.byteLength(plain)).toBe(512_000);
      expect((await client.send("/v1/batch", plain)).status).toBe(200);
      const zipped = await client.send("/v1/batch", gzipSync(filled("gzip")), { "content-encoding": "gzip" });
      expect(zipped.status).toBe(200);
      const tooLarge = await client.send("/v1/batch", `${plain} `);
      expect([tooLarge.status, JSON.parse(tooLarge.text).code]).toEqual([413, "payload_too_large"]);
      for (let i = 0; i < 20; i++)
        expect((await client.send("/v1/track", JSON.stringify(message(`m${i}`)))).status).toBe(200);
      const metrics = await (await fetch(`http://127.0.0.1:${ports.admin}/metrics`)).text();
      const connections = Number(/^sluice_http_connections (\d+)/m.exec(metrics)?.[1]);
      // The proxy's idle connections are open, and the one that asks. A proxy that does not reuse them has none.
      expect(connections).toBeGreaterThanOrEqual(2);
      expect(connections).toBeLessThan(12);
    },
  );

  test.skipIf(isSkipped)("the live stream arrives as it is written", async () => {
    const { session } = open("sluice.example.com");
    const stream = session.request({
      ":authority": `sluice.example.com:${ports.tls}`,
      ":path": "/api/v1/live",
      authorization: `Bearer ${ADMIN_TOKEN}`,
      accept: "text/event-stream",
    });
    let text = "";
    const seen = new Promise<void>((resolve) => {
      stream.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        if (text.includes("seen-at-once")) resolve();
      });
    });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(200);
    const body = JSON.stringify({ userId: "u1", event: "Seen", messageId: "seen-at-once" });
    expect((await open("events.example.com").send("/v1/track", body)).status).toBe(200);
    // A proxy that collects the response would hold this back: the stream does not end.
    await seen;
    stream.close();
  });

  test.skipIf(isSkipped)(
    "the public name serves only ingestion, the other one needs its tokens",
    async () => {
      const outside = open("events.example.com");
      const operator = open("sluice.example.com");
      const authorization = `Bearer ${ADMIN_TOKEN}`;
      for (const path of ["/", "/metrics", "/api/v1/info", "/api/v1/docs"])
        expect([path, (await outside.get(path, { authorization })).status]).toEqual([path, 404]);
      expect((await outside.get("/healthz")).status).toBe(200);
      expect((await operator.get("/", { accept: "text/html" })).text).toContain("<title>");
      expect((await operator.get("/api/v1/info")).status).toBe(401);
      expect((await operator.get("/api/v1/info", { authorization })).status).toBe(200);
      expect((await operator.get("/metrics")).status).toBe(401);
      const scraped = await operator.get("/metrics", { authorization: `Bearer ${METRICS_TOKEN}` });
      expect(scraped.text).toContain("sluice_ready 1");
      const refused = await operator.get("/api/v1/info", { authorization: `Bearer ${METRICS_TOKEN}` });
      expect(refused.status).toBe(403);
    },
  );

  test.skipIf(isSkipped)("a restart of the collector loses nothing that was acknowledged", async () => {
    const client = open("events.example.com");
    const acknowledged: string[] = [];
    let failures = 0;
    let next = 0;
    const sendUntil = async (isDone: () => boolean): Promise<void> => {
      while (!isDone()) {
        const messageId = `restart-${next++}`;
        const body = JSON.stringify({ userId: "u1", event: "Kept", messageId });
        const answer = await client.send("/v1/track", body);
        if (answer.status === 200) acknowledged.push(messageId);
        else {
          // What a client sends again; here only the answer counts.
          expect([502, 503]).toContain(answer.status);
          failures++;
          await delay(20);
        }
      }
    };
    await sendUntil(() => acknowledged.length >= 20);
    const before = acknowledged.length;
    let isBack = false;
    const restart = (async () => {
      await stop(collector);
      await startCollector();
      isBack = true;
    })();
    await sendUntil(() => isBack && acknowledged.length >= before + 20);
    await restart;
    expect(failures).toBeGreaterThan(0);
    for (const messageId of acknowledged)
      expect(await admin(`/messages/${messageId}`)).toMatchObject({ messageId });
  });
});
