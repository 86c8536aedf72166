import type { ComputedTraitDefinition, UserValueView } from "@sluice/protocol";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDebounced } from "../../forms/use-debounced.js";
import { addresses } from "../../routing/addresses.js";
import { Failure } from "../../ui/feedback/failure.js";
import { count, counted, duration } from "../../words/numbers.js";
import { visibleText, visibleValue } from "../../words/visible-text.js";
import { isComplete } from "./trait-draft.js";

/** What the trait would be for some users, while it is being written. */
export function TraitPreview({ definition }: { definition: ComputedTraitDefinition }) {
  const api = useApi();
  const settled = useDebounced(definition);
  const preview = useQuery({
    queryKey: ["trait-preview", settled],
    queryFn: ({ signal }) => api.computedTraits.preview(settled, signal),
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
              of {counted(preview.data.evaluated, "profile")} would have a value now, found in{" "}
              {duration(preview.data.tookMs)}
            </span>
          </p>
          <ValueList values={preview.data.sample} />
        </>
      )}
    </section>
  );
}

/** Users with their value. */
export function ValueList({
  values,
  onUser,
}: {
  values: readonly UserValueView[];
  onUser?: (userId: string) => ReactNode;
}) {
  return (
    <ul className="value-list">
      {values.map(({ userId, anonymousId, value }) => {
        const id = userId ?? anonymousId ?? "";
        return (
          <li key={`${userId === undefined} ${id}`}>
            <Link className="mono grow" href={addresses.profile(id)}>
              {visibleText(userId ?? `${id} (anonymous)`, 60)}
            </Link>
            <span className="number">{visibleValue(value, 120)}</span>
            {onUser?.(id)}
          </li>
        );
      })}
    </ul>
  );
}
