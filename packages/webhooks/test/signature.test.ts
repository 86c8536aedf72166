import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  expressHandler,
  fastifyHandler,
  honoHandler,
  memoryDedupe,
  nodeHandler,
  type StandardVerdict,
  sign,
  signStandard,
  verify,
  verifyStandard,
  webHandler,
} from "../src/index.js";

const BODY = '{"type":"track","event":"Größe"}';
const SIGNATURE = createHmac("sha1", "secret").update(BODY, "utf8").digest("hex");

const VIEW = new DataView(new TextEncoder().encode(BODY).buffer);
const THROWING = new Proxy(["secret"], {
  get() {
    throw new Error("revoked");
  },
});

describe("sign", () => {
  it("is the hex HMAC-SHA1 of the body's UTF-8", () => {
    expect(sign(BODY, "secret")).toBe(SIGNATURE);
    expect(sign(Buffer.from(BODY), "secret")).toBe(SIGNATURE);
  });
});

describe("verify", () => {
  it.each<[name: string, body: unknown, signature: unknown, secret: unknown, expected: boolean]>([
    ["the right one", BODY, SIGNATURE, "secret", true],
    ["the body as bytes", new TextEncoder().encode(BODY), SIGNATURE, "secret", true],
    ["the first of two secrets", BODY, SIGNATURE, ["secret", "former"], true],
    ["the second of two secrets", BODY, SIGNATURE, ["new", "secret"], true],
    ["another secret", BODY, SIGNATURE, "Secret", false],
    ["another body", `${BODY} `, SIGNATURE, "secret", false],
    ["upper case", BODY, SIGNATURE.toUpperCase(), "secret", false],
    ["one digit short", BODY, SIGNATURE.slice(1), "secret", false],
    ["one digit long", BODY, `${SIGNATURE}0`, "secret", false],
    ["a line break behind it", BODY, `${SIGNATURE}\n`, "secret", false],
    ["no hex", BODY, "g".repeat(40), "secret", false],
    ["an empty signature", BODY, "", "secret", false],
    ["none", BODY, undefined, "secret", false],
    ["null", BODY, null, "secret", false],
    ["a list", BODY, [SIGNATURE], "secret", false],
    ["an empty secret", BODY, createHmac("sha1", "").update(BODY).digest("hex"), "", false],
    ["an empty one among secrets", BODY, createHmac("sha1", "").update(BODY).digest("hex"), ["", "x"], false],
    ["no secrets", BODY, SIGNATURE, [], false],
    ["an undefined secret", BODY, SIGNATURE, undefined, false],
    ["a parsed body", { type: "track" }, SIGNATURE, "secret", false],
    ["no body", undefined, SIGNATURE, "secret", false],
    ["the body in a view that is no Uint8Array", VIEW, SIGNATURE, "secret", false],
    ["a String object", BODY, Object(SIGNATURE), "secret", false],
    ["a list with things that are no secret", BODY, SIGNATURE, [undefined, 7, "secret"], true],
    ["a set of secrets", BODY, SIGNATURE, new Set(["secret"]), false],
    ["secrets that throw", BODY, SIGNATURE, THROWING, false],
  ])("%s: %j", (_name, body, signature, secret, expected) => {
    expect(verify(body as string, signature as string, secret as string)).toBe(expected);
  });
});

describe("verifyStandard", () => {
  const NOW_MS = 1_800_000_000_000;
  const AT = { id: "m1", timestampMs: NOW_MS };
  const signed = signStandard(BODY, "secret", AT);
  const BASE64 = `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`;
  const of = (headers: object): typeof signed => ({ ...signed, ...headers });
  const resigned = (timestamp: string, id = "m1"): typeof signed => {
    const mac = createHmac("sha256", "secret").update(`${id}.${timestamp}.${BODY}`).digest("base64");
    return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
  };

  it.each<[name: string, headers: object, secret: unknown, atMs: number, expected: StandardVerdict]>([
    ["the right one", signed, "secret", NOW_MS, "valid"],
    ["either of two secrets", signed, ["new", "secret"], NOW_MS, "valid"],
    ["a base64 secret", signStandard(BODY, BASE64, AT), BASE64, NOW_MS, "valid"],
    [
      "one of several signatures",
      of({ "webhook-signature": `v1,AAAA v2,x ${signed["webhook-signature"]}` }),
      "secret",
      NOW_MS,
      "valid",
    ],
    ["five minutes later", signed, "secret", NOW_MS + 300_000, "valid"],
    ["later than that", signed, "secret", NOW_MS + 300_001, "outside_window"],
    ["five minutes earlier", signed, "secret", NOW_MS - 300_000, "valid"],
    ["earlier than that", signed, "secret", NOW_MS - 300_001, "outside_window"],
    ["another secret", signed, "Secret", NOW_MS, "mismatch"],
    ["another id", of({ "webhook-id": "m2" }), "secret", NOW_MS, "mismatch"],
    ["another time", of({ "webhook-timestamp": "1800000001" }), "secret", NOW_MS, "mismatch"],
    ["a time that is no number", resigned("soon"), "secret", NOW_MS, "mismatch"],
    ["a time with a point", resigned("1800000000.5"), "secret", NOW_MS, "mismatch"],
    ["an empty id", resigned("1800000000", ""), "secret", NOW_MS, "mismatch"],
    [
      "another version",
      of({ "webhook-signature": signed["webhook-signature"].replace("v1", "v2") }),
      "secret",
      NOW_MS,
      "mismatch",
    ],
    ["no signature", of({ "webhook-signature": undefined }), "secret", NOW_MS, "mismatch"],
    ["an empty secret", signed, "", NOW_MS, "mismatch"],
    ["no secrets", signed, [], NOW_MS, "mismatch"],
  ])("%s", (_name, headers, secret, atMs, expected) => {
    expect(verifyStandard(BODY, headers as typeof signed, secret as string, atMs)).toBe(expected);
  });
});

describe("a secret that is not set", () => {
  const secret: string | undefined = process.env.SLUICE_TEST_NOT_SET;

  it("compiles, verifies nothing, and creates no receiver", () => {
    const headers = signStandard("body", "s", { id: "m1", timestampMs: Date.now() });
    expect(verify("body", sign("body", "s"), secret)).toBe(false);
    expect(verifyStandard("body", headers, secret)).toBe("mismatch");
    for (const create of [nodeHandler, expressHandler, fastifyHandler, honoHandler, webHandler])
      expect(() => create({ secret, onMessage: () => {} })).toThrow(/`secret`/);
  });

  it("options that are undefined compile and mean their defaults", () => {
    const unset = { dedupe: undefined, standardWebhooks: undefined, now: undefined, maxBodyBytes: undefined };
    const handlers = { onError: undefined, onRejected: undefined };
    expect(webHandler({ secret: "s", onMessage: () => {}, ...unset, ...handlers })).toBeTypeOf("function");
    expect(memoryDedupe({ maxIds: undefined }).has("m")).toBe(false);
  });
});
