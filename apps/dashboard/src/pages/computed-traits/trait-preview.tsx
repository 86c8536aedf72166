import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApi } from "../../api/api-context.js";
import type { ControlApi } from "../../api/control-api.js";
import { useSettled } from "../../forms/use-settled.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { Failure } from "../../ui/failure.js";
import { count, counted } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";
import { previewValue } from "./preview-value.js";
import { isComplete, type TraitDefinition, usersWithValue } from "./trait-draft.js";

/** Users whose values are worked out, and events of each that are looked at: the newest. */
const SAMPLE_USERS = 5;
const SAMPLE_EVENTS = 200;

/** What the trait would be for some users, while it is being written. */
export function TraitPreview({ definition }: { definition: TraitDefinition }) {
  const api = useApi();
  const settled = useSettled(definition);
  const preview = useQuery({
    queryKey: ["trait-preview", settled],
    queryFn: ({ signal }) => previewOf(api, settled, signal),
    enabled: isComplete(settled),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <section className="trait-preview" aria-label="Preview" aria-live="polite" aria-busy={preview.isFetching}>
      {!isComplete(definition) ? (
        <p className="soft">Complete it to see what it would be.</p>
      ) : preview.isError ? (
        <Failure error={preview.error} />
      ) : preview.data === undefined ? (
        <p className="soft">Counting…</p>
      ) : (
        <>
          <p>
            <strong className="number">{count(preview.data.size)}</strong>{" "}
            <span className="soft">
              of {counted(preview.data.evaluated, "profile")} would have a value now
            </span>
          </p>
          <ValueList values={preview.data.sample} />
        </>
      )}
    </section>
  );
}

export interface UserValue {
  readonly userId: string;
  readonly value: unknown;
  /** Only the newest events were looked at. */
  readonly isPart?: boolean;
}

/** Some users with their value. */
export function ValueList({
  values,
  onUser,
}: {
  values: readonly UserValue[];
  onUser?: (userId: string) => ReactNode;
}) {
  return (
    <ul className="value-list">
      {values.map(({ userId, value, isPart }) => (
        <li key={userId}>
          <Link className="mono grow" href={addresses.profile(userId)}>
            {visibleText(userId, 60)}
          </Link>
          <span className="number" title={isPart ? `of the newest ${SAMPLE_EVENTS} events` : undefined}>
            {value === undefined ? <span className="faint">none</span> : visibleValue(value, 120)}
            {isPart && <span className="faint"> or more</span>}
          </span>
          {onUser?.(userId)}
        </li>
      ))}
    </ul>
  );
}

async function previewOf(api: ControlApi, definition: TraitDefinition, signal: AbortSignal) {
  const { size, evaluated, sample } = await api.audiences.preview(usersWithValue(definition), signal);
  const users = sample.flatMap(({ userId }) => userId ?? []).slice(0, SAMPLE_USERS);
  const values = users.map(async (userId): Promise<UserValue> => {
    const page = await api.messages.list({
      userId,
      type: "track",
      event: definition.event,
      limit: SAMPLE_EVENTS,
    });
    const events = page.items.map(({ message, receivedAt }) => ({
      atMs: Date.parse(String(message.timestamp ?? receivedAt)),
      properties: message.properties,
    }));
    return {
      userId,
      value: previewValue(definition, events, Date.now()),
      isPart: page.nextCursor !== undefined,
    };
  });
  return { size, evaluated, sample: await Promise.all(values) };
}
