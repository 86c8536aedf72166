import type { ReactNode } from "react";
import { Button } from "../controls/button.js";
import { Failure } from "../feedback/failure.js";
import { Dialog } from "./dialog.js";

/** Asks before something that cannot be taken back, and says in its button what will happen. */
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
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
