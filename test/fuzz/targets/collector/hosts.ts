import { isIP } from "node:net";
import { expect } from "vitest";
import { clientGroup } from "../../../../apps/collector/src/http/body/amounts-by-address.js";
import { isAllowedHost } from "../../../../apps/collector/src/http/routing.js";
import { textTarget } from "../../engine/target.js";

const ALLOWED = ["events.example.com", "*.internal"];

export const hosts = textTarget({
  name: "hosts",
  rule: "a Host header is accepted only if a browser could not reach a foreign name with it, and every client has one short group",
  runs: 2_000,
  alphabet: "text",
  dictionary: [
    "localhost",
    ".localhost",
    "events.example.com",
    ".internal",
    "[::1]",
    "127.0.0.1",
    ":8787",
    "::ffff:",
    "%eth0",
    "/64",
    "2001:db8::",
  ],
  maxLength: 120,
  check(text) {
    if (isAllowedHost(text, ALLOWED) && URL.canParse(`http://${text}/`)) {
      const name = new URL(`http://${text}/`).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
      const isOurs =
        isIP(name) !== 0 ||
        name === "localhost" ||
        name === "events.example.com" ||
        /\.(localhost|internal)$/.test(name);
      // A browser sends the name that its URL parser made of the address.
      if (new URL(`http://${text}/`).host === text.toLowerCase()) expect(isOurs, name).toBe(true);
    }
    const header = /^[!-~]*$/.test(text) && isAllowedHost(text, ALLOWED);
    if (header)
      expect(text.replace(/:\d*$/, ""), "as it was sent").toMatch(
        /^\[[^\]]*\]$|localhost\.?$|events\.example\.com\.?$|\.internal\.?$|^[\d.]+$|^[\da-f:.%\w]+$/i,
      );
    const group = clientGroup(text);
    expect(group.length).toBeLessThanOrEqual(64);
    expect(group).not.toContain("NaN");
    if (isIP(text) === 6) expect(clientGroup(`[${text}]:443`)).toBe(group);
  },
});
