import { Dialog as AriaDialog, DialogDismiss, DialogHeading } from "@ariakit/react";
import type { ReactNode } from "react";
import { Icon } from "../icon.js";

/** A modal dialog. It traps the focus and returns it on close. Escape and a press outside close it. */
export function Dialog({
  open,
  onClose,
  title,
  side = "middle",
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  side?: "middle" | "left";
  children: ReactNode;
}) {
  return (
    <AriaDialog
      open={open}
      onClose={onClose}
      className={`dialog dialog-${side}`}
      backdrop={<div className="backdrop" />}
      unmountOnHide
    >
      <header className="dialog-head">
        <DialogHeading className="dialog-title">{title}</DialogHeading>
        <DialogDismiss className="icon-button" aria-label="Close">
          <Icon name="close" />
        </DialogDismiss>
      </header>
      <div className="dialog-body">{children}</div>
    </AriaDialog>
  );
}
