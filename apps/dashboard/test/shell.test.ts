import { createElement, type FunctionComponent } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { type BaseLocationHook, Router, type RouterOptions, useRoute } from "wouter";
import { addresses, decodedParams, escapedPath } from "../src/routing/addresses.js";
import { takeToken } from "../src/session/session.js";
import { NAVIGATION_ITEMS } from "../src/shell/navigation.js";
import { commandsFor } from "../src/shell/palette-commands.js";
import { onKey } from "../src/shell/shortcuts.js";
import { toggledTheme } from "../src/theme/theme.js";

/** The parameters that a page of `pattern` gets at `path`; undefined if it is not shown. */
function paramsAt(pattern: string, path: string): unknown {
  let found: unknown;
  const hook: BaseLocationHook = () => [escapedPath(path), () => {}];
  const Probe = () => {
    const [isMatch, params] = useRoute(pattern);
    const { 0: _positional, ...named } = params ?? {};
    found = isMatch ? decodedParams(named as Record<string, string>) : undefined;
    return null;
  };
  const AnyRouter = Router as FunctionComponent<RouterOptions>;
  renderToStaticMarkup(createElement(AnyRouter, { hook }, createElement(Probe)));
  return found;
}

test.each([
  ["/", "/", {}],
  ["/sources/:id", "/sources/src_1", { id: "src_1" }],
  ["/sources/:id", "/sources/src_1/", { id: "src_1" }],
  ["/messages/:id", `/messages/${encodeURIComponent("a/b?c#d %")}`, { id: "a/b?c#d %" }],
  ["/messages/:id", `/messages/${encodeURIComponent("a%2Fb %20")}`, { id: "a%2Fb %20" }],
  ["/sources/:id", "/sources", undefined],
  ["/sources/:id", "/sources/a/b", undefined],
  ["/messages/:id", "/messages/%E0%A4%A", undefined],
])("%s and %s", (pattern, path, params) => expect(paramsAt(pattern, path)).toEqual(params));

test("an id with any characters stays one segment", () => {
  const path = new URL(addresses.message("../x?y#z", "s&t"), "http://h").pathname;
  expect(paramsAt("/messages/:id", path)).toEqual({ id: "../x?y#z" });
});

function tab(href: string, kept?: string) {
  const replaced: string[] = [];
  const storage = new Map(kept === undefined ? [] : [["sluice.token", kept]]);
  const token = takeToken(
    { href },
    { replaceState: (_state, _title, url) => void replaced.push(String(url)) },
    { getItem: (key) => storage.get(key) ?? null, setItem: (key, value) => void storage.set(key, value) },
  );
  return { token, replaced, kept: storage.get("sluice.token") };
}

test.each([
  ["http://h/live?q=a&token=t1", "t1", ["/live?q=a"], "t1"],
  ["http://h/#token=t2", "t2", ["/"], "t2"],
  ["http://h/sources#token=t%2B3", "t+3", ["/sources"], "t+3"],
  ["http://h/live", undefined, [], undefined],
])("%s signs in once and leaves the address", (href, token, replaced, kept) => {
  expect(tab(href)).toEqual({ token, replaced, kept });
});

test("uses the tab's token unless the address contains a new one", () => {
  expect(tab("http://h/", "old").token).toBe("old");
  expect(tab("http://h/?token=new", "old")).toMatchObject({ token: "new", kept: "new" });
});

test("g and a key open a page; in a field only Ctrl shortcuts work", () => {
  const press = (key: string, more = {}) => ({
    key,
    ctrlOrMeta: false,
    alt: false,
    isTyping: false,
    ...more,
  });
  expect(onKey("none", press("g"))).toEqual({ state: "going" });
  for (const place of NAVIGATION_ITEMS) {
    expect(onKey("going", press(place.key)).action).toEqual({ kind: "go", href: place.href });
  }
  expect(onKey("going", press("q"))).toEqual({ state: "none" });
  expect(onKey("none", press("g", { isTyping: true }))).toEqual({ state: "none" });
  expect(onKey("none", press("k", { ctrlOrMeta: true, isTyping: true })).action).toEqual({ kind: "palette" });
});

test("all pages have different keys", () => {
  expect(new Set(NAVIGATION_ITEMS.map((place) => place.key)).size).toBe(NAVIGATION_ITEMS.length);
});

test("the palette finds pages, resources and actions, and offers searches", () => {
  const things = [
    { name: "Warehouse", href: "/destinations/d", icon: "destinations", kind: "Destination" },
  ] as const;
  const labels = (text: string) => commandsFor(text, things).map((command) => command.label);
  expect(labels("ware")).toEqual(["Warehouse", "Search messages for ware"]);
  expect(labels("dead letter type:track")).toEqual(["Search messages for dead letter type:track"]);
  expect(labels("gdpr")[0]).toBe("Deletions");
  expect(labels("")).toContain("Overview");
});

test("the toggle always switches to the other theme", () => {
  expect(toggledTheme("system", true)).toBe("light");
  expect(toggledTheme("system", false)).toBe("dark");
  expect(toggledTheme("dark", false)).toBe("light");
});
