import type { ReactNode } from "react";
import { Button } from "../controls/button.js";
import { Failure } from "../feedback.js";
import { Dialog } from "./dialog.js";

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
