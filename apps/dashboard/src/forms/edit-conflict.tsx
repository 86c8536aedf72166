import { AdminError } from "@sluice/admin-client";
import { Button } from "../ui/controls/button.js";
import { Failure } from "../ui/feedback/failure.js";
import { Icon } from "../ui/icon.js";
import type { RemoteChange } from "./use-draft.js";

/** How a save went wrong, or that somebody else changed the thing meanwhile: then whoever fills in the form chooses. */
export function EditConflict<Thing>({
  error,
  theirs,
  busy,
  onTheirs,
  onMine,
}: {
  /** Of the last save; null: none. */
  error: unknown;
  theirs: RemoteChange<Thing> | undefined;
  busy: boolean;
  /** What was typed is given up for theirs. */
  onTheirs: (thing: Thing) => void;
  /** What was typed is saved upon theirs. */
  onMine: (thing: Thing) => void;
}) {
  const isRefused = error instanceof AdminError && error.status === 409;
  const isOther = Boolean(error) && !(isRefused && theirs !== undefined);
  return (
    <>
      {isOther && <Failure error={error} />}
      {theirs !== undefined && (
        <div className="changed-elsewhere" role="alert">
          <Icon name="alert" />
          <div className="grow stack-tight">
            <div>
              <strong>
                {isRefused ? "Not saved: somebody changed this meanwhile" : "Somebody changed this meanwhile"}
              </strong>
              <p>
                They changed {listed(theirs.changed)}. What you wrote is still here; saving it replaces what
                they wrote.
              </p>
            </div>
            <div className="row">
              <Button size="small" onClick={() => onTheirs(theirs.thing)}>
                Take theirs
              </Button>
              <Button size="small" busy={busy} onClick={() => onMine(theirs.thing)}>
                Save mine on top
              </Button>
            </div>
          </div>
        </div>
      )}
    </>
  );
}

/** The same of a form whose draft is `useDraft`'s. */
export function DraftConflict<Thing extends { readonly version: number }>({
  save,
  theirs,
  begin,
}: {
  /** Of the version that the draft is to replace. */
  save: { error: unknown; isPending: boolean; reset(): void; mutate(version: number): void };
  theirs: RemoteChange<Thing> | undefined;
  begin: (thing: Thing) => void;
}) {
  return (
    <EditConflict
      error={save.error}
      theirs={theirs}
      busy={save.isPending}
      onTheirs={(thing) => {
        save.reset();
        begin(thing);
      }}
      onMine={({ version }) => save.mutate(version)}
    />
  );
}

function listed(words: readonly string[]): string {
  const [last, ...others] = words.toReversed();
  return others.length === 0 ? (last ?? "") : `${others.toReversed().join(", ")} and ${last}`;
}
