import { describe, expect, test } from "vitest";
import { audienceKey } from "../src/index.js";

const CASES: readonly (readonly [what: string, name: string, key: string])[] = [
  ["words", "Big Spenders", "big_spenders"],
  ["camelCase", "bigSpenders", "big_spenders"],
  ["an acronym before a word", "VIPUsers", "vip_users"],
  ["an acronym after a word", "users of the EU", "users_of_the_eu"],
  ["an acronym in the middle", "parseHTTPRequests", "parse_http_requests"],
  ["an acronym alone", "VIP", "vip"],
  ["digits", "Top 10 buyers", "top_10_buyers"],
  ["digits within camelCase", "top10Buyers", "top10_buyers"],
  ["digits at the end", "cohort2026", "cohort2026"],
  ["punctuation", "Churn-risk: high (>50%)!", "churn_risk_high_50"],
  ["blanks and signs at the ends", "  *new*  ", "new"],
  ["snake_case already", "already_snake_case", "already_snake_case"],
  ["several underscores", "a__b", "a_b"],
  ["letters with marks", "Café Größe Ängste", "café_größe_ängste"],
  ["marks as separate code points", "Cafe\u0301", "café"],
  ["other scripts", "Покупатели Москвы", "покупатели_москвы"],
  ["scripts without case", "日本の 顧客", "日本の_顧客"],
  ["marks of scripts that need them", "हिन्दी", "हिन्दी"],
  ["emoji", "🔥 hot leads 🔥", "hot_leads"],
  ["nothing to name", "!!! ???", ""],
];

describe("audienceKey", () => {
  test.each(CASES)("%s: %s", (_what, name, key) => {
    expect(audienceKey(name)).toBe(key);
  });

  test("a key is its own key", () => {
    for (const [, , key] of CASES) expect(audienceKey(key)).toBe(key);
  });
});
