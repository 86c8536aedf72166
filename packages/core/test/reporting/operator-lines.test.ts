import { describe, expect, it } from "vitest";
import { testEngine } from "../doubles/test-engine.js";

const URL = "http://127.0.0.1:8787/v1/batch";

describe("the lines for the operator", () => {
  it("say after the second failed attempt where it sends and that it keeps trying, once", async () => {
    const { engine, clock, track, runDue, warnings } = testEngine({}, { script: ["fail"] });
    track();
    void engine.flush();
    await runDue();
    expect(warnings).toEqual([]);
    await clock.advance(150);
    const line = `[sluice] Sending to ${URL} failed 2 times: connection reset. The SDK keeps trying. \`quiet: true\` hides this line.`;
    expect(warnings).toEqual([line]);
    await clock.advance(60_000);
    track();
    void engine.flush();
    await clock.advance(60_000);
    expect(warnings).toEqual([line]);
  });

  it("say at the end what was lost, if nobody was told", async () => {
    const { engine, clock, track, warnings } = testEngine({ onError: undefined }, { script: ["fail"] });
    track(3);
    const closed = engine.close(1_000);
    await clock.advance(1_000);
    await closed;
    expect(warnings).toHaveLength(2);
    expect(warnings[1]).toBe(
      `[sluice] 3 messages were lost, on the way to ${URL}: Not delivered before the deadline of close(). Set \`onError\` to handle losses. \`quiet: true\` hides this line.`,
    );
  });

  it("say it when the process ends at once, too", () => {
    const { engine, track, warnings } = testEngine({ onError: undefined });
    track();
    engine.endNow();
    expect(warnings).toEqual([expect.stringContaining("1 message was lost")]);
  });

  it.each(["onError", "a listener"])("do not repeat what %s was told", async (who) => {
    const { engine, clock, track, warnings } = testEngine(who === "onError" ? {} : { onError: undefined }, {
      script: ["fail"],
    });
    if (who === "a listener") engine.on("failed", () => {});
    track();
    const closed = engine.close(1_000);
    await clock.advance(1_000);
    await closed;
    expect(warnings).toEqual([expect.stringContaining("keeps trying")]);
  });

  it("are not printed with `quiet`", async () => {
    const { engine, clock, track, warnings } = testEngine(
      { onError: undefined, quiet: true },
      { script: ["fail", "fail", 401] },
    );
    track();
    const closed = engine.close(1_000);
    await clock.advance(1_000);
    await closed;
    expect(warnings).toEqual([]);
  });

  it("are not printed if the second attempt succeeds", async () => {
    const { engine, clock, track, warnings } = testEngine({ onError: undefined }, { script: ["fail", 200] });
    track();
    const closed = engine.close(10_000);
    await clock.advance(10_000);
    expect(await closed).toMatchObject({ delivered: 1 });
    expect(warnings).toEqual([]);
  });
});
