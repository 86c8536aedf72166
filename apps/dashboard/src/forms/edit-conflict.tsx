import { AdminError } from "@sluice/admin-client";
import { useState } from "react";
import { Button } from "../ui/controls/button.js";
import { Failure } from "../ui/feedback.js";
import { Icon } from "../ui/icon.js";

/** The edited parts of a resource, by the words that name them to the user. Equal values: nothing was changed. */
type Parts = Readonly<Record<string, unknown>>;

interface DraftParts<Thing, Draft> {
  /** The initial draft; of undefined: for a new resource. */
  draftOf(thing: Thing | undefined): Draft;
  partsOf(thing: Thing): Parts;
}

/** Somebody else changed the resource while the form was open. */
export interface RemoteChange<Thing> {
  readonly thing: Thing;
  /** The parts of the form that they changed. */
  readonly changed: readonly string[];
}

interface DraftOf<Thing, Draft> {
  readonly draft: Draft;
  change(part: Partial<Draft>): void;
  /** Send it with the save: the API refuses the save if the resource has another version by then. */
  readonly version: number | undefined;
  readonly remote: RemoteChange<Thing> | undefined;
  /** Replaces the draft with a version of the resource: the saved one, or the remote one. */
  reset(thing: Thing): void;
}

/**
 * The draft of a form about a resource that others may change meanwhile. An untouched form follows their changes. Once
 * the user has typed, the form keeps the input and reports the remote change. Changes outside the form are ignored.
 */
export function useDraft<Thing extends { readonly version: number }, Draft extends object>(
  latest: Thing | undefined,
  { draftOf, partsOf }: DraftParts<Thing, Draft>,
): DraftOf<Thing, Draft> {
  const begun = (base: Thing | undefined) => {
    const draft = draftOf(base);
    return { base, untouched: draft, draft };
  };
  const [state, setState] = useState(() => begun(latest));
  const reset = (thing: Thing) => setState(begun(thing));
  const remote = remoteChange(state.base, latest, partsOf);
  if (remote !== undefined && state.draft === state.untouched) {
    reset(remote.thing);
  }
  return {
    draft: state.draft,
    change: (part) => setState((last) => ({ ...last, draft: { ...last.draft, ...part } })),
    version: remote === undefined ? laterVersion(state.base, latest) : state.base?.version,
    remote,
    reset,
  };
}

/** The remote change, if `latest` is newer than `base` and differs in one of the parts. */
export function remoteChange<Thing extends { readonly version: number }>(
  base: Thing | undefined,
  latest: Thing | undefined,
  partsOf: (thing: Thing) => Parts,
): RemoteChange<Thing> | undefined {
  if (base === undefined || latest === undefined || latest.version <= base.version) return undefined;
  const [before, after] = [partsOf(base), partsOf(latest)];
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return changed.length === 0 ? undefined : { thing: latest, changed };
}

function laterVersion(
  base: { readonly version: number } | undefined,
  latest: { readonly version: number } | undefined,
): number | undefined {
  if (base === undefined || latest === undefined) return base?.version;
  return Math.max(base.version, latest.version);
}

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
