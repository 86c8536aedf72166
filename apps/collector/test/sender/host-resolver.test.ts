import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { ResolvedAddress } from "../../src/sender/checked-connector.js";
import { hostResolver } from "../../src/sender/host-resolver.js";

const at = (address: string): readonly ResolvedAddress[] => [{ address, family: 4 }];

/** A resolver whose name server answers when the test says so. */
function open() {
  const clock = manualClock();
  const asked: { host: string; answer(address: string): void; fail(code: string): void }[] = [];
  const resolve = hostResolver({
    clock,
    lookup: (host) =>
      new Promise((done, reject) => {
        asked.push({
          host,
          answer: (address) => done(at(address)),
          fail: (code) => reject(Object.assign(new Error(code), { code })),
        });
      }),
  });
  const turn = () => new Promise((done) => setImmediate(done));
  /** The name servers' answer to the nth question, from 0. */
  const answer = async (nth: number, address: string): Promise<void> => {
    asked[nth]?.answer(address);
    await turn();
  };
  return { clock, resolve, asked, answer, turn, hosts: () => asked.map(({ host }) => host) };
}

describe("a name", () => {
  it("is looked up once for concurrent callers, and again after five seconds", async () => {
    const { clock, resolve, answer, hosts } = open();
    const all = Promise.all([resolve("a"), resolve("a"), resolve("a")]);
    await answer(0, "198.41.0.4");
    expect(await all).toEqual([at("198.41.0.4"), at("198.41.0.4"), at("198.41.0.4")]);
    await clock.advance(4_999);
    expect(await resolve("a")).toEqual(at("198.41.0.4"));
    expect(hosts()).toEqual(["a"]);
    await clock.advance(1);
    const later = resolve("a");
    await answer(1, "198.41.0.5");
    expect(await later).toEqual(at("198.41.0.5"));
  });

  it("that failed is looked up again at once", async () => {
    const { resolve, asked, answer } = open();
    const first = resolve("a");
    asked[0]?.fail("ENOTFOUND");
    await expect(first).rejects.toMatchObject({ code: "ENOTFOUND" });
    const second = resolve("a");
    await answer(1, "198.41.0.4");
    expect(await second).toEqual(at("198.41.0.4"));
  });

  it.each([
    ["is late", async ({ clock }: ReturnType<typeof open>) => clock.advance(500)],
    ["cannot be had now", async ({ asked }: ReturnType<typeof open>) => asked[1]?.fail("EAI_AGAIN")],
  ])("is where it was when the answer %s, but not ten minutes later", async (_name, trouble) => {
    const opened = open();
    const { clock, resolve, answer } = opened;
    void resolve("a");
    await answer(0, "198.41.0.4");
    await clock.advance(60_000);
    const second = resolve("a");
    await trouble(opened);
    expect(await second).toEqual(at("198.41.0.4"));
    await clock.advance(10 * 60_000);
    let ended = false;
    resolve("a").then(
      () => {
        ended = true;
      },
      () => {},
    );
    await clock.advance(60_000);
    expect(ended).toBe(false);
  });

  it("that no longer exists is not answered from the cache", async () => {
    const { clock, resolve, asked, answer } = open();
    void resolve("a");
    await answer(0, "198.41.0.4");
    await clock.advance(60_000);
    const second = resolve("a");
    asked[1]?.fail("ENOTFOUND");
    await expect(second).rejects.toMatchObject({ code: "ENOTFOUND" });
  });
});

describe("names whose name server does not answer", () => {
  it("wait for each other, and do not delay other names, once they are known as slow", async () => {
    const { clock, resolve, asked, hosts, answer, turn } = open();
    // Each fails late for a first time, as the system gives up on it.
    for (const host of ["slow-1", "slow-2", "slow-3"]) {
      const failed = resolve(host).catch(() => undefined);
      await clock.advance(2_000);
      asked.at(-1)?.fail("EAI_AGAIN");
      await failed;
    }
    for (const host of ["slow-1", "slow-2", "slow-3"]) resolve(host).catch(() => {});
    await turn();
    expect(hosts().slice(3)).toEqual(["slow-1"]);
    const quick = resolve("quick");
    await answer(4, "198.41.0.4");
    expect(await quick).toEqual(at("198.41.0.4"));
    asked[3]?.fail("EAI_AGAIN");
    await turn();
    expect(hosts().slice(5)).toEqual(["slow-2"]);
  });

  it("leave a place to other names while two of them are looked up for the first time", async () => {
    const { clock, resolve, hosts, answer, turn } = open();
    for (const host of ["hangs-1", "hangs-2"]) resolve(host).catch(() => {});
    const well = resolve("well");
    await turn();
    expect(hosts()).toEqual(["hangs-1", "hangs-2"]);
    await clock.advance(500);
    await answer(2, "198.41.0.4");
    expect(await well).toEqual(at("198.41.0.4"));
    // Still no more than three are under way: the fourth thread syncs files.
    for (const host of ["hangs-3", "next"]) resolve(host).catch(() => {});
    await turn();
    await clock.advance(1_000);
    expect(hosts()).toEqual(["hangs-1", "hangs-2", "well", "hangs-3"]);
  });

  it("take at most two places while unknown, and count as quick again after a quick answer", async () => {
    const { clock, resolve, hosts, answer, turn } = open();
    for (const host of ["a", "b", "c"]) void resolve(host);
    await turn();
    expect(hosts()).toEqual(["a", "b"]);
    await clock.advance(1_000);
    await answer(0, "198.41.0.4");
    expect(hosts()).toEqual(["a", "b", "c"]);
    await answer(2, "198.41.0.4");
    await clock.advance(6_000);
    // It was slow and is asked in the slow names' place; then it answers at once.
    void resolve("a");
    await turn();
    await answer(3, "198.41.0.4");
    await clock.advance(6_000);
    for (const host of ["a", "c"]) void resolve(host);
    await turn();
    expect(hosts().slice(4).sort()).toEqual(["a"]);
  });
});
