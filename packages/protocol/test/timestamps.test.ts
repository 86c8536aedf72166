import { expect, test } from "vitest";
import { formatTime, parseTime, resolveTime } from "../src/index.js";

test.each<[name: string, text: unknown, iso: string | undefined]>([
  ["milliseconds, Z", "2026-11-21T09:30:08.276Z", "2026-11-21T09:30:08.276Z"],
  ["whole seconds", "2026-11-21T09:30:08Z", "2026-11-21T09:30:08.000Z"],
  ["whole minutes", "2026-11-21T09:30Z", "2026-11-21T09:30:00.000Z"],
  ["date alone", "2026-11-21", "2026-11-21T00:00:00.000Z"],
  ["offset with colon", "2026-11-21T09:30:08.276+02:00", "2026-11-21T07:30:08.276Z"],
  ["offset without colon", "2026-11-21T09:30:08.276+0000", "2026-11-21T09:30:08.276Z"],
  ["negative offset without colon", "2026-11-21T09:30:08-0530", "2026-11-21T15:00:08.000Z"],
  ["offset of hours", "2026-11-21T09:30:08+01", "2026-11-21T08:30:08.000Z"],
  ["no zone is UTC", "2026-11-21T09:30:08.276", "2026-11-21T09:30:08.276Z"],
  ["microseconds", "2026-11-21T09:30:08.276123Z", "2026-11-21T09:30:08.276Z"],
  ["microseconds, offset (Python)", "2026-11-21T09:30:08.276123+00:00", "2026-11-21T09:30:08.276Z"],
  ["nanoseconds (Go)", "2026-11-21T09:30:08.276123456Z", "2026-11-21T09:30:08.276Z"],
  ["one digit of a second", "2026-11-21T09:30:08.2Z", "2026-11-21T09:30:08.200Z"],
  ["seven digits (C#)", "2026-11-21T09:30:08.2761234Z", "2026-11-21T09:30:08.276Z"],
  ["a comma", "2026-11-21T09:30:08,276Z", "2026-11-21T09:30:08.276Z"],
  ["a blank instead of T", "2026-11-21 09:30:08", "2026-11-21T09:30:08.000Z"],
  ["Ruby's Time#to_s", "2026-11-21 09:30:08 +0100", "2026-11-21T08:30:08.000Z"],
  ["lower case", "2026-11-21t09:30:08z", "2026-11-21T09:30:08.000Z"],
  ["basic form", "20261121T093008Z", "2026-11-21T09:30:08.000Z"],
  ["basic form with all", "20261121T093008.276+0200", "2026-11-21T07:30:08.276Z"],
  ["a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ["a leap second", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
  ["24:00 is the next day", "2026-11-21T24:00:00Z", "2026-11-22T00:00:00.000Z"],
  ["before the epoch", "1815-12-10T00:00:00Z", "1815-12-10T00:00:00.000Z"],
  ["year 0", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
  ["year 9999", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ["before year 0", "0000-01-01T00:00:00+01:00", undefined],
  ["after year 9999", "9999-12-31T23:59:59-01:00", undefined],
  ["no leap day", "2026-02-29T00:00:00Z", undefined],
  ["1900 was no leap year", "1900-02-29", undefined],
  ["month 13", "2026-13-01T00:00:00Z", undefined],
  ["month 0", "2026-00-01T00:00:00Z", undefined],
  ["day 0", "2026-01-00", undefined],
  ["June 31", "2026-06-31", undefined],
  ["hour 25", "2026-11-21T25:00:00Z", undefined],
  ["24:01", "2026-11-21T24:01:00Z", undefined],
  ["minute 60", "2026-11-21T09:60:00Z", undefined],
  ["second 61", "2026-11-21T09:30:61Z", undefined],
  ["offset of 24 hours", "2026-11-21T09:30:00+24:00", undefined],
  ["offset of 60 minutes", "2026-11-21T09:30:00+01:60", undefined],
  ["a day and a month alone", "2026-11", undefined],
  ["text", "yesterday", undefined],
  ["empty", "", undefined],
  ["epoch milliseconds as text", "1795253408276", undefined],
  ["a number", 1_795_253_408_276, undefined],
  ["null", null, undefined],
  ["an object", {}, undefined],
  ["a Date", new Date(0), undefined],
  ["something behind", "2026-11-21T09:30:08Z;", undefined],
  ["a line feed behind", "2026-11-21T09:30:08Z\n", undefined],
  ["digits without end", `2026-11-21T09:30:08.${"1".repeat(100_000)}Z`, undefined],
  ["Arabic digits", "٢٠٢٦-11-21", undefined],
])("parseTime: %s", (_name, text, iso) => {
  const ms = parseTime(text);
  expect(ms === undefined ? undefined : formatTime(ms)).toBe(iso);
});

const RECEIVED = "2026-11-21T12:00:00.000Z";

test.each<[name: string, message: Parameters<typeof resolveTime>[0], iso: string]>([
  ["nothing: receipt", {}, RECEIVED],
  ["only originalTimestamp", { originalTimestamp: "2026-11-21T11:59:50Z" }, "2026-11-21T11:59:50.000Z"],
  [
    "timestamp wins",
    { timestamp: "2026-11-21T11:59:00Z", originalTimestamp: "2026-11-21T11:00:00Z" },
    "2026-11-21T11:59:00.000Z",
  ],
  [
    "null is absent",
    { timestamp: null, originalTimestamp: "2026-11-21T11:59:50Z" },
    "2026-11-21T11:59:50.000Z",
  ],
  ["unparseable: receipt", { timestamp: "soon" }, RECEIVED],
  [
    "unparseable beats originalTimestamp",
    { timestamp: "soon", originalTimestamp: "2026-11-21T11:59:50Z" },
    RECEIVED,
  ],
  ["unparseable originalTimestamp: receipt", { originalTimestamp: "soon" }, RECEIVED],
  [
    "a clock 10 s behind",
    { originalTimestamp: "2026-11-21T11:59:40Z", sentAt: "2026-11-21T11:59:50Z" },
    "2026-11-21T11:59:50.000Z",
  ],
  [
    "a clock 10 s ahead",
    { originalTimestamp: "2026-11-21T12:00:05Z", sentAt: "2026-11-21T12:00:10Z" },
    "2026-11-21T11:59:55.000Z",
  ],
  [
    "5 s is within tolerance",
    { originalTimestamp: "2026-11-21T11:59:50Z", sentAt: "2026-11-21T11:59:55Z" },
    "2026-11-21T11:59:50.000Z",
  ],
  [
    "5.001 s is not",
    { originalTimestamp: "2026-11-21T11:59:50Z", sentAt: "2026-11-21T11:59:54.999Z" },
    "2026-11-21T11:59:55.001Z",
  ],
  [
    "a clock a day ahead",
    { originalTimestamp: "2026-11-22T11:59:59Z", sentAt: "2026-11-22T12:00:00Z" },
    "2026-11-21T11:59:59.000Z",
  ],
  [
    "a recent explicit time is corrected too",
    { timestamp: "2026-11-21T12:59:59Z", sentAt: "2026-11-21T13:00:00Z" },
    "2026-11-21T11:59:59.000Z",
  ],
  [
    "an explicit time of 1 h ago is corrected",
    { timestamp: "2026-11-21T11:00:00Z", sentAt: "2026-11-21T11:50:00Z" },
    "2026-11-21T11:10:00.000Z",
  ],
  [
    "older than 1 h is history",
    { timestamp: "2026-11-21T10:59:59.999Z", sentAt: "2026-11-21T11:50:00Z" },
    "2026-11-21T10:59:59.999Z",
  ],
  ["history without sentAt", { timestamp: "2001-01-01T00:00:00Z" }, "2001-01-01T00:00:00.000Z"],
  [
    "an old originalTimestamp is no history",
    { originalTimestamp: "2026-11-21T10:00:00Z", sentAt: "2026-11-21T10:30:00Z" },
    "2026-11-21T11:30:00.000Z",
  ],
  [
    "unparseable sentAt",
    { originalTimestamp: "2026-11-21T11:59:00Z", sentAt: "now" },
    "2026-11-21T11:59:00.000Z",
  ],
  ["the future stays without sentAt", { timestamp: "2030-01-01T00:00:00Z" }, "2030-01-01T00:00:00.000Z"],
  [
    "a correction beyond year 9999",
    { originalTimestamp: "9999-12-31T00:00:00Z", sentAt: "0001-01-01T00:00:00Z" },
    RECEIVED,
  ],
])("resolveTime: %s", (_name, message, iso) => {
  expect(formatTime(resolveTime(message, Date.parse(RECEIVED)))).toBe(iso);
});
