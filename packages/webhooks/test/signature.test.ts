import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sign, verify } from "../src/index.js";

const BODY = '{"type":"track","event":"Größe"}';
const SIGNATURE = createHmac("sha1", "secret").update(BODY, "utf8").digest("hex");

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
  ])("%s: %j", (_name, body, signature, secret, expected) => {
    expect(verify(body as string, signature as string, secret as string)).toBe(expected);
  });
});
