import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type NatsConnection } from "@nats-io/transport-node";
// @boundaries-ignore the servers are for tests of all packages
import { kill } from "../../../test/destinations/kill.ts";
// @boundaries-ignore the servers are for tests of all packages
import { freePorts } from "../../../test/nats/nats-cluster.ts";
// @boundaries-ignore the servers are for tests of all packages
import { findNatsServer } from "../../../test/nats/nats-server.ts";

const found = findNatsServer();
export const MISSING: string | undefined = found.kind === "missing" ? found.reason : undefined;

export const PASSWORD = "correct horse";
const CERTIFICATES = join(import.meta.dirname, "../../../apps/collector/test/sender/fixtures");

export interface StoredMessage {
  readonly subject: string;
  readonly payload: { readonly [field: string]: unknown };
  readonly headers: { readonly [name: string]: string };
}

export interface JetStreamServer extends AsyncDisposable {
  readonly address: string;
  /** A stream of all subjects with a prefix. */
  createStream(name: string, prefix: string, config?: object): Promise<void>;
  deleteStream(name: string): Promise<void>;
  /** Everything in a stream, in order. */
  read(name: string): Promise<readonly StoredMessage[]>;
  /** As when the machine loses power. */
  kill(): Promise<void>;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** Users with passwords: `sluice`, and `weak`, who may publish nothing. The server offers TLS, and does not insist. */
export const USERS = `authorization { users: [
  { user: sluice, password: "${PASSWORD}" }
  { user: weak, password: "${PASSWORD}", permissions: { publish: "elsewhere.>" } }
] }`;

/** A real server with JetStream in a folder of its own. `access`: lines of its configuration, and how the test signs in. */
export async function jetStreamServer(
  access: { readonly lines: string; readonly options: Parameters<typeof connect>[0] } = {
    lines: USERS,
    options: { user: "sluice", pass: PASSWORD },
  },
): Promise<JetStreamServer> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nats-destination-"));
  const [port = 0] = await freePorts(1);
  const file = join(folder, "server.conf");
  writeFileSync(
    file,
    `listen: 127.0.0.1:${port}
jetstream { store_dir: "${join(folder, "data")}" }
tls { cert_file: "${join(CERTIFICATES, "valid.pem")}", key_file: "${join(CERTIFICATES, "valid.key")}" }
allow_non_tls: true
${access.lines}
`,
  );
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const child = spawn(found.kind === "found" ? found.path : "nats-server", ["-c", file], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    const isReady = Promise.withResolvers<void>();
    let said = "";
    // It goes on talking, and has to be heard.
    child.stderr.on("data", (text) => {
      if (said.length < 10_000) said += text;
      if (said.includes("Server is ready")) isReady.resolve();
    });
    child.stderr.once("end", () => isReady.reject(new Error(`nats-server: ${said}`)));
    await isReady.promise;
  };
  const address = `127.0.0.1:${port}`;
  async function using<T>(use: (connection: NatsConnection) => Promise<T>): Promise<T> {
    const connection = await connect({ servers: address, tls: null, ...access.options });
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  }
  async function ask(connection: NatsConnection, request: string, body: object = {}): Promise<Answer> {
    const answer = await connection.request(`$JS.API.${request}`, JSON.stringify(body));
    const { error, ...rest } = answer.json<Answer & { error?: object }>();
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return rest;
  }
  await start();
  return {
    address,
    async createStream(name, prefix, config = {}) {
      const body = { name, subjects: [`${prefix}.>`], storage: "file", num_replicas: 1, ...config };
      await using((connection) => ask(connection, `STREAM.CREATE.${name}`, body));
    },
    async deleteStream(name) {
      await using((connection) => ask(connection, `STREAM.DELETE.${name}`));
    },
    read: (name) =>
      using(async (connection) => {
        const { state } = await ask(connection, `STREAM.INFO.${name}`);
        const sequences = Array.from({ length: state?.last_seq ?? 0 }, (_, index) => index + 1);
        const answers: Answer[] = [];
        while (sequences.length > 0)
          answers.push(
            ...(await Promise.all(
              sequences.splice(0, 500).map((seq) => ask(connection, `STREAM.MSG.GET.${name}`, { seq })),
            )),
          );
        return answers.flatMap(({ message }) => (message === undefined ? [] : [storedMessage(message)]));
      }),
    kill: () => kill(server),
    start,
    signal: (signal) => void server?.kill(signal),
    async [Symbol.asyncDispose]() {
      await kill(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Answer {
  readonly state?: { readonly last_seq: number };
  readonly message?: { readonly subject: string; readonly data: string; readonly hdrs: string };
}

function storedMessage({ subject, data, hdrs }: NonNullable<Answer["message"]>): StoredMessage {
  const decoded = (text: string) => Buffer.from(text, "base64").toString("utf8");
  const lines = decoded(hdrs).trim().split("\r\n").slice(1);
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(":")),
    line.slice(line.indexOf(":") + 1).trim(),
  ]);
  return { subject, payload: JSON.parse(decoded(data)), headers: Object.fromEntries(headers) };
}
