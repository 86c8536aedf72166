import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { Icon } from "../icon.js";

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
