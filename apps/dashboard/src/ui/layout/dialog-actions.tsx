import type { ReactNode } from "react";
import { Button } from "../controls/button.js";
import type { IconName } from "../icon.js";

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
