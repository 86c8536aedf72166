import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteProfileStore } from "@sluice/event-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decodeProfile, encodeProfile, joinedTo, newProfile } from "../../src/profiles/profile.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-stored-profiles-"));
});
afterEach(() => rm(directory, { recursive: true }));

const recordOf = (body: string) => ({ number: 1, firstSeenMs: 1, lastSeenMs: 2, body });

test("a long user id is stored once, however many anonymous ids are joined to it", () => {
  const profile = newProfile(1, "u:ann", 1);
  const long = `u:${"x".repeat(30_000)}`;
  profile.identities.push(long);
  for (let device = 0; device < 498; device++) {
    profile.identities.push(`a:${device}`);
    profile.joined.set(`a:${device}`, long);
  }
  const body = encodeProfile(profile);
  expect(body.length).toBeLessThan(60_000);
  const { identities, joined } = decodeProfile(recordOf(body));
  // Texts of 30,000 characters are compared, not shown.
  expect(identities.join() === profile.identities.join()).toBe(true);
  expect([...joined].join() === [...profile.joined].join()).toBe(true);
});

test("joins that were stored with their ids are read, without those of ids that the profile has not", () => {
  const joined = [
    ["a:1", "u:bob"],
    ["a:2", "u:gone"],
    ["a:gone", "u:bob"],
  ];
  const profile = decodeProfile(
    recordOf(JSON.stringify({ id: "u:ann", ids: ["u:bob", "a:1", "a:2"], joined })),
  );
  expect([...profile.joined]).toEqual([["a:1", "u:bob"]]);
  expect(joinedTo(profile, "a:2")).toBe("u:ann");
});

test("states that an older version let grow to tens of megabytes are cut when the profile is read", async () => {
  const store = openSqliteProfileStore({ directory });
  try {
    const large = Array.from({ length: 200_000 }, (_, at) => [at, "x".repeat(80)]);
    const small = { number: 2, firstSeenMs: 1, lastSeenMs: 2, body: JSON.stringify({ id: "u:bob" }) };
    const body = JSON.stringify({
      id: "u:ann",
      ids: ["a:1"],
      joined: Array.from({ length: 10_000 }, (_, at) => [`a:${at}`, `u:${"x".repeat(100)}`]),
      traits: [["plan", "pro"]],
      aspects: [
        [1, { n: 1 }],
        [2, { items: large }],
      ],
      computed: [
        ["first", 1, 0],
        ["list", large, 0],
      ],
    });
    await store.commit({ profiles: [recordOf(body), small] });
    const records = await store.load([1, 2]);
    expect(JSON.parse(records[0]?.body ?? "")).toEqual({
      id: "u:ann",
      ids: ["a:1"],
      traits: [["plan", "pro"]],
      aspects: [[1, { n: 1 }]],
      computed: [["first", 1, 0]],
    });
    expect(records[1]).toEqual(small);
  } finally {
    await store.close();
  }
});
