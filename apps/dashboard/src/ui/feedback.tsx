import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { Link } from "wouter";
import { useAudiences, useComputedTraits } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { errorWords } from "../words/errors.js";
import { Button } from "./controls/button.js";
import { CodeText } from "./data/code-block.js";
import { Icon, type IconName } from "./icon.js";

/** An empty list: what will be here, and how to get it. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      {children && <div className="empty-text">{children}</div>}
      {action && <div className="row empty-action">{action}</div>}
    </div>
  );
}

/** An error in one sentence, with the API's error code. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const words = errorWords(error);
  return (
    <div className="failure" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>
          <CodeText text={words.title} />
        </strong>
        {words.detail && (
          <p>
            <CodeText text={words.detail} />
            {words.about && (
              <>
                {" "}
                <DefinitionLinks ids={words.about} />
              </>
            )}
          </p>
        )}
        {words.code && <p className="small mono">{words.code}</p>}
      </div>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  );
}

/** Links to audiences and computed traits, by name. */
function DefinitionLinks({ ids }: { ids: readonly string[] }) {
  const audiences = useAudiences().data ?? [];
  const traits = useComputedTraits().data ?? [];
  return ids.map((id, index) => {
    const trait = traits.find((one) => one.id === id);
    const name = trait?.name ?? audiences.find((one) => one.id === id)?.name ?? id;
    return (
      <span key={id}>
        {index > 0 && ", "}
        <Link href={trait === undefined ? addresses.audience(id) : addresses.computedTrait(id)}>{name}</Link>
      </span>
    );
  });
}

interface NoticeText {
  readonly id: number;
  readonly text: string;
}

const NoticeContext = createContext<(text: string) => void>(() => {});

/** Confirms an action for a few seconds: `notify("Saved")`. Errors are shown beside the control instead. */
export function useNotify(): (text: string) => void {
  return useContext(NoticeContext);
}

export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<NoticeText | undefined>();
  const notify = useCallback((text: string) => setNotice((last) => ({ id: (last?.id ?? 0) + 1, text })), []);
  useEffect(() => {
    if (notice === undefined) return;
    const timer = setTimeout(() => setNotice(undefined), 4_000);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <NoticeContext value={notify}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {notice && (
          <div className="notice" key={notice.id}>
            <Icon name="check" />
            {notice.text}
          </div>
        )}
      </div>
    </NoticeContext>
  );
}

/** Grey lines in place of text that is loading, so that the page does not move later. */
export function Skeleton({ lines = 4, of = "text" }: { lines?: number; of?: "text" | "facts" }) {
  return (
    <div
      className={of === "facts" ? "skeleton skeleton-facts" : "skeleton"}
      role="status"
      aria-label="Loading"
    >
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all lines are equal
        <span key={index} />
      ))}
    </div>
  );
}

/** The part of a React Query result that is shown. */
export interface ShownQuery<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isError: boolean;
  refetch(): unknown;
}

/** The error of a query, a skeleton while it loads, or its data. */
export function QueryView<T>({
  query,
  skeleton = <Skeleton />,
  canRetry = false,
  children,
}: {
  query: ShownQuery<T>;
  skeleton?: ReactNode;
  canRetry?: boolean;
  children: (data: T) => ReactNode;
}) {
  if (query.isError)
    return <Failure error={query.error} {...(canRetry && { onRetry: () => void query.refetch() })} />;
  if (query.data === undefined) return skeleton;
  return children(query.data);
}
