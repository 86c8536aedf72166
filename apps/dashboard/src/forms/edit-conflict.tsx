import { AdminError } from "@sluice/admin-client";
import { Button } from "../ui/controls/button.js";
import { Failure } from "../ui/feedback.js";
import { Icon } from "../ui/icon.js";
import type { RemoteChange } from "./use-draft.js";

/** The error of a save. After a remote change it lets the user choose whose version wins. */
export function EditConflict<Thing>({
  error,
  remote,
  busy,
  by = "Someone else",
  onDiscard,
  onOverwrite,
}: {
  /** Of the last save; null: none. */
  error: unknown;
  remote: RemoteChange<Thing> | undefined;
  busy: boolean;
  /** Who changed it, if that is known. */
  by?: string | undefined;
  /** Replaces the user's input with the remote version. */
  onDiscard: (thing: Thing) => void;
  /** Saves the user's input over the remote version. */
  onOverwrite: (thing: Thing) => void;
}) {
  const isRefused = error instanceof AdminError && error.status === 409;
  const isOther = Boolean(error) && !(isRefused && remote !== undefined);
  return (
    <>
      {isOther && <Failure error={error} />}
      {remote !== undefined && (
        <div className="changed-elsewhere" role="alert">
          <Icon name="alert" />
          <div className="grow stack-tight">
            <div>
              <strong>
                {isRefused
                  ? "Not saved: this was changed while you were editing"
                  : "This was changed while you were editing"}
              </strong>
              <p>
                {by} changed {listed(remote.changed)}. Your changes are still here; saving them overwrites
                theirs.
              </p>
            </div>
            <div className="row">
              <Button size="small" onClick={() => onDiscard(remote.thing)}>
                Discard my changes
              </Button>
              <Button size="small" busy={busy} onClick={() => onOverwrite(remote.thing)}>
                Overwrite
              </Button>
            </div>
          </div>
        </div>
      )}
    </>
  );
}

/** The same for a form whose draft is from `useDraft`. */
export function DraftConflict<Thing extends { readonly version: number }>({
  save,
  remote,
  by,
  reset,
}: {
  /** `mutate` gets the version that the save replaces. */
  save: { error: unknown; isPending: boolean; reset(): void; mutate(version: number): void };
  remote: RemoteChange<Thing> | undefined;
  by?: string | undefined;
  reset: (thing: Thing) => void;
}) {
  return (
    <EditConflict
      error={save.error}
      remote={remote}
      by={by}
      busy={save.isPending}
      onDiscard={(thing) => {
        save.reset();
        reset(thing);
      }}
      onOverwrite={({ version }) => save.mutate(version)}
    />
  );
}

function listed(words: readonly string[]): string {
  const [last, ...others] = words.toReversed();
  return others.length === 0 ? (last ?? "") : `${others.toReversed().join(", ")} and ${last}`;
}
