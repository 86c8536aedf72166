import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { startTestCollector, type TestCollector } from "../../src/testing.js";

let collector: TestCollector | undefined;
afterEach(async () => {
  await collector?.close();
  collector = undefined;
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** `fetch` does not send a `Host` header of one's own. */
function ask(address: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(address, { headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    asking.on("error", reject);
    asking.end();
  });
}

const TLS_PROXY = {
  host: "events.example.com",
  "x-forwarded-for": "203.0.113.7",
  "x-forwarded-proto": "https",
};
const SEGMENT = "Segment.io";

describe("the settings of browsers", () => {
  const settings = async (headers: Readonly<Record<string, string>> = {}) => {
    const { url, writeKey } = collector as TestCollector;
    const answer = await ask(`${url}/v1/projects/${writeKey}/settings`, headers);
    const body = JSON.parse(answer.text);
    const { apiHost, protocol } = body.integrations?.[SEGMENT] ?? {};
    return {
      status: answer.status,
      says: `${protocol}://${apiHost}`,
      body,
      caching: answer.headers["cache-control"],
    };
  };

  test("name https behind a trusted proxy with TLS, and no cache keeps them for others", async () => {
    collector = await startTestCollector({ httpLimits: { trustedProxies: 1 } });
    expect(await settings(TLS_PROXY)).toMatchObject({
      says: "https://events.example.com/v1",
      caching: "private, max-age=120",
    });
  });

  test("ignore what anybody can send without a trusted proxy", async () => {
    collector = await startTestCollector();
    const { says } = await settings({ "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" });
    expect(says).toBe(`${collector.url}/v1`);
  });

  test("refuse a host that is none, and say which header", async () => {
    collector = await startTestCollector({ httpLimits: { trustedProxies: 1 } });
    const { status, body } = await settings({ "x-forwarded-host": "evil.example/path" });
    expect([status, body.code]).toEqual([400, "invalid_request"]);
    expect(body.message).toContain("X-Forwarded-Host");
  });

  test("name the public URL, whatever headers say", async () => {
    collector = await startTestCollector({ publicUrl: "https://example.com/events" });
    expect(await settings({ host: "evil.example/" })).toMatchObject({
      says: "https://example.com/events/v1",
      caching: "public, max-age=120",
    });
    expect(await collector.api("GET", "/info")).toMatchObject({ publicUrl: "https://example.com/events" });
  });
});

describe("the Host check", () => {
  test("accepts the name of the public URL", async () => {
    collector = await startTestCollector({ publicUrl: "https://events.example.com" });
    const { url } = collector;
    expect((await ask(`${url}/api/v1/openapi.json`, { host: "events.example.com" })).status).toBe(200);
    expect((await ask(`${url}/api/v1/openapi.json`, { host: "evil.example" })).status).toBe(403);
  });

  test("is not lifted by a header that a page can send", async () => {
    collector = await startTestCollector({ httpLimits: { trustedProxies: 1 } });
    const { url } = collector;
    const rebound = { host: "evil.example", "x-forwarded-host": "localhost" };
    expect((await ask(`${url}/api/v1/openapi.json`, rebound)).status).toBe(403);
    const foreign = { "x-forwarded-host": "evil.example" };
    expect((await ask(`${url}/api/v1/openapi.json`, foreign)).status).toBe(403);
  });

  test("the page of the API's documentation names the address under which it was requested", async () => {
    collector = await startTestCollector({
      allowedHosts: ["events.example.com"],
      httpLimits: { trustedProxies: 1 },
    });
    const { text } = await ask(`${collector.url}/api/v1/docs`, TLS_PROXY);
    expect(text).toContain("curl https://events.example.com/api/v1/info");
    expect(text).not.toContain("127.0.0.1:8787");
  });
});

describe("/metrics", () => {
  test("needs no token on the collector's machine, and one as soon as a request may come from elsewhere", async () => {
    collector = await startTestCollector({
      allowedHosts: ["*"],
      metricsToken: "metrics-token-0123456789",
      httpLimits: { trustedProxies: 1 },
    });
    const metrics = `${collector.url}/metrics`;
    expect((await ask(metrics)).text).toContain("sluice_ready 1");
    expect((await ask(metrics, { host: "localhost:9" })).status).toBe(200);
    const fromElsewhere: Record<string, string>[] = [
      TLS_PROXY,
      { host: "events.example.com" },
      { host: "127.evil.example" },
      { "x-forwarded-for": "127.0.0.1" },
      { forwarded: "for=127.0.0.1" },
      { "x-real-ip": "127.0.0.1" },
      { via: "1.1 proxy" },
    ];
    for (const headers of fromElsewhere) {
      const refused = await ask(metrics, headers);
      expect([headers, refused.status, refused.headers["www-authenticate"]]).toEqual([
        headers,
        401,
        'Bearer realm="sluice"',
      ]);
      expect(refused.text).toContain("SLUICE_METRICS_TOKEN");
      const allowed = { ...headers, authorization: "Bearer metrics-token-0123456789" };
      expect((await ask(metrics, allowed)).text).toContain("sluice_ready 1");
    }
  });

  test("takes any token; one for metrics opens nothing else", async () => {
    collector = await startTestCollector({ metricsToken: "metrics-token-0123456789" });
    const { url, adminToken } = collector;
    const created = (await collector.api("POST", "/tokens", { name: "prometheus", access: "metrics" })) as {
      token: string;
      id: string;
    };
    const read = (token: string, path = "/metrics") =>
      ask(`${url}${path}`, { "x-forwarded-for": "203.0.113.7", authorization: `Bearer ${token}` });
    for (const token of [adminToken, created.token, "metrics-token-0123456789"])
      expect((await read(token)).status).toBe(200);
    for (const token of [created.token, "metrics-token-0123456789"])
      for (const path of ["/info", "/sources", "/live", "/tokens"]) {
        const refused = await read(token, `/api/v1${path}`);
        expect([path, refused.status]).toEqual([path, 403]);
        expect(refused.text).toContain("only read /metrics");
      }
    await collector.api("DELETE", `/tokens/${created.id}`);
    expect((await read(created.token)).status).toBe(401);
    await expect(collector.api("DELETE", "/tokens/configured-metrics")).rejects.toThrow(
      "SLUICE_METRICS_TOKEN",
    );
  });

  test("takes HTTP/1.0 for a proxy without settings: nginx names the collector's own address in Host", async () => {
    collector = await startTestCollector({ allowedHosts: ["*"] });
    const { host, port } = new URL(collector.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`GET /metrics HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("makes those who guess wait", async () => {
    collector = await startTestCollector({ httpLimits: { trustedProxies: 1 } });
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++)
      statuses.push(
        (
          await ask(`${collector.url}/metrics`, {
            "x-forwarded-for": "203.0.113.7",
            authorization: `Bearer guess${i}`,
          })
        ).status,
      );
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });
});

describe("an address of its own for operators", () => {
  const ADMIN_LISTEN = { host: "127.0.0.1", port: 0 };

  test("leaves only ingestion and health at the public address", async () => {
    collector = await startTestCollector({ adminListen: ADMIN_LISTEN });
    const { url, adminUrl, writeKey, adminToken } = collector;
    expect(adminUrl).not.toBe(url);
    const authorization = `Bearer ${adminToken}`;
    const paths = [
      "/metrics",
      "/api/v1/info",
      "/api/v1/openapi.json",
      "/api/v1/docs",
      "/",
      "/live",
      "/messages",
    ];
    for (const path of paths) {
      const refused = await ask(`${url}${path}`, { authorization, accept: "text/html" });
      expect([path, refused.status]).toEqual([path, 404]);
      expect(JSON.parse(refused.text).code).toBe("not_found");
    }
    for (const path of ["/metrics", "/api/v1/info", "/api/v1/openapi.json"])
      expect([path, (await ask(`${adminUrl}${path}`, { authorization })).status]).toEqual([path, 200]);
    for (const base of [url, adminUrl]) {
      for (const path of ["/healthz", "/readyz", `/v1/projects/${writeKey}/settings`])
        expect([path, (await ask(`${base}${path}`)).status]).toEqual([path, 200]);
    }
    await collector.send({ type: "track", event: "Ordered", userId: "u1", messageId: "m1" });
    expect(await collector.api("GET", "/messages/m1")).toMatchObject({ messageId: "m1" });
    // Both addresses count in the same metrics.
    expect((await ask(`${adminUrl}/metrics`)).text).toMatch(
      /sluice_http_requests_total\{route="\/v1\/batch",status="200"\} 1/,
    );
  });

  test.each(["127.0.0.1", "0.0.0.0"])("checks the Host header, also when it listens on %s", async (host) => {
    collector = await startTestCollector({
      adminListen: { host, port: 0 },
      publicUrl: "https://events.example.com",
      allowedHosts: ["admin.example.com"],
    });
    const docs = `${collector.adminUrl}/api/v1/openapi.json`;
    expect((await ask(docs)).status).toBe(200);
    expect((await ask(docs, { host: "admin.example.com" })).status).toBe(200);
    expect((await ask(docs, { host: "evil.example" })).status).toBe(403);
    expect((await ask(docs, { host: "events.example.com" })).status).toBe(403);
  });

  test("without a free port neither address stays open", async () => {
    collector = await startTestCollector();
    const taken = Number(new URL(collector.url).port);
    const starting = startTestCollector({ adminListen: { host: "127.0.0.1", port: taken } });
    await expect(starting).rejects.toMatchObject({ code: "EADDRINUSE", port: taken });
  });

  test("closes both, and ends streams", async () => {
    collector = await startTestCollector({ adminListen: ADMIN_LISTEN });
    const { url, adminUrl, adminToken } = collector;
    const live = await fetch(`${adminUrl}/api/v1/live`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    const reading = live.text();
    await collector.close();
    collector = undefined;
    await reading;
    for (const base of [url, adminUrl]) await expect(fetch(`${base}/healthz`)).rejects.toThrow();
  });
});
