import { describe, expect, it } from "vitest";
import {
  type AnalyticsOptions,
  ConfigError,
  DEFAULTS,
  goDefaults,
  resolveOptions,
  rubyDefaults,
} from "../../src/index.js";

function resolved(options: object, environment: Record<string, string> = {}) {
  return resolveOptions({ writeKey: "k", ...options } as AnalyticsOptions, environment);
}

describe("options", () => {
  it("has the documented defaults", () => {
    expect(resolved({})).toMatchObject({
      batchUrl: "http://127.0.0.1:8787/v1/batch",
      flushPolicy: { kind: "batched", flushAt: 20, flushAfterMs: 5_000 },
      batchMessages: 100,
      maxQueueMessages: 10_000,
      maxQueueBytes: 33_554_432,
      maxInFlight: 1,
      requestTimeoutMs: 10_000,
      maxRetries: 10,
      maxTotalRetryMs: 43_200_000,
      gzip: false,
      stub: false,
    });
  });

  it("accepts `size` for `flushAt` and `endpoint` for `host`", () => {
    expect(resolved({ size: 7 }).flushPolicy.flushAt).toBe(7);
    expect(resolved({ endpoint: "https://a.example" }).batchUrl).toBe("https://a.example/v1/batch");
  });

  it("sends one message per request if flushAt is 1, and only then", () => {
    expect(resolved({ flushAt: 1 }).batchMessages).toBe(1);
    expect(resolved({ flushAt: 2 }).batchMessages).toBe(100);
  });

  it("flushes a full queue if flushAt is above its size", () => {
    expect(resolved({ flushAt: 500, maxQueueSize: 50 }).flushPolicy.flushAt).toBe(50);
  });

  it("has presets with the values of the other libraries", () => {
    expect(resolved(goDefaults).flushPolicy).toEqual({ kind: "batched", flushAt: 20, flushAfterMs: 5_000 });
    expect(goDefaults.flushAt).toBe(DEFAULTS.flushAt);
    expect(resolved(rubyDefaults)).toMatchObject({
      flushPolicy: { kind: "eager" },
      batchMessages: 100,
      maxQueueMessages: 10_000,
    });
  });

  it("copies context and integrations", () => {
    const context = { app: "a" };
    const options = resolved({ context });
    context.app = "b";
    expect(options.context).toEqual({ app: "a" });
  });

  it.each<[name: string, options: object, option: string]>([
    ["no key", { writeKey: undefined }, "writeKey"],
    ["an empty key", { writeKey: " " }, "writeKey"],
    ["a key that is no text", { writeKey: 5 }, "writeKey"],
    ["flushAt 0", { flushAt: 0 }, "flushAt"],
    ["flushAt as text", { flushAt: "20" }, "flushAt"],
    ["size 1.5", { size: 1.5 }, "size"],
    ["flushAt and size", { flushAt: 20, size: 20 }, "size"],
    ["flushAfter below 0", { flushAfter: -1 }, "flushAfter"],
    ["flushAfter NaN", { flushAfter: Number.NaN }, "flushAfter"],
    ["an unknown policy", { flushPolicy: "lazy" }, "flushPolicy"],
    ["batchSize 0", { batchSize: 0 }, "batchSize"],
    ["batchSize over the API's limit", { batchSize: 2_501 }, "batchSize"],
    ["maxQueueSize 0", { maxQueueSize: 0 }, "maxQueueSize"],
    ["maxQueueBytes below one message", { maxQueueBytes: 32_767 }, "maxQueueBytes"],
    ["maxInFlight 9", { maxInFlight: 9 }, "maxInFlight"],
    ["a timeout of 0", { requestTimeoutMs: 0 }, "requestTimeoutMs"],
    ["maxRetries -1", { maxRetries: -1 }, "maxRetries"],
    ["maxTotalRetryMs Infinity", { maxTotalRetryMs: Number.POSITIVE_INFINITY }, "maxTotalRetryMs"],
    ["gzip as text", { gzip: "yes" }, "gzip"],
    ["disable as text", { disable: "true" }, "disable"],
    ["quiet as a number", { quiet: 1 }, "quiet"],
    ["beforeSend as text", { beforeSend: "redact" }, "beforeSend"],
    ["a list with something that is no function", { beforeSend: [() => null, null] }, "beforeSend"],
    ["an openTelemetry that is not the API", { openTelemetry: {} }, "openTelemetry"],
    ["no time for beforeSend", { beforeSendTimeoutMs: 0 }, "beforeSendTimeoutMs"],
    ["stub as a number", { stub: 1 }, "stub"],
    ["onError as text", { onError: "log" }, "onError"],
    ["context as a list", { context: [] }, "context"],
    ["integrations as text", { integrations: "All" }, "integrations"],
    ["a transport without send", { transport: {} }, "transport"],
    ["an instrument that is none", { instrument: 1 }, "instrument"],
    ["host and endpoint", { host: "https://a.example", endpoint: "https://a.example" }, "endpoint"],
    ["a host that is no URL", { host: "localhost:8787" }, "host"],
    ["a host of another scheme", { host: "ftp://a.example" }, "host"],
    ["a host with a query", { host: "https://a.example/?x=1" }, "host"],
    ["an empty host", { host: "" }, "host"],
    ["dublin without a URL", { host: "dublin" }, "host"],
    ["an unknown region", { regions: { paris: "https://a.example" } }, "regions"],
    ["a region's bad URL", { regions: { oregon: "nowhere" } }, "regions.oregon"],
  ])("refuses %s, naming the option", (_name, options, option) => {
    let thrown: unknown;
    try {
      resolved(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect(thrown).toMatchObject({ name: "ConfigError", option });
    expect(String(thrown)).toContain(`\`${option}\``);
  });

  it("takes one beforeSend or several", () => {
    const hook = () => null;
    expect(resolved({ beforeSend: hook }).beforeSend).toEqual([hook]);
    expect(resolved({ beforeSend: [hook, hook] }).beforeSend).toEqual([hook, hook]);
    expect(resolved({}).beforeSend).toEqual([]);
  });

  it("does not show the password of a URL", () => {
    expect(() => resolved({ host: "https://user:secret@a.example" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
  });

  it("refuses options that are not an object", () => {
    expect(() => resolveOptions(undefined as unknown as AnalyticsOptions)).toThrow(ConfigError);
  });
});

describe("host", () => {
  it.each<[host: string | undefined, url: string]>([
    [undefined, "http://127.0.0.1:8787/v1/batch"],
    ["oregon", "http://127.0.0.1:8787/v1/batch"],
    ["https://c.example", "https://c.example/v1/batch"],
    ["https://c.example/", "https://c.example/v1/batch"],
    ["https://c.example/v1", "https://c.example/v1/batch"],
    ["https://c.example/v1/", "https://c.example/v1/batch"],
    ["https://c.example:444/ingest", "https://c.example:444/ingest/v1/batch"],
    ["https://c.example/ingest/v1/", "https://c.example/ingest/v1/batch"],
    ["https://c.example/av1", "https://c.example/av1/v1/batch"],
    ["http://[::1]:8787", "http://[::1]:8787/v1/batch"],
  ])("%s is %s", (host, url) => {
    expect(resolved({ host }).batchUrl).toBe(url);
  });

  it("prefers the option to the environment for a region's URL", () => {
    const environment = {
      SLUICE_DUBLIN_URL: "https://env.example/v1/",
      SLUICE_OREGON_URL: "https://us.example",
    };
    expect(resolved({ host: "dublin" }, environment).batchUrl).toBe("https://env.example/v1/batch");
    expect(resolved({}, environment).batchUrl).toBe("https://us.example/v1/batch");
    const regions = { dublin: "https://option.example" };
    expect(resolved({ host: "dublin", regions }, environment).batchUrl).toBe(
      "https://option.example/v1/batch",
    );
  });
});

describe("the environment", () => {
  const environment = { SLUICE_WRITE_KEY: "from-env", SLUICE_URL: "https://env.example/v1" };
  const inEnvironment = (options: object, variables: Record<string, string> = environment) =>
    resolveOptions(options as AnalyticsOptions, variables);

  it("has the write key and the URL, if the options have none", () => {
    expect(inEnvironment({})).toMatchObject({
      writeKey: "from-env",
      batchUrl: "https://env.example/v1/batch",
    });
    expect(inEnvironment({ writeKey: undefined }).writeKey).toBe("from-env");
  });

  it("is beaten by the options", () => {
    expect(inEnvironment({ writeKey: "k", host: "https://a.example" })).toMatchObject({
      writeKey: "k",
      batchUrl: "https://a.example/v1/batch",
    });
    expect(inEnvironment({ endpoint: "https://a.example" }).batchUrl).toBe("https://a.example/v1/batch");
    expect(inEnvironment({ regions: { oregon: "https://us.example" } }).batchUrl).toBe(
      "https://us.example/v1/batch",
    );
  });

  it("SLUICE_URL beats SLUICE_OREGON_URL, which is for those who name the region", () => {
    const both = { ...environment, SLUICE_OREGON_URL: "https://us.example" };
    expect(inEnvironment({}, both).batchUrl).toBe("https://env.example/v1/batch");
    expect(inEnvironment({ host: "oregon" }, both).batchUrl).toBe("https://us.example/v1/batch");
  });

  it("counts an empty variable as not set", () => {
    expect(inEnvironment({ writeKey: "k" }, { SLUICE_URL: "" }).batchUrl).toBe(
      "http://127.0.0.1:8787/v1/batch",
    );
  });

  it.each<[name: string, options: object, variables: Record<string, string>, message: string]>([
    [
      "no key at all",
      {},
      {},
      "Option `writeKey` must be a non-empty string: pass it, or set SLUICE_WRITE_KEY in the environment, got undefined",
    ],
    [
      "an empty key, even if the environment has one",
      { writeKey: "" },
      environment,
      'Option `writeKey` must be a non-empty string: pass it, or set SLUICE_WRITE_KEY in the environment, got ""',
    ],
    [
      "a blank variable",
      {},
      { SLUICE_WRITE_KEY: " " },
      'Environment variable `SLUICE_WRITE_KEY` must be a write key, got " "',
    ],
    [
      "a URL without its scheme",
      { writeKey: "k" },
      { SLUICE_URL: "localhost:8787" },
      'Environment variable `SLUICE_URL` must be an http or https URL without user, query and fragment, or the name of a region, got "localhost:8787"',
    ],
  ])("%s is an error that names the variable", (_name, options, variables, message) => {
    expect(() => inEnvironment(options, variables)).toThrow(
      expect.objectContaining({ name: "ConfigError", message }),
    );
  });
});
