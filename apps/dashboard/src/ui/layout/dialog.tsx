import { Dialog as AriaDialog, DialogDismiss, DialogHeading } from "@ariakit/react";
import type { ReactNode } from "react";
import { Button } from "../controls/button.js";
import { Failure } from "../feedback.js";
import { Icon, type IconName } from "../icon.js";

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

/** The end of a dialog's form: Cancel, and the button that submits it. */
export function DialogActions({
  busy,
  disabled = false,
  icon,
  onCancel,
  children,
}: {
  busy: boolean;
  disabled?: boolean;
  icon?: IconName;
  onCancel: () => void;
  children: ReactNode;
}) {
  return (
    <div className="row dialog-actions">
      <Button onClick={onCancel}>Cancel</Button>
      <Button look="primary" type="submit" busy={busy} disabled={disabled} {...(icon && { icon })}>
        {children}
      </Button>
    </div>
  );
}

/** Asks before an action that cannot be undone. The button names the action. */
export function Confirm({
  open,
  title,
  children,
  action,
  busy,
  error,
  onConfirm,
  onClose,
}: {
  open: boolean;
  title: string;
  children: ReactNode;
  action: string;
  busy: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog open={open} onClose={onClose} title={title}>
      <div className="stack">
        <div className="soft">{children}</div>
        {error ? <Failure error={error} /> : null}
        <div className="row dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
