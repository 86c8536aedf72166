import type { ReactNode } from "react";
import { Icon, type IconName } from "../icon.js";

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
