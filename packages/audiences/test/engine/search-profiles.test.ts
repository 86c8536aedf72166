import { describe, expect, it, test } from "vitest";
import { matchProfile, profileSearch, profileSummary } from "../../src/engine/questions/search-profiles.js";
import { newProfile } from "../../src/profiles/profile.js";

const profile = () => {
  const ada = newProfile(1, "u:github:123", 0);
  ada.identities = ["u:github:123", "a:Device-9"];
  for (const [name, value] of Object.entries({
    zip: "007",
    email: "Ada@Example.com",
    plan: "pro 100%",
    seats: 12,
    vip: true,
    address: { city: "Kraków" },
    note: "a.b*c [x] \u001b[31m",
  }))
    ada.traits.set(name, value);
  return ada;
};

describe("a search", () => {
  it.each<[text: string, field: string | undefined]>([
    ["github:123", "userId"],
    ["123", "userId"],
    ["device-9", "anonymousId"],
    ["ada@", "email"],
    ["EXAMPLE.COM", "email"],
    ["  ada@example.com  ", "email"],
    ["plan:pro", "plan"],
    ["PLAN: PRO", "plan"],
    ["plan:free", undefined],
    ["seats:12", "seats"],
    ["vip:true", "vip"],
    ["kraków", "address"],
    ["city:", undefined],
    ["%", "plan"],
    ["_", undefined],
    [".*", undefined],
    ["b*c", "note"],
    ["[x]", "note"],
    ["\u001b[31m", "note"],
    ["u:", undefined],
    ["constructor", undefined],
    ["nobody", undefined],
  ])("for %j finds %s", (text, field) => {
    const search = profileSearch(text);
    if (search === undefined) throw new Error("empty");
    expect(matchProfile(profile(), search)?.field).toBe(field);
  });

  it.each([[""], ["   "]])("for %j is for all profiles", (text) => {
    expect(profileSearch(text)).toBeUndefined();
  });
});

test("a profile in a list is small, and shows first by what a person is recognized", () => {
  const large = profile();
  for (let i = 0; i < 900; i++) large.traits.set(`t${i}`, "x".repeat(10_000));
  large.traits.set("name", "😀".repeat(5_000));
  const summary = profileSummary(large, { field: "t1", value: "x".repeat(10_000) });
  expect(Object.keys(summary.traits).slice(0, 3)).toEqual(["email", "name", "plan"]);
  expect(summary.traitCount).toBe(908);
  expect(JSON.stringify(summary).length).toBeLessThan(2_500);
  expect(summary.traits.name?.isWellFormed()).toBe(true);
});
