import { describe, expect, it } from "vitest";
import { type DestinationName, Ledger, type Receipt } from "./ledger.ts";
import { pageWith } from "./results-page.ts";
import { type AttemptMade, type Facts, judge, repeatedMessages, type StoredMessage } from "./verdict.ts";

/** Six messages of one user: everything as it should be. Message 13 does not exist here, so no message is refused. */
const IDS = ["a-0", "a-1", "a-2", "a-3", "a-4", "a-5"];
const USER = "a-u0";
const NOTICE = "n-1";

interface Told {
  readonly ledger: Ledger;
  facts: Facts;
}

function receipt(destination: DestinationName, messageId: string, atMs: number, attempt = 1): Receipt {
  return { destination, messageId, userId: USER, atMs, attempt, status: 200, isUncertain: false };
}

function everythingRight(): Told {
  const ledger = new Ledger();
  const run = ledger.open("a", 1);
  Object.assign(run, { tracked: IDS.length, state: "closed", keptBelow: IDS.length });
  for (const [index, id] of IDS.entries()) {
    ledger.acknowledged.add(id);
    ledger.receipts.push(receipt("plain", id, index), receipt("ordered", id, index));
  }
  ledger.receipts.push(receipt("notices", NOTICE, 9));
  const outcomes = (["plain", "ordered"] as const).map((destination) => ({
    destination,
    state: "delivered",
  }));
  const facts: Facts = {
    stored: IDS.toReversed().map((messageId) => ({ messageId, userId: USER, outcomes })),
    notices: [
      {
        messageId: NOTICE,
        userId: USER,
        outcomes: [{ destination: "notices", state: "delivered" }],
      },
    ],
    attempts: new Map(),
    listedAsFailed: [],
    counts: {
      storedMessages: 7,
      usageAccepted: 6,
      usageDelivered: 12,
      accepted: 6,
      ended: new Map([
        ["plain delivered", 6],
        ["ordered delivered", 6],
        ["notices delivered", 1],
      ]),
    },
    isFirstProcess: true,
    hasAudience: true,
  };
  return { ledger, facts };
}

const withoutReceipts = (ledger: Ledger, gone: (receipt: Receipt) => boolean): void => {
  const kept = ledger.receipts.filter((one) => !gone(one));
  ledger.receipts.splice(0, Number.POSITIVE_INFINITY, ...kept);
};
const changeStored = (told: Told, change: (stored: StoredMessage[]) => StoredMessage[]): void => {
  told.facts = { ...told.facts, stored: change([...told.facts.stored]) };
};
const again = (ledger: Ledger, atMs: number, attempt = 2): void =>
  void ledger.receipts.push(receipt("plain", "a-2", atMs, attempt));

it("finds nothing when every promise was kept", () => {
  const { ledger, facts } = everythingRight();
  expect(judge(ledger, facts)).toMatchObject({ findings: [], lost: 0, repeated: 0, acknowledged: 6 });
});

describe("an attempt whose time was over", () => {
  const timeout = (attempt: number) => ({ attempt, latencyMs: 5_001, error: { code: "timeout" } });
  const delivered = (attempt: number) => ({ attempt, latencyMs: 3, status: 200 });
  const attempts = (...made: readonly AttemptMade[]) => new Map([["plain a-2", made]]);

  it("allows one repetition", () => {
    const { ledger, facts } = everythingRight();
    again(ledger, 100);
    const told = { ...facts, attempts: attempts(timeout(1), delivered(2)) };
    expect(repeatedMessages(ledger)).toMatchObject([{ destination: "plain", messageId: "a-2" }]);
    expect(judge(ledger, told)).toMatchObject({ findings: [], repeated: 1, mostRepeats: 0 });
    again(ledger, 200);
    expect(judge(ledger, told).findings).toHaveLength(1);
  });

  it("allows one also if its request is received after the next one", () => {
    const { ledger, facts } = everythingRight();
    again(ledger, 0, 2);
    ledger.receipts.unshift(...ledger.receipts.splice(-1));
    const told = { ...facts, attempts: attempts(timeout(1), delivered(2)) };
    expect(judge(ledger, told)).toMatchObject({ findings: [], repeated: 1, mostRepeats: 0 });
  });

  it("allows none for another attempt", () => {
    const { ledger, facts } = everythingRight();
    again(ledger, 100);
    again(ledger, 200, 3);
    const told = { ...facts, attempts: attempts(timeout(1), delivered(2), timeout(3)) };
    expect(judge(ledger, told).findings).toHaveLength(1);
  });

  it("allows another one if an answer was lost within it", () => {
    const { ledger, facts } = everythingRight();
    again(ledger, 100, 1);
    again(ledger, 200, 2);
    const told = { ...facts, attempts: attempts(timeout(1), delivered(2)) };
    expect(judge(ledger, told).findings).toHaveLength(1);
    for (const one of ledger.receipts) if (one.messageId === "a-2") one.isUncertain = one.atMs < 100;
    expect(judge(ledger, told)).toMatchObject({ findings: [], repeated: 1, mostRepeats: 0 });
  });
});

