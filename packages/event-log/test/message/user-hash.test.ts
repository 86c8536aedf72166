import { expect, test } from "vitest";
import { scanUser, scanUsers, userHash } from "../../src/message/scan-users.js";

// Users would move to other partitions if one of these changed.
test.each([
  ["", 0, 2_872_998_923],
  ["u-1", 0, 196_499_737],
  ["u-1", 7, 2_266_492_239],
  ["żółć😀", 7, 2_784_285_725],
  ["00000000-0000-4000-8000-000000000000", 0xffffffff, 2_778_166_686],
])("the hash of %j with seed %d is always the same", (user, seed, hash) => {
  expect(userHash(user, seed)).toBe(hash);
});

test("a user has one hash, however its message is written", () => {
  const wanted = userHash("żó/1", 7);
  for (const message of [
    '{"userId":"żó/1"}',
    '{"userId":"\\u017c\\u00f3\\/1","anonymousId":"x"}',
    '{"anonymousId":"żó/1","userId":""}',
    '{ "userId" : null , "anonymousId" : "żó/1" }',
    '{"userId":"x","u\\u0073erId":"żó/1"}',
  ]) {
    expect(scanUser(Buffer.from(message), 7), message).toBe(wanted);
    expect(scanUsers(Buffer.from(`{"batch":[${message}]}`), 7)?.hashes, message).toEqual([wanted]);
  }
  expect(scanUser(Buffer.from('{"userId":42}'), 7)).toBe(userHash("42", 7));
});

test("users are divided evenly, whatever their ids have in common, and differently in each source", () => {
  const ids: ((index: number) => string)[] = [
    (index) => String(index),
    (index) => `user-${index * 16}`,
    (index) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  ];
  const users = 12_000;
  for (const idOf of ids) {
    for (const partitions of [2, 3, 4, 16]) {
      const counts = Array.from({ length: partitions }, () => 0);
      let moved = 0;
      for (let index = 0; index < users; index++) {
        const partition = userHash(idOf(index), userHash("src_1", 0)) % partitions;
        counts[partition] = (counts[partition] ?? 0) + 1;
        if (partition !== userHash(idOf(index), userHash("src_2", 0)) % partitions) moved++;
      }
      const fair = users / partitions;
      for (const count of counts) expect(Math.abs(count - fair) / fair).toBeLessThan(0.15);
      expect(Math.abs(moved / users - (1 - 1 / partitions))).toBeLessThan(0.05);
    }
  }
});
