import { AdminError } from "@sluice/admin-client";
import { expect, test } from "vitest";
import { errorWords } from "../src/words/errors.js";

const conflict = (message: string, details: object = {}) =>
  errorWords(new AdminError(409, { code: "conflict", message: `conflict: ${message}`, ...details }));

test("a conflict names its cause: another version, a taken name, a dependency, or the API's message", () => {
  expect(conflict("it is at version 3", { version: 3 })).toMatchObject({
    title: "This was changed after you opened it",
  });
  expect(conflict("the key vip belongs to aud_1", { key: "vip", id: "aud_1" })).toMatchObject({
    title: "The trait vip already exists",
    about: ["aud_1"],
  });
  expect(conflict("other audiences depend on it: aud_2", { audienceIds: ["aud_2"] })).toMatchObject({
    title: "Other audiences depend on it",
    about: ["aud_2"],
  });
  expect(conflict("a token cannot revoke itself: use another token")).toEqual({
    title: "A token cannot revoke itself: use another token",
    code: "conflict",
  });
});
