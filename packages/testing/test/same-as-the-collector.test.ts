import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LoopbackCollector, loopbackCollector } from "../src/index.js";

let dataDir: string;
let real: ChildProcess;
let realUrl: string;
let writeKey: string;
let fake: LoopbackCollector;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sluice-testing-"));
  const command = fileURLToPath(new URL("../../cli/bin/sluice.cjs", import.meta.url));
  real = spawn(process.execPath, [command, "dev", "--json", "--port", "0", "--data-dir", dataDir], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (!real.stdout) throw new Error("no stdout");
  const [line] = await once(createInterface(real.stdout), "line");
  ({ url: realUrl, writeKey } = JSON.parse(String(line)) as { url: string; writeKey: string });
  fake = await loopbackCollector({ writeKey });
});

afterAll(async () => {
  await fake?.close();
  if (real?.exitCode === null) {
    const exit = once(real, "exit");
    real.kill("SIGTERM");
    await exit;
  }
  await rm(dataDir, { recursive: true, force: true });
});

const track = (fields: object = {}) => ({ type: "track", userId: "u", event: "E", ...fields });
let ids = 0;
const withId = (message: object) => ({ messageId: `same-${++ids}`, ...message });

interface Case {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly key?: string | null;
  readonly body: unknown;
}

const cases: Record<string, () => Case> = {
  "a good batch": () => ({ body: { batch: [withId(track()), withId(track())] } }),
  "an empty batch": () => ({ body: { batch: [] } }),
  "every kind of refusal": () => ({
    body: {
      batch: [
        track({ event: "" }),
        track({ userId: undefined }),
        track({ properties: 5 }),
        track({ messageId: "x".repeat(100) }),
        track({ text: "x".repeat(32_768) }),
        { type: "other", userId: "u" },
        { userId: "u" },
        5,
        null,
        [],
        { type: "alias", userId: "u" },
        { type: "alias", previousId: "p" },
        { type: "group", userId: "u" },
        { type: "page", userId: "u", category: "c" },
        { type: "identify", userId: "u", traits: "t" },
        withId(track({ userId: 5, properties: [], context: null })),
      ],
    },
  }),
  "malformed JSON": () => ({ body: "{" }),
  "JSON that is no object": () => ({ body: "[]" }),
  "a batch that is no list": () => ({ body: { batch: {} } }),
  "no batch": () => ({ body: {} }),
  "an empty body": () => ({ body: "" }),
  "a body over 500 KB": () => ({ body: { batch: [], x: "x".repeat(512_000) } }),
  "2,501 messages": () => ({ body: { batch: Array.from({ length: 2_501 }, () => 1) } }),
  "a wrong key": () => ({ key: "wrong", body: { batch: [withId(track())] } }),
  "an empty key": () => ({ key: "", body: { batch: [withId(track())] } }),
  "an empty key, and the right one in the body": () => ({
    key: "",
    body: { writeKey, batch: [withId(track())] },
  }),
  "the right key, and another one in the body": () => ({
    body: { writeKey: "wrong", batch: [withId(track())] },
  }),
  "the right key, and an empty one in the body": () => ({
    body: { writeKey: "", batch: [withId(track({ writeKey: "" }))] },
  }),
  "messages with the right key, another one, and what is none": () => ({
    body: { batch: [writeKey, "wrong", 5].map((key) => withId(track({ writeKey: key }))) },
  }),
  "a single message with another key": () => ({
    path: "/v1/track",
    body: withId(track({ writeKey: "wrong" })),
  }),
  "empty ids": () => ({
    body: {
      batch: [track({ messageId: "" }), track({ userId: "" }), track({ userId: "", anonymousId: "a" })],
    },
  }),
  "no key": () => ({ key: null, body: { batch: [withId(track())] } }),
  "a single message": () => ({ path: "/v1/track", body: withId({ userId: "u", event: "E" }) }),
  "a single message by its short path": () => ({ path: "/v1/i/", body: withId({ userId: "u" }) }),
  "an invalid single message": () => ({ path: "/v1/track", body: { userId: "u" } }),
  "a single message over 32 KB": () => ({ path: "/v1/track", body: track({ x: "x".repeat(32_768) }) }),
  ...Object.fromEntries(
    ["gzip", "x-gzip", "GZIP", "deflate", "br", "identity", "zstd", ""].map((encoding) => [
      `the encoding "${encoding}"`,
      () => ({ headers: { "content-encoding": encoding }, body: { batch: [withId(track())] } }),
    ]),
  ),
  "bytes that are not UTF-8": () => ({
    body: Buffer.from('{"batch":[{"type":"track","userId":"\xff"}]}', "latin1"),
  }),
  "another method": () => ({ method: "PUT", body: { batch: [] } }),
  "a path that is none": () => ({ path: "/v1/other", body: {} }),
};

const ENCODINGS: Record<string, (text: string | Uint8Array) => Uint8Array<ArrayBuffer>> = {
  ...{ gzip: gzipSync, "x-gzip": gzipSync, GZIP: gzipSync },
  ...{ deflate: deflateSync, br: brotliCompressSync },
};

/** The parts of an answer that must be the same. Messages may differ. */
async function answerOf(
  url: string,
  { path = "/v1/batch", method = "POST", headers = {}, key = writeKey, body }: Case,
) {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const encode = ENCODINGS[headers["content-encoding"] ?? ""];
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, ...(key !== null && { authorization: `Basic ${btoa(`${key}:`)}` }) },
    body: encode === undefined ? text : encode(text),
  });
  const answer = (await response.json()) as {
    success: boolean;
    code?: string;
    accepted?: number;
    rejected?: { index: number; code: string }[];
  };
  const { success, code, accepted, rejected } = answer;
  return {
    status: response.status,
    success,
    code,
    accepted,
    rejected: rejected?.map(({ index, code }) => `${index} ${code}`),
  };
}

it.each(Object.entries(cases))("the fake collector answers like the real one: %s", async (_name, make) => {
  const request = make();
  expect(await answerOf(fake.url, request)).toEqual(await answerOf(realUrl, request));
});