it("allows a repetition for each kill and for each answer that may be lost", () => {
  const { ledger, facts } = everythingRight();
  again(ledger, 100);
  ledger.interruptions.push({ atMs: 52, overMs: 99 });
  expect(judge(ledger, facts)).toMatchObject({
    findings: [],
    repeated: 1,
    mostRepeats: 1,
    oldestRepeatMs: 50,
  });

  const second = everythingRight();
  again(second.ledger, 100);
  for (const one of second.ledger.receipts) if (one.messageId === "a-2") one.isUncertain = true;
  expect(judge(second.ledger, second.facts)).toMatchObject({ findings: [], repeated: 1, mostRepeats: 0 });
});

it.each<[check: string, breakIt: (told: Told) => void]>([
  [
    "acknowledged, but neither delivered nor listed as failed",
    (told) => {
      changeStored(told, (stored) => stored.filter(({ messageId }) => messageId !== "a-3"));
      withoutReceipts(told.ledger, ({ messageId }) => messageId === "a-3");
    },
  ],
  ["stored twice", (told) => changeStored(told, (stored) => [...stored, ...stored.slice(0, 1)])],
  [
    "not exactly one final outcome at each destination",
    (told) =>
      changeStored(told, ([first, ...rest]) => [{ ...(first as StoredMessage), outcomes: [] }, ...rest]),
  ],
  [
    "the outcome is not what the receiver answered",
    ({ ledger }) =>
      withoutReceipts(ledger, ({ messageId, destination }) => destination === "plain" && messageId === "a-1"),
  ],
  [
    "failed, but not listed as failed (or the reverse)",
    (told) => {
      told.facts = { ...told.facts, listedAsFailed: ["plain a-1"] };
    },
  ],
  ["received, but never sent", ({ ledger }) => void ledger.receipts.push(receipt("plain", "a-6", 50))],
  ["repeated more often than kills, timeouts and lost answers explain", ({ ledger }) => again(ledger, 50)],
  [
    "repeated more often than kills, timeouts and lost answers explain",
    ({ ledger }) => {
      // The kill came before the message was delivered for the first time.
      ledger.interruptions.push({ atMs: 0, overMs: 1 });
      again(ledger, 50);
    },
  ],
  [
    "out of order for its user",
    ({ ledger }) => {
      withoutReceipts(
        ledger,
        ({ messageId, destination }) => destination === "ordered" && messageId === "a-1",
      );
      ledger.receipts.push(receipt("ordered", "a-1", 60));
    },
  ],
  [
    "neither stored nor reported as lost by the SDK",
    ({ ledger }) => {
      const run = ledger.runs.get("a");
      if (run !== undefined) run.tracked = 7;
    },
  ],
  [
    "the SDK had it on disk, but it never arrived",
    ({ ledger }) => {
      const run = ledger.runs.get("a");
      if (run !== undefined) run.keptBelow = 7;
    },
  ],
  [
    "an audience's notice is missing or too many",
    (told) => {
      told.facts = { ...told.facts, notices: [...told.facts.notices, ...told.facts.notices] };
    },
  ],
  [
    "counters do not add up",
    (told) => {
      told.facts = { ...told.facts, counts: { ...told.facts.counts, usageAccepted: 5 } };
    },
  ],
  ["a request differs from what was sent", ({ ledger }) => void ledger.differences.push("a-1: other")],
])("finds: %s", (check, breakIt) => {
  const told = everythingRight();
  breakIt(told);
  expect(judge(told.ledger, told.facts).findings.map((finding) => finding.check)).toContain(check);
});

describe("the page of the results", () => {
  const PAGE =
    "# Chaos\n\n<!-- table -->\nold\n\nabout the old\n<!-- end -->\n\nA cluster:\n\n<!-- cluster table -->\nold too\n<!-- end -->\n\nThe end.\n";
  const NOTHING = { table: undefined, skipped: [] };
  const RUN = {
    ...{ rounds: 20, seed: 7, isShort: false, isCutShort: false, store: undefined },
    ...{ date: "2026-11-23", machine: ["Node.js 24", "(a CPU for $1)"] },
  };

  it("gets the table of a cluster, and keeps everything else", () => {
    const table = "| a | b |\n|---|---|\n| kill $& | 0 |";
    expect(
      pageWith(PAGE, { table: NOTHING, "cluster table": { table, skipped: ["full-disk: not root"] } }, RUN),
    ).toBe(
      PAGE.replace(
        "\nold too\n",
        () =>
          `\n\nMade with \`npm run chaos -- --store replicated --rounds 20 --seed 7\` on 2026-11-23:\nNode.js 24\n(a CPU for $1).\n\n${table}\n\nLeft out on this machine:\n\n- full-disk: not root\n\n`,
      ),
    );
  });

  it("gets both tables, again and again, and says how they were made", () => {
    const both = (text: string) => ({
      table: { table: text, skipped: [] },
      "cluster table": { table: `${text} of the cluster`, skipped: [] },
    });
    const run = { ...RUN, store: "memory", isShort: true, isCutShort: true };
    const once = pageWith(PAGE, both("first"), run);
    const twice = pageWith(once, both("second"), run);
    expect(twice).toBe(once.replaceAll("first", "second"));
    expect(twice).toContain("`npm run chaos -- --store memory --rounds 20 --seed 7 --short`");
    expect(twice).toContain("It was ended before it had played all rounds.");
    expect(twice).not.toContain("old");
  });

  it("is not written if its marks are gone", () => {
    const tables = { table: { table: "new", skipped: [] }, "cluster table": NOTHING };
    expect(() => pageWith("# Chaos\n", tables, RUN)).toThrow("<!-- table -->");
  });
});
