import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DiscardPolicy, jetstreamManager, type StreamConfig } from "@nats-io/jetstream";
import { connect, nkeys } from "@nats-io/transport-node";
import { systemClock } from "@sluice/resilience";
import { beforeAll, describe, expect, it } from "vitest";
// @boundaries-ignore the servers are for tests of all packages
import type { NatsCluster } from "../../../../test/nats/nats-cluster.ts";
import { EngineRefused } from "../../src/jetstream/api-errors.js";
import { type JetStreamOptions, openJetStream } from "../../src/jetstream/open-jetstream.js";
import { streamNames } from "../../src/jetstream/streams/stream-settings.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { operatorFiles } from "./credentials.js";
import { describeWithNats, natsServers } from "./nats.js";

/** Opens with one replica, unless told otherwise, and closes again. Gives the refusal as `code: detail`, or "opened". */
async function open(nats: NatsCluster, options: Partial<JetStreamOptions> = {}): Promise<string> {
  return openWith({
    servers: nats.urls,
    monitors: nats.monitors,
    cluster: "prod",
    clock: systemClock,
    replicas: 1,
    maxLogBytes: 10 * 1024 * 1024,
    ...options,
  });
}

async function openWith(options: JetStreamOptions): Promise<string> {
  try {
    await (await openJetStream(options)).close();
    return "opened";
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error;
    return `${error.code}: ${error.detail}`;
  }
}

async function withStreams<T>(
  nats: NatsCluster,
  run: (streams: Awaited<ReturnType<typeof jetstreamManager>>["streams"]) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: [...nats.urls] });
  try {
    return await run((await jetstreamManager(connection)).streams);
  } finally {
    await connection.close();
  }
}

async function streamsOf(nats: NatsCluster): Promise<string[]> {
  return withStreams(nats, async (streams) => {
    const names: string[] = [];
    for await (const name of streams.names()) names.push(name);
    return names;
  });
}

const bare = (
  name: string,
  config: Partial<StreamConfig> = {},
): Partial<StreamConfig> & { name: string } => ({
  name,
  subjects: [`x.${name}`],
  num_replicas: 1,
  ...config,
});

