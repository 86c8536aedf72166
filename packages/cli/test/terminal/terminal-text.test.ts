import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clip, terminalJson, terminalText } from "../../src/terminal/terminal-text.js";

const DANGEROUS = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029]/u;

/** Strings of any 16-bit units, including unpaired surrogates. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => units.map((unit) => String.fromCharCode(unit)).join(""));

describe("untrusted text", () => {
  it.each([
    ["an escape sequence", "\u001b[2J\u001b[31mred", "\\u001b[2J\\u001b[31mred"],
    ["the one-byte form of it (C1)", "\u009b2J", "\\u009b2J"],
    ["a bell, a backspace, a carriage return", "a\u0007\u0008\rb", "a\\u0007\\u0008\\u000db"],
    ["a line feed", "one\ntwo", "one\\u000atwo"],
    ["a sequence that sets the title", "\u001b]0;owned\u0007", "\\u001b]0;owned\\u0007"],
    ["a bidirectional mark", "abc\u202edcba", "abc\\u202edcba"],
    ["half a surrogate pair", "\ud800x", "\\ud800x"],
    ["invisible tag characters", "a\u{e0041}", "a\\udb40\\udc41"],
    [
      "invisible characters of shorthand and of music",
      "a\u{1bca0}b\u{1d173}",
      "a\\ud82f\\udca0b\\ud834\\udd73",
    ],
    ["an emoji of several", "👩‍👩‍👧 👩🏽‍🚀 🏳️‍🌈", "👩‍👩‍👧 👩🏽‍🚀 🏳️‍🌈"],
    ["a joiner that joins no emoji", "pay\u200dpal 🎉\u200dx", "pay\\u200dpal 🎉\\u200dx"],
    ["letters and emoji of all kinds", "Zoë 東京 🎉 مرحبا", "Zoë 東京 🎉 مرحبا"],
  ])("shows %s", (_name, text, expected) => {
    expect(terminalText(text)).toBe(expected);
  });

  it("never contains characters that control a terminal", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(DANGEROUS.test(terminalText(text))).toBe(false);
      }),
    );
  });
});

describe("a value as JSON", () => {
  it("parses to the same value and is safe, on one line and indented", () => {
    const value = fc.dictionary(anyText, fc.oneof(anyText, fc.array(anyText), fc.double()));
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), (data, indent) => {
        const text = terminalJson(data, indent);
        expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(data));
        expect(DANGEROUS.test(text.replaceAll("\n", ""))).toBe(false);
        if (indent === 0) expect(text).not.toContain("\n");
      }),
    );
  });
});

it("cuts between characters, not within one", () => {
  expect(clip("🎉🎉🎉", 2)).toBe("🎉…");
  expect(clip("abc", 3)).toBe("abc");
});
