import { expect, it } from "vitest";
import { readBody } from "../../src/cluster/gateway/read-body.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const read = (text: string | Uint8Array): Promise<object> =>
  readBody({ readBody: async () => Buffer.from(text) } as unknown as HttpRequest, 1_000_000);

it("takes a JSON object, or nothing, that can be written again", async () => {
  expect(await read("")).toEqual({});
  expect(await read('{"a":[1]}')).toEqual({ a: [1] });
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  for (const text of ["[]", "null", "{", "7", `{"filter":${deep}}`])
    await expect(read(text)).rejects.toMatchObject({ code: "malformed_json" });
});

it("refuses bytes that are not UTF-8, which would name another user when they are written again", async () => {
  const latin = Buffer.from('{"userIds":["J\u00f6rg"]}', "latin1");
  await expect(read(latin)).rejects.toMatchObject({ code: "malformed_json" });
});
