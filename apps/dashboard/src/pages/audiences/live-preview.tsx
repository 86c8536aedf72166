import type { Condition } from "@sluice/protocol";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDebounced } from "../../forms/use-debounced.js";
import { addresses } from "../../routing/addresses.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Card } from "../../ui/layout/page.js";
import { count, counted, duration, percent } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";

/** Who would be in now, while the conditions are being built. */
export function LivePreview({ condition }: { condition: Condition | undefined }) {
  const api = useApi();
  const wanted = useDebounced(condition);
  const preview = useQuery({
    queryKey: ["audience-preview", wanted],
    queryFn: ({ signal }) => api.audiences.preview(wanted as Condition, signal),
    enabled: wanted !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <Card title="Who is in" note="Over all profiles, as they are now">
      <div className="preview" aria-live="polite" aria-busy={preview.isFetching}>
        {condition === undefined ? (
          <p className="soft">Complete the conditions to see who they hold for.</p>
        ) : preview.isError ? (
          <Failure error={preview.error} />
        ) : preview.data === undefined ? (
          <p className="soft">Counting…</p>
        ) : (
          <>
            <p className="preview-size number">{count(preview.data.size)}</p>
            <p className="soft">
              {preview.data.evaluated === 0
                ? "There are no profiles yet."
                : `${percent(preview.data.size / preview.data.evaluated)} of ${counted(preview.data.evaluated, "profile")}, in ${duration(preview.data.tookMs)}`}
            </p>
            {preview.data.sample.length > 0 && (
              <>
                <h3 className="preview-title">Some of them</h3>
                <ul className="preview-sample">
                  {preview.data.sample.map((member) => {
                    const id = member.userId ?? member.anonymousId ?? "";
                    return (
                      <li key={id} className="mono">
                        <Link href={addresses.profile(id)}>{visibleText(id, 60)}</Link>
                      </li>
                    );
                  })}
                </ul>
              </>
            )}
          </>
        )}
      </div>
    </Card>
  );
}
