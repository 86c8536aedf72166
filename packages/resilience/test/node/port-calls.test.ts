import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { type PortClientOptions, PortClosed, portClient, type ServeOptions, serve } from "../../src/node.js";

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

interface Failure {
  readonly code: string;
}

function connect<Api extends object>(
  api: Api,
  {
    server,
    client,
  }: { server?: ServeOptions<Api, Failure>; client?: PortClientOptions<Failure, string> } = {},
) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  return {
    server: serve<Api, Failure, string>(port1, api, server),
    client: portClient<Api, Failure, string>(port2, client),
    closeServer: () => port1.close(),
  };
}

describe("calls over a port", () => {
  it("returns what the method returns, at once or in a promise", async () => {
    const { client } = connect({
      add: (a: number, b: number) => a + b,
      read: async (name: string) => ({ name, bytes: new Uint8Array([1, 2]) }),
    });
    const results = await Promise.all([client.call("add", [1, 2]), client.call("read", ["a"])]);
    expect(results).toEqual([3, { name: "a", bytes: new Uint8Array([1, 2]) }]);
    expect(client.pending).toBe(0);
  });

  it("calls methods of the object that is served", async () => {
    class Counter {
      #count = 0;
      add(by: number): number {
        this.#count += by;
        return this.#count;
      }
    }
    const { client } = connect(new Counter());
    expect([await client.call("add", [2]), await client.call("add", [3])]).toEqual([2, 5]);
  });

  it("answers each call by its id when the answers come out of order", async () => {
    let endSlow = (): void => {};
    const { client } = connect({
      slow: () => new Promise<string>((resolve) => (endSlow = () => resolve("slow"))),
      fast: () => "fast",
    });
    const slow = client.call("slow", []);
    expect(await client.call("fast", [])).toBe("fast");
    expect(client.pending).toBe(1);
    endSlow();
    expect(await slow).toBe("slow");
  });

  it("rejects with the message of what the method threw", async () => {
    const { client } = connect({
      fail: () => Promise.reject(new RangeError("too large")),
    });
    await expect(client.call("fail", [])).rejects.toThrow("too large");
  });

  it("carries failures as the data that both sides agree on", async () => {
    class Coded extends Error {
      readonly code: string;
      constructor(code: string) {
        super(code);
        this.code = code;
      }
    }
    const { client } = connect(
      {
        fail: () => {
          throw new Coded("not_found");
        },
      },
      {
        server: { toFailure: async (error) => ({ code: (error as Coded).code }) },
        client: { toError: ({ code }) => new Coded(code) },
      },
    );
    await expect(client.call("fail", [])).rejects.toMatchObject({ code: "not_found" });
    await expect(client.call("fail", [])).rejects.toBeInstanceOf(Coded);
  });

  it("fails a call whose method does not exist", async () => {
    const { client } = connect({} as { absent(): void });
    await expect(client.call("absent", [])).rejects.toThrow("No method is called absent");
  });

  it("moves what is in the transfer list", async () => {
    const { client } = connect({ sizeOf: (bytes: Uint8Array) => bytes.byteLength });
    const bytes = new Uint8Array(1_000);
    const size = client.call("sizeOf", [bytes], [bytes.buffer]);
    expect(bytes.byteLength).toBe(0);
    expect(await size).toBe(1_000);
  });

  it("fails only the call where an argument cannot be cloned", async () => {
    const { client } = connect({ echo: (value: unknown): unknown => value, name: () => "still here" });
    await expect(client.call("echo", [() => {}])).rejects.toThrow(/could not be cloned/);
    expect(client.pending).toBe(0);
    expect(await client.call("name", [])).toBe("still here");
  });

  it("fails only the call whose result cannot be cloned", async () => {
    const { client } = connect({ make: (): unknown => () => {}, name: () => "still here" });
    await expect(client.call("make", [])).rejects.toThrow(/could not be cloned/);
    expect(await client.call("name", [])).toBe("still here");
  });

  it("delivers notices in their place between answers", async () => {
    const seen: string[] = [];
    const { client, server } = connect(
      {
        work: () => {
          server.notify("half way");
          return "done";
        },
      },
      { client: { onNotice: (notice) => seen.push(notice) } },
    );
    seen.push(await client.call("work", []));
    expect(seen).toEqual(["half way", "done"]);
  });

  it("closes the port after the answer to the last method", async () => {
    const api = { close: async () => "closed", name: () => "open" };
    const { client } = connect(api, { server: { lastMethod: "close" } });
    expect(await client.call("close", [])).toBe("closed");
    await expect(client.call("name", [])).rejects.toBeInstanceOf(PortClosed);
  });

  it("rejects what is pending when the port closes, and every later call", async () => {
    const { client, closeServer } = connect({ never: () => new Promise<void>(() => {}) });
    const calls = Promise.allSettled([client.call("never", []), client.call("never", [])]);
    closeServer();
    const errors = (await calls).map((call) => (call.status === "rejected" ? call.reason : undefined));
    expect(errors.map((error: PortClosed) => error.isOldest)).toEqual([true, false]);
    await expect(client.call("never", [])).rejects.toBeInstanceOf(PortClosed);
    expect(client.pending).toBe(0);
  });
});

describe("calls to a worker", () => {
  const start = (source: string): Worker =>
    new Worker(`const { parentPort } = require("node:worker_threads"); ${source}`, { eval: true });

  it("rejects every pending call when the worker dies, with the worker's error as the cause", async () => {
    const worker = start(`parentPort.once("message", () => { throw new RangeError("boom"); });`);
    const client = portClient<{ work(): void }>(worker);
    const calls = Promise.allSettled([client.call("work", []), client.call("work", [])]);
    const [first, second] = (await calls).map((call) =>
      call.status === "rejected" ? call.reason : undefined,
    );
    expect(first).toMatchObject({ name: "PortClosed", isOldest: true, cause: { message: "boom" } });
    expect(second).toMatchObject({ name: "PortClosed", isOldest: false });
  });

  it("rejects pending calls when the worker is terminated", async () => {
    const worker = start(`parentPort.on("message", () => {});`);
    const client = portClient<{ work(): void }>(worker);
    const call = client.call("work", []);
    const rejected = expect(call).rejects.toBeInstanceOf(PortClosed);
    await worker.terminate();
    await rejected;
  });
});
