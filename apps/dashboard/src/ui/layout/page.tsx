import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../controls/button.js";
import { Failure, QueryView, type ShownQuery, Skeleton } from "../feedback.js";
import { Icon } from "../icon.js";
import { Confirm } from "./dialog.js";

interface PageProps {
  readonly title: string;
  /** One sentence about the page. */
  readonly lead?: ReactNode;
  /** The parent page. */
  readonly up?: { readonly href: string; readonly label: string };
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** The frame of a page: the title of the browser tab and the only `h1`. */
export function Page({ title, lead, up, badge, actions, wide = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <div className={wide ? "page page-wide" : "page"}>
      <header className="page-head">
        <div className="grow">
          {up && (
            <Link className="page-up" href={up.href}>
              <Icon name="chevron" size={12} />
              {up.label}
            </Link>
          )}
          <div className="row">
            <h1 tabIndex={-1}>{title}</h1>
            {badge}
          </div>
          {lead && <p className="page-lead">{lead}</p>}
        </div>
        {actions && <div className="row page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  readonly title?: string;
  /** What the card counts or lists, since when, in which order. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly flush?: boolean;
  readonly children: ReactNode;
}

export function Card({ title, note, actions, flush = false, children }: CardProps) {
  return (
    <section className={flush ? "card card-flush" : "card"} aria-label={title}>
      {(title || actions) && (
        <header className="card-head">
          <div>
            {title && <h2>{title}</h2>}
            {note && <p className="card-note">{note}</p>}
          </div>
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The one list of a page: its error, a skeleton while it loads, the empty state, or the table that `children` renders. */
export function ListCard<T>({
  query,
  empty,
  children,
}: {
  query: ShownQuery<readonly T[]>;
  empty: ReactNode;
  children: (items: readonly T[]) => ReactNode;
}) {
  if (query.isError) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Card flush>
      <QueryView query={query}>{(items) => (items.length === 0 ? empty : children(items))}</QueryView>
    </Card>
  );
}

/** The page of one resource: a skeleton while it loads, its error, or `children`. */
export function ResourcePage<T>({
  kind,
  up,
  query,
  children,
}: {
  /** The title until the name is loaded. */
  kind: string;
  up: { readonly href: string; readonly label: string };
  query: { readonly data: T | undefined; readonly error: unknown; refetch(): unknown };
  children: (resource: T) => ReactNode;
}) {
  // Loaded data stays when a later call fails. The shell shows that the collector cannot be reached.
  if (query.data !== undefined) return children(query.data);
  return (
    <Page title={kind} up={up}>
      {query.error ? (
        <Failure error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <Card>
          <Skeleton />
        </Card>
      )}
    </Page>
  );
}

/** The last card of a resource's page: what deleting it means, and the button. */
export function DeleteCard({
  text,
  name,
  action,
  remove,
  resource,
  then,
}: {
  /** What is deleted and what stays. */
  text: ReactNode;
  name: string;
  /** The text of the button, for example `Delete source`. */
  action: string;
  remove: () => Promise<void>;
  /** The first part of the query keys to invalidate. */
  resource: string;
  /** The page to open afterwards. */
  then: string;
}) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const removal = useMutation({
    mutationFn: remove,
    onSuccess: async () => {
      navigate(then);
      await queries.invalidateQueries({ queryKey: [resource] });
    },
  });
  return (
    <Card title="Delete">
      <div className="row-apart">
        <p className="soft grow">{text}</p>
        <Button icon="deletions" onClick={() => setAsking(true)}>
          {action}
        </Button>
      </div>
      <Confirm
        open={isAsking}
        title={`Delete ${name}?`}
        action={action}
        busy={removal.isPending}
        error={removal.error}
        onClose={() => setAsking(false)}
        onConfirm={() => removal.mutate()}
      >
        {text}
      </Confirm>
    </Card>
  );
}
