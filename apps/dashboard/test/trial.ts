import type { Page } from "playwright-core";

type Json = Record<string, unknown>;
type Fn = (
  message: Json,
  context: { secrets: Json; log: Record<string, (text: unknown) => void> },
) => unknown;

/** Answers trials and dry runs in this process, so that a test of the page is none of the sandbox. */
export async function answerTrials(page: Page, stored: () => readonly Json[]): Promise<void> {
  await page.route("**/api/v1/transformations/test", async (route) => {
    const { code, messages, messageIds } = route.request().postDataJSON() as Json;
    const ids = (messageIds ?? []) as string[];
    const on = (messages as Json[]) ?? stored().filter(({ messageId }) => ids.includes(String(messageId)));
    await route.fulfill({ json: resultsOf(String(code), on) });
  });
  await page.route("**/api/v1/transformations/dry-run", async (route) => {
    const { code, messages } = route.request().postDataJSON() as Json;
    await route.fulfill({ json: countsOf(resultsOf(String(code), stored().slice(0, Number(messages)))) });
  });
}

interface Results {
  readonly error?: object;
  readonly results: readonly ReturnType<typeof resultOf>[];
}

function resultsOf(code: string, on: readonly Json[]): Results {
  try {
    const fn = new Function(code.replace("export default", "return"))() as Fn;
    return { results: on.map((message) => resultOf(fn, message)) };
  } catch (error) {
    return { error: { message: String(error), line: 2, column: 3 }, results: [] };
  }
}

function resultOf(fn: Fn, before: Json) {
  const logs: { level: string; text: string }[] = [];
  const to = (level: string) => (text: unknown) => void logs.push({ level, text: String(text) });
  const about = { messageId: String(before.messageId), before, logs };
  try {
    const log = { info: to("info"), warn: to("warn"), error: to("error") };
    const made = fn(structuredClone(before), { secrets: {}, log });
    if (made === null) return { ...about, result: "dropped" };
    const after = Array.isArray(made) ? made : [made];
    return {
      ...about,
      after,
      result: JSON.stringify(after) === JSON.stringify([before]) ? "same" : "changed",
    };
  } catch (error) {
    const place = {
      line: Number(/<anonymous>:(\d+)/.exec((error as Error).stack ?? "")?.[1] ?? 3) - 2,
      column: 3,
    };
    return {
      ...about,
      result: "failed",
      error: { code: "transform_failed", message: String(error), ...place },
    };
  }
}

function countsOf({ results, error }: Results) {
  const of = (kind: string) => results.filter(({ result }) => result === kind);
  const failed = of("failed");
  return {
    ...(error && { error }),
    messages: results.length,
    ...Object.fromEntries(["same", "changed", "dropped", "failed"].map((kind) => [kind, of(kind).length])),
    causes: failed.slice(0, 1).map((one) => ({
      ...(one as { error?: object }).error,
      count: failed.length,
      messageIds: failed.slice(0, 5).map(({ messageId }) => messageId),
    })),
    examples: results.filter(({ result }) => result !== "same").slice(0, 5),
    tookMs: 34,
  };
}