describeWithNats("what is refused", () => {
  const newServers = natsServers();
  const newDirectory = temporaryDirectories();

  describe("on a server that is as it should be", () => {
    let nats: NatsCluster;
    beforeAll(async () => {
      nats = await newServers({ nodes: 1 });
    });

    it.each<[string, Partial<JetStreamOptions>, string]>([
      ["a name with a dot", { cluster: "a.b" }, 'invalid_option: "a.b" is not a name of a cluster'],
      ["no address", { servers: [] }, "invalid_option: no address"],
      ["two replicas", { replicas: 2 }, "invalid_option: 2 replicas"],
      ["nobody at the address", { servers: ["nats://127.0.0.1:9"] }, "unreachable: nats://127.0.0.1:9"],
      ["more replicas than servers", { replicas: 3 }, "replicas: the stream sluice-prod-log is to have 3"],
      ["a log larger than the server's store", { maxLogBytes: 2 ** 40 }, "room: the stream sluice-prod-log"],
      ["a cluster that must be there", { create: false }, 'unknown_cluster: "prod". There is none'],
      ["a cluster to which data belongs", { clusterId: "c1" }, 'unknown_cluster: "prod". There is none'],
      ["no monitor", { monitors: [] }, "sync_unknown: n1."],
      [
        "a monitor that does not answer",
        { monitors: ["http://127.0.0.1:9"] },
        "sync_unknown: n1 (http://127",
      ],
      ["no authority for certificates", { tls: { caFile: "/nowhere/ca.pem" } }, "tls: /nowhere/ca.pem"],
    ])("%s, and nothing is made", async (_name, options, refusal) => {
      expect(await open(nats, options)).toContain(refusal);
      expect(await streamsOf(nats)).toEqual([]);
    });

    it("says no password of an address", async () => {
      const said = await open(nats, { servers: ["nats://me:secret@127.0.0.1:9"] });
      expect(said).toContain("unreachable: nats://127.0.0.1:9");
      expect(said).not.toContain("secret");
    });

    it("another cluster with the same name, by id or by key, and names those that are there", async () => {
      expect(await open(nats, { cluster: "one", fingerprint: "k1" })).toBe("opened");
      expect(await open(nats, { cluster: "one", fingerprint: "k1" })).toBe("opened");
      expect(await open(nats, { cluster: "one", fingerprint: "k2" })).toMatch(
        /^other_cluster: .*another SLUICE_SECRET_KEY/,
      );
      expect(await open(nats, { cluster: "one", fingerprint: "k1", clusterId: "c1" })).toMatch(
        /^other_cluster: this data folder belongs to the cluster "one" with the id c1/,
      );
      expect(await open(nats, { cluster: "onne", create: false })).toContain("There is: one.");
    });

    it("a stream that is not Sluice's, or of another format", async () => {
      const names = streamNames("foreign");
      await withStreams(nats, (streams) => streams.add(bare(names.log)));
      expect(await open(nats, { cluster: "foreign" })).toMatch(/^format: .*was not made by Sluice/);
      const next = streamNames("next").log;
      await withStreams(nats, (streams) => streams.add(bare(next, { metadata: { "sluice-format": "2" } })));
      expect(await open(nats, { cluster: "next" })).toMatch(/^format: .*has format 2.*newer version/);
    });

    it("streams that are left from another cluster with the name", async () => {
      expect(await open(nats, { cluster: "left" })).toBe("opened");
      await withStreams(nats, (streams) => streams.delete(streamNames("left").log));
      expect(await open(nats, { cluster: "left" })).toMatch(
        /^other_cluster: .* is left from another cluster/,
      );
    });

    it("settings that could lose entries, but not more room", async () => {
      const { log } = streamNames("changed");
      expect(await open(nats, { cluster: "changed" })).toBe("opened");
      await withStreams(nats, (streams) => streams.update(log, { max_bytes: 20 * 1024 * 1024 }));
      expect(await open(nats, { cluster: "changed" })).toBe("opened");
      await withStreams(nats, (streams) =>
        streams.update(log, { discard: DiscardPolicy.Old, max_age: 1e12 }),
      );
      expect(await open(nats, { cluster: "changed" })).toBe(
        `settings: ${log}: discard is "old" instead of "new", max_age is 1000000000000 instead of 0. Change it back with the tools of NATS.`,
      );
    });

    it("subjects that another stream has", async () => {
      const { logSubject } = streamNames("taken");
      await withStreams(nats, (streams) => streams.add(bare("other", { subjects: [logSubject] })));
      expect(await open(nats, { cluster: "taken" })).toMatch(
        /^settings: another stream of this account takes/,
      );
    });
  });

  it("servers that acknowledge before they sync, unless they are accepted", async () => {
    const nats = await newServers({ nodes: 1, syncInterval: "2m" });
    expect(await open(nats)).toMatch(/^unsynced: n1\. Set `sync_interval: always`/);
    expect(await streamsOf(nats)).toEqual([]);
    expect(await open(nats, { acceptUnsynced: true, monitors: [] })).toBe("opened");
  });

  it("one server of three that is not known to sync, and fewer replicas than asked for", async () => {
    const nats = await newServers();
    expect(await open(nats)).toBe("opened");
    expect(await open(nats, { replicas: 3 })).toMatch(/^replicas: .* has 1 replicas, and 3 are asked for/);
    const [one, two] = nats.monitors as [string, string];
    expect(await open(nats, { cluster: "three", replicas: 3, monitors: [one, two] })).toMatch(
      /^sync_unknown: n\d/,
    );
    expect(await open(nats, { cluster: "three", replicas: 3 })).toBe("opened");
  });

  it("an entry for which the log has no room, until it is trimmed", async () => {
    const nats = await newServers({ nodes: 1 });
    const engine = await openJetStream({
      ...{ servers: nats.urls, monitors: nats.monitors, cluster: "small", clock: systemClock },
      ...{ replicas: 1, maxLogBytes: 1024 * 1024 },
    });
    const data = new Uint8Array(400 * 1024);
    expect(await engine.log.append(data, 0)).toEqual({ kind: "appended", sequence: 1 });
    expect(await engine.log.append(data, 1)).toEqual({ kind: "appended", sequence: 2 });
    expect(await engine.log.append(data, 2)).toMatchObject({ kind: "impossible" });
    await engine.log.trim(1);
    expect(await engine.log.append(data, 2)).toEqual({ kind: "appended", sequence: 3 });
    await engine.close();
  });

  it("servers older than 2.10", async () => {
    const info = { server_id: "x", server_name: "old", version: "2.9.10", proto: 1, max_payload: 1_048_576 };
    const old = createServer((socket) => {
      socket.write(`INFO ${JSON.stringify({ ...info, headers: true, jetstream: true })}\r\n`);
      socket.on("data", (data) => {
        if (data.includes("PING")) socket.write("PONG\r\n");
      });
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(old, "listening");
    const { port } = old.address() as { port: number };
    const servers = [`nats://127.0.0.1:${port}`];
    expect(await openWith({ servers, cluster: "prod", clock: systemClock })).toMatch(
      /^server_version: old has version 2\.9\.10/,
    );
    old.close();
  });

  it("servers without JetStream", async () => {
    const nats = await newServers({ nodes: 1, jetStream: false });
    expect(await open(nats)).toMatch(/^no_jetstream:/);
  });

  it("servers that are almost full", async () => {
    const nats = await newServers({ nodes: 1, maxStore: "32MB" });
    expect(await open(nats)).toMatch(/^room: n1 may store 33554432 bytes/);
  });

  it("wrong users, passwords and permissions", async () => {
    const configuration = `accounts {
      SYS { users: [{ user: root, password: r }] }
      APP { jetstream: enabled, users: [
        { user: me, password: right },
        { user: reader, password: right, permissions: { publish: "nothing" } }
      ] }
    }
    system_account: SYS`;
    const nats = await newServers({ nodes: 1, configuration });
    const as = (user: string, password: string): Partial<JetStreamOptions> => ({
      credentials: { kind: "user", user, password },
    });
    expect(await open(nats)).toMatch(/^credentials: .*Check user, password/);
    expect(await open(nats, as("me", "wrong"))).toMatch(/^credentials:/);
    expect(await open(nats, as("reader", "right"))).toMatch(/^permissions: .*Allow the user/);
    expect(await open(nats, as("root", "r"))).toMatch(/^no_jetstream:/);
    expect(await open(nats, as("me", "right"))).toBe("opened");
  });

  it("wrong tokens", async () => {
    // Servers that tell of each other.
    const nats = await newServers({ configuration: "authorization { token: right }" });
    expect(await open(nats, { credentials: { kind: "token", token: "wrong" } })).toMatch(/^credentials:/);
    expect(await open(nats, { credentials: { kind: "token", token: "right" } })).toBe("opened");
  });

  it("wrong nkeys", async () => {
    const pair = nkeys.createUser();
    const nats = await newServers({
      nodes: 1,
      configuration: `authorization { users: [{ nkey: ${pair.getPublicKey()} }] }`,
    });
    const nkey = (seed: string): Partial<JetStreamOptions> => ({ credentials: { kind: "nkey", seed } });
    const seedOf = (of: typeof pair): string => new TextDecoder().decode(of.getSeed());
    expect(await open(nats, nkey(seedOf(nkeys.createUser())))).toMatch(/^credentials:/);
    expect(await open(nats, nkey("SUNOTASEED"))).toMatch(/^credentials:/);
    expect(await open(nats, nkey(`${seedOf(pair)}\n`))).toBe("opened");
  });

  it("wrong files of credentials", async () => {
    const files = operatorFiles();
    const nats = await newServers({ nodes: 1, configuration: files.configuration });
    const creds = (text: string): Partial<JetStreamOptions> => ({
      credentials: { kind: "creds", creds: text },
    });
    expect(await open(nats, creds("not a file of credentials"))).toMatch(/^credentials:/);
    expect(await open(nats, creds(operatorFiles().creds))).toMatch(/^credentials:/);
    expect(await open(nats, creds(files.creds))).toBe("opened");
  });

  it("connections that are not secure", async () => {
    const directory = newDirectory();
    const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    execFileSync(
      "openssl",
      ["req", "-x509", ...curve, "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...names],
      { stdio: "ignore" },
    );
    const nats = await newServers({
      nodes: 1,
      scheme: "tls",
      configuration: `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${cert}", verify: true }`,
    });
    const ca = readFileSync(cert, "utf8");
    expect(await open(nats)).toMatch(/^tls: .*Check the certificate authority/);
    expect(await open(nats, { tls: { ca } })).toMatch(/^unreachable: .*ask for a client's certificate/);
    expect(await open(nats, { tls: { ca, certFile: cert, keyFile: key } })).toBe("opened");
  });
});
