import { useState } from "react";

/** What a form edits of a thing, in words that can be told: the same words, the same values, nothing was changed. */
export type Parts = Readonly<Record<string, unknown>>;

export interface DraftParts<Thing, Draft> {
  /** The draft that a form begins with; of undefined: for something new. */
  draftOf(thing: Thing | undefined): Draft;
  partsOf(thing: Thing): Parts;
}

/** A change that somebody else made while a form was being filled in. */
export interface RemoteChange<Thing> {
  readonly thing: Thing;
  /** What they changed of that which the form edits. */
  readonly changed: readonly string[];
}

export interface DraftOf<Thing, Draft> {
  readonly draft: Draft;
  change(part: Partial<Draft>): void;
  /** The version that a save names: if the thing has another by then, it is refused. */
  readonly version: number | undefined;
  readonly theirs: RemoteChange<Thing> | undefined;
  /** Begins anew with a thing: with what was saved, or with theirs. */
  begin(thing: Thing): void;
}

/**
 * What is typed into a form about something that others may change meanwhile. As long as nothing was typed the form follows them.
 * Then it keeps what was typed, and says what they changed; a change that the form does not show is none for it.
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
  const begin = (thing: Thing) => setState(begun(thing));
  const theirs = newerOf(state.base, latest, partsOf);
  if (theirs !== undefined && state.draft === state.untouched) {
    begin(theirs.thing);
  }
  return {
    draft: state.draft,
    change: (part) => setState((last) => ({ ...last, draft: { ...last.draft, ...part } })),
    version: theirs === undefined ? laterVersion(state.base, latest) : state.base?.version,
    theirs,
    begin,
  };
}

/** The thing as it is now, where it is newer than `base` and differs in one of the parts. */
export function newerOf<Thing extends { readonly version: number }>(
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
