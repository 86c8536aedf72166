import { expect, it } from "vitest";
import { commandsFor, matchRank, type NamedThing } from "../src/shell/palette-commands.js";

const thing = (name: string, kind = "Source"): NamedThing => ({
  name,
  href: `/x/${name}`,
  icon: "sources",
  kind,
});

it.each<[name: string, wanted: string, label: string, words: string, rank: number | undefined]>([
  ["the same name", "shop", "Shop", "", 0],
  ["the beginning of the name", "sho", "Shop", "", 1],
  ["the beginning of several words", "new aud", "New audience", "", 1],
  ["the beginning of a later word", "aud", "New audience", "", 2],
  ["words in another order", "audience new", "New audience", "", 2],
  ["a word after a sign", "prod", "shop-prod", "", 2],
  ["the middle of a word", "hop", "Shop", "", 3],
  ["only other words", "segment", "New audience", "create segment", 4],
  ["a word of each", "new segment", "New audience", "create segment", 4],
  ["a word that is nowhere", "new shop", "New audience", "create", undefined],
  ["signs of patterns", ".*", "Shop", "", undefined],
])("%s", (_name, wanted, label, words, rank) => {
  expect(matchRank(wanted, label, words)).toBe(rank);
});

it.each<[text: string, things: readonly string[], first: readonly string[]]>([
  ["shop", ["Old workshop", "Shop backend", "Shop"], ["Shop", "Shop backend", "Old workshop"]],
  ["source", ["Sourdough"], ["Sources"]],
  ["pro", ["Approvals", "Prod"], ["Profiles", "Prod", "Approvals"]],
  ["AUD", ["Audit export"], ["Audiences", "Audit export", "New audience"]],
])("%j ranks names first", (text, things, first) => {
  const labels = commandsFor(
    text,
    things.map((name) => thing(name)),
  ).map(({ label }) => label);
  expect(labels.slice(0, first.length)).toEqual(first);
});

it("a rare match is found behind many things", () => {
  const many = Array.from({ length: 500 }, (_, i) => thing(`xx mailer ${i}`));
  const labels = commandsFor("mailer", [...many, thing("Mailer")]).map(({ label }) => label);
  expect(labels[0]).toBe("Mailer");
});

it("ends with searches for the text", () => {
  expect(commandsFor("m-42", []).map(({ label }) => label)).toEqual(["Search messages for m-42"]);
  expect(commandsFor("   ", [thing("A")]).at(-1)?.label).toBe("A");
});
