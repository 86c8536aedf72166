import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decodeProfile, encodeProfile, newProfile } from "../../src/profiles/profile.js";

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
