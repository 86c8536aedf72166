import { useState } from "react";

/** The edited parts of a resource, by the words that name them to the user. Equal values: nothing was changed. */
export type Parts = Readonly<Record<string, unknown>>;

export interface DraftParts<Thing, Draft> {
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

export interface DraftOf<Thing, Draft> {
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
