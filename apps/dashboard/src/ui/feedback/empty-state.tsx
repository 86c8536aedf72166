import type { ReactNode } from "react";
import { Icon, type IconName } from "../icon.js";

/** A list with nothing in it says what will be there and what to do for it. */
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
