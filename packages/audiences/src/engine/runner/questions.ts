import type { ProfileListView, ProfileSummaryView, UserValueView } from "@sluice/control-api";
import { BEFORE_FIRST, type EventLog, type Page, type PageRequest } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { AUDIENCE, COMPUTED_TRAIT } from "../../definitions/definitions.js";
import { explainValue } from "../questions/explain-value.js";
import type { Previewed, PreviewQuestion } from "../questions/preview.js";
import type { AudienceQuestions, Engine } from "./audiences.js";
import type { FreshReaders } from "./fresh-readers.js";
import { READ_LIMITS } from "./loop/loop-state.js";
import type { Progress } from "./loop/progress.js";

/** How long values and profiles are searched for to fill a page. */
const LONGEST_SEARCH_MS = 1_000;

export interface QuestionParts {
  readonly engine: Engine;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly progress: Progress;
  readonly readers: FreshReaders;
}

export function audienceQuestions(parts: QuestionParts): AudienceQuestions {
  const { engine, log, progress, readers } = parts;
  const urgent = (): Promise<void> => readers.wait({ isUrgent: true });
  const patient = (): Promise<void> => readers.wait({ isUrgent: false });
  return {
    async stats(id) {
      await patient();
      const found = (await engine.stats(progress.knownUpToMs)).find((one) => one.id === id);
      return found === undefined
        ? undefined
        : { size: found.size, status: { ...found.status, behind: progress.behind } };
    },
    async members(audienceId, page) {
      await patient();
      return engine.members(audienceId, page);
    },
    async why(audienceId, userId) {
      await urgent();
      return engine.why(audienceId, userId, progress.knownUpToMs);
    },
    async whyValue(traitId, userId) {
      await urgent();
      const reason = await engine.whyValue(traitId, userId, progress.knownUpToMs);
      return reason === undefined ? undefined : explainValue(log, reason);
    },
    async profile(userId) {
      await urgent();
      return engine.profile(userId);
    },
    async search(text, page) {
      await urgent();
      return search(parts, text, page);
    },
    preview: (condition, signal) => preview(parts, { kind: AUDIENCE, condition }, signal),
    async previewTrait(definition, signal) {
      const { sample, ...counts } = await preview(parts, { kind: COMPUTED_TRAIT, definition }, signal);
      return { ...counts, sample: sample.map((user) => ({ ...user, value: user.value })) };
    },
    async values(traitId, page) {
      await patient();
      return values(parts, traitId, page);
    },
    counted: urgent,
  };
}

async function preview(
  { engine, log, clock, progress, readers }: QuestionParts,
  question: PreviewQuestion,
  signal: AbortSignal,
): Promise<Previewed & { readonly tookMs: number }> {
  await readers.wait({ isUrgent: true });
  const startedMs = clock.monotonic();
  const { preview: id, needsHistory, upTo } = await engine.previewBegin(question, progress.knownUpToMs);
  try {
    let cursor = BEFORE_FIRST;
    while (needsHistory && cursor < upTo) {
      signal.throwIfAborted();
      cursor = await engine.previewHistory(id, await log.read(cursor, READ_LIMITS));
    }
    for (;;) {
      signal.throwIfAborted();
      const found = await engine.previewScan(id);
      if (found !== undefined) return { ...found, tookMs: clock.monotonic() - startedMs };
    }
  } finally {
    engine.previewEnd(id);
  }
}

async function values(
  { engine, clock }: QuestionParts,
  traitId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<UserValueView> | undefined> {
  const untilMs = clock.monotonic() + LONGEST_SEARCH_MS;
  const items: UserValueView[] = [];
  for (let after = cursor; ; ) {
    const wanted = { limit: limit - items.length, ...(after === undefined ? {} : { cursor: after }) };
    const page = await engine.values(traitId, wanted);
    if (page === undefined) return undefined;
    items.push(...page.items);
    after = page.nextCursor;
    if (after === undefined) return { items };
    if (items.length === limit || clock.monotonic() >= untilMs) return { items, nextCursor: after };
  }
}

async function search(
  { engine, clock }: QuestionParts,
  text: string,
  { limit, cursor }: PageRequest,
): Promise<ProfileListView> {
  const untilMs = clock.monotonic() + LONGEST_SEARCH_MS;
  const items: ProfileSummaryView[] = [];
  let searched = 0;
  for (let before = cursor; ; ) {
    const wanted = { limit: limit - items.length, ...(before === undefined ? {} : { cursor: before }) };
    const page = await engine.search(text, wanted);
    items.push(...page.items);
    searched += page.searched;
    before = page.nextCursor;
    const { total } = page;
    if (before === undefined) return { items, searched, total };
    if (items.length >= limit || clock.monotonic() >= untilMs)
      return { items, searched, total, nextCursor: before };
  }
}
