import { describe, expect, it } from "vitest";
import type { SourcePlace } from "../../src/cluster/documents/control-sources.js";
import type { Owners, PartAnswer, Question } from "../../src/cluster/gateway/ask-owners.js";
import { takeMessages } from "../../src/cluster/gateway/spread/take-messages.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const PARTITIONS = [0, 1, 2];
const PLACES = new Map<string, SourcePlace>([
  ["wk_own", { sourceId: "src_1", partition: 0, partitions: 3 }],
  ["wk_second", { sourceId: "src_1", partition: 0, partitions: 3 }],
  ["wk_other", { sourceId: "src_2", partition: 0 }],
]);
const batch = Array.from({ length: 30 }, (_, index) => ({ userId: `u-${index}`, type: "track" }));

/** Sends a batch of a spread source whose owners refuse these keys around the messages. */
async function taken(around: object, refused: readonly string[]) {
  const asked: number[] = [];
  const owners = {
    partitions: PARTITIONS,
    owned: async () => {},
    async ask(partition: number, _request: HttpRequest, { messages }: Question): Promise<PartAnswer> {
      asked.push(partition);
      const part = JSON.parse(Buffer.from(messages?.body ?? []).toString());
      if (refused.includes(part.writeKey))
        return { partition, status: 401, body: { code: "invalid_write_key" } };
      return { partition, status: 200, body: { success: true, accepted: part.batch.length } };
    },
  } as unknown as Owners;
  const take = takeMessages(() => ({ placeOf: (key) => PLACES.get(key) }), owners);
  const request = {
    headers: { authorization: `Basic ${btoa("wk_own:")}` },
    signal: new AbortController().signal,
    vouch: () => {},
  } as unknown as HttpRequest;
  const body = Buffer.from(JSON.stringify({ ...around, batch }));
  const answer = await take(request, { path: "/v1/batch", kind: undefined, readBody: () => body });
  return { answer, asked };
}

describe("a batch of a spread source", () => {
  it.each([
    ["another source's key", "wk_other"],
    ["a key that nobody has", "wk_none"],
  ])("that names %s is refused, and so listed, by one owner", async (_, writeKey) => {
    const { answer, asked } = await taken({ writeKey }, [writeKey]);
    expect(answer).toEqual({ status: 401, body: { code: "invalid_write_key" } });
    expect(asked).toHaveLength(1);
  });

  it.each([
    ["no key", {}],
    ["its own key", { writeKey: "wk_own" }],
    ["another key of the same source", { writeKey: "wk_second" }],
    ["a key that this process does not know yet", { writeKey: "wk_new" }],
    ["another source's key in its context only", { context: { writeKey: "wk_other" } }],
  ])("that names %s is stored by the owners of its users", async (_, around) => {
    const { answer, asked } = await taken(around, ["wk_other"]);
    expect(answer).toMatchObject({ status: 200, body: { accepted: batch.length } });
    expect(asked.toSorted()).toEqual(PARTITIONS);
  });
});
