import { describe, expect, it } from "vitest";
import { checkChanges } from "../../src/commands/apply/apply.js";
import { readDeclaredConfig } from "../../src/commands/apply/declared-config.js";
import { planChanges } from "../../src/commands/apply/plan-changes.js";

const options = { prune: false, setSecrets: false };
const hook = {
  id: "dst_1",
  version: 3,
  name: "Orders",
  type: "webhooks",
  enabled: true,
  sources: ["Shop"],
  settings: {
    webhooks: [{ url: "https://a.example/", headers: { "X-Team": "orders", Authorization: "••••••••" } }],
    sharedSecretSet: true,
    success: "any",
  },
};

describe("planned changes", () => {
  it("are none if the collector already matches", () => {
    const declared = [
      {
        name: "Orders",
        sources: ["Shop"],
        settings: {
          webhooks: [
            { url: "https://a.example/", headers: { "X-Team": "orders", Authorization: "Bearer x" } },
          ],
          sharedSecret: "hush",
        },
      },
    ];
    expect(planChanges("destinations", declared, [hook], options)).toEqual([]);
  });

  it("are none for a URL in another notation", () => {
    for (const url of ["https://a.example", "https://A.example:443/#part"]) {
      const declared = [{ name: "Orders", settings: { webhooks: [{ url }], sharedSecret: "hush" } }];
      expect(planChanges("destinations", declared, [hook], options)).toEqual([]);
    }
  });

  it("show no value of a custom header, whatever it is called and however much of the list is new", () => {
    const webhooks = [
      { url: "https://a.example/", headers: { "X-Auth": "hunter2", Cookie: "sid=hunter2" } },
      { url: "https://b.example/", headers: { "X-Team": "hunter2" } },
    ];
    for (const settings of [{ webhooks }, { webhooks: webhooks.slice(0, 1) }]) {
      const [change] = planChanges("destinations", [{ name: "Orders", settings }], [hook], {
        ...options,
        setSecrets: true,
      });
      if (change?.action !== "update") throw new Error("no update");
      const text = JSON.stringify(change.differences);
      expect(text).not.toContain("hunter2");
      expect(text).toContain("(hidden)");
      expect(JSON.stringify(change.fields)).toContain("hunter2");
    }
  });

  it("leave out secrets that are set if another setting differs", () => {
    const headers = { "X-Team": "sales", Authorization: "Bearer x" };
    const declared = [
      {
        name: "Orders",
        settings: { webhooks: [{ url: "https://a.example", headers }], sharedSecret: "hush" },
      },
    ];
    const [change] = planChanges("destinations", declared, [hook], options);
    if (change?.action !== "update") throw new Error("an update was expected");
    expect(change.differences.map(({ path }) => path)).toEqual(["settings.webhooks[0].headers.X-Team"]);
    expect(JSON.stringify(change.fields)).not.toMatch(/hush|Bearer/);
    const [again] = planChanges("destinations", declared, [hook], { ...options, setSecrets: true });
    expect(JSON.stringify(again)).toContain("hush");
    // The collector stores a header's value with its URL, so a new URL needs it.
    const moved = [{ name: "Orders", settings: { webhooks: [{ url: "https://b.example", headers }] } }];
    expect(JSON.stringify(planChanges("destinations", moved, [hook], options))).toContain("Bearer x");
  });

  it("name and send only the fields that differ", () => {
    const declared = [
      { name: "Orders", enabled: false, settings: { webhooks: [{ url: "https://b.example/" }] } },
    ];
    const [change] = planChanges("destinations", declared, [hook], options);
    expect(change).toMatchObject({
      action: "update",
      id: "dst_1",
      version: 3,
      fields: { enabled: false, settings: { webhooks: [{ url: "https://b.example/" }] } },
    });
    if (change?.action !== "update") throw new Error("an update was expected");
    expect(change.differences.map(({ path }) => path)).toEqual(["enabled", "settings.webhooks[0].url"]);
  });

  it("contain a secret that is not set, or all on request, but never show it", () => {
    const declared = [{ name: "Orders", settings: { sharedSecret: "hush" } }];
    const without = { ...hook, settings: { ...hook.settings, sharedSecretSet: false } };
    for (const changes of [
      planChanges("destinations", declared, [without], options),
      planChanges("destinations", declared, [hook], { ...options, setSecrets: true }),
    ]) {
      expect(changes).toHaveLength(1);
      const [change] = changes;
      if (change?.action !== "update") throw new Error("an update was expected");
      expect(JSON.stringify(change.differences)).not.toContain("hush");
    }
  });

  it("create missing items, and delete undeclared ones only on request", () => {
    const declared = [{ name: "New" }];
    const current = [{ id: "src_1", version: 1, name: "Old" }];
    expect(planChanges("sources", declared, current, options).map(({ action }) => action)).toEqual([
      "create",
    ]);
    expect(
      planChanges("sources", declared, current, { ...options, prune: true }).map(({ action }) => action),
    ).toEqual(["create", "delete"]);
    expect(planChanges("sources", undefined, current, { ...options, prune: true })).toEqual([]);
  });
});

describe("what cannot be changed of a source", () => {
  const source = { id: "src_1", version: 1, name: "Shop", kind: "web" };
  const current = { transformations: [], sources: [source], destinations: [], audiences: [] };
  const check = (declared: object): void =>
    checkChanges(planChanges("sources", [{ name: "Shop", ...declared }], [source], options), current);

  it("is refused in words", () => {
    expect(() => check({ kind: "server" })).toThrow("The kind of the source Shop is different");
    expect(() => check({ kind: "web" })).not.toThrow();
  });
});

describe("a declared configuration", () => {
  it("reads secrets from the environment", () => {
    const config = { destinations: [{ name: "a", settings: { sharedSecret: `$${"{HOOK_SECRET}"}` } }] };
    expect(readDeclaredConfig(config, { HOOK_SECRET: "hush" }).destinations?.[0]?.settings).toEqual({
      sharedSecret: "hush",
    });
    expect(() => readDeclaredConfig(config, {})).toThrow(
      /sharedSecret: the environment variable HOOK_SECRET/,
    );
  });

  it.each([
    ["a section that does not exist", { source: [] }, "source: unknown section"],
    ["a field that does not exist", { sources: [{ name: "a", colour: 1 }] }, "sources[0].colour"],
    ["a missing name", { sources: [{}] }, "sources[0]: must be an object with a name"],
    [
      "the same name twice",
      { sources: [{ name: "a" }, { name: "a" }] },
      "sources[1]: the name a is used twice",
    ],
    ["a list", [], "must be an object"],
  ])("is refused for %s", (_name, config, message) => {
    expect(() => readDeclaredConfig(config, {})).toThrow(message);
  });
});
