import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { type BaseLocationHook, Router } from "wouter";
import { useBrowserLocation, useSearch } from "wouter/use-browser-location";
import { escapedPath } from "./addresses.js";
import { askBeforeLeaving } from "./leave-guard.js";

/** The page must reach its former length within this time. */
const RESTORED_WITHIN_MS = 3_000;
/** Input that ends the restoring: the user scrolls. */
const USER_INPUT = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** Restores the scroll position after Back and Forward, as soon as the page is long enough. Returns a function that stops it. */
function restoreScroll(positions: ScrollPositions): () => void {
  // The browser restores it too early, before the page has its data.
  history.scrollRestoration = "manual";
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  const keep = () => {
    // While restoring, the page scrolls through positions that are not the user's.
    if (frame === 0) positions.keep("page", scrollY);
  };
  const restore = () => {
    stop();
    const wanted = positions.recall("page");
    const top = typeof wanted === "number" ? wanted : 0;
    const untilMs = performance.now() + RESTORED_WITHIN_MS;
    const scroll = () => {
      scrollTo(0, top);
      const isThere = Math.abs(scrollY - top) <= 1 || performance.now() > untilMs;
      frame = isThere ? 0 : requestAnimationFrame(scroll);
    };
    frame = requestAnimationFrame(scroll);
  };
  const release = () => {
    history.scrollRestoration = "auto";
  };
  addEventListener("scroll", keep, { passive: true });
  addEventListener("popstate", restore);
  addEventListener("pagehide", release);
  for (const event of USER_INPUT) addEventListener(event, stop, { passive: true });
  return () => {
    stop();
    release();
    removeEventListener("scroll", keep);
    removeEventListener("popstate", restore);
    removeEventListener("pagehide", release);
    for (const event of USER_INPUT) removeEventListener(event, stop);
  };
}

const ScrollPositionsContext = createContext<ScrollPositions | undefined>(undefined);

/** wouter, plus the scroll positions for Back and Forward. A link opens a page at its top; `replace` adds no history entry. */
export function DashboardRouter({ children }: { children: ReactNode }) {
  const [positions] = useState(() => scrollPositions(history));
  useEffect(() => restoreScroll(positions), [positions]);
  const navigate = useCallback(
    (go: (to: string, options?: object) => void, to: string, options?: { readonly replace?: boolean }) => {
      if (options?.replace) return go(to, { replace: true, state: history.state });
      askBeforeLeaving(to, () => {
        go(to, { state: positions.newEntry() });
        scrollTo(0, 0);
      });
    },
    [positions],
  );
  return (
    <ScrollPositionsContext value={positions}>
      <Router hook={useEscapedPath} aroundNav={navigate}>
        {children}
      </Router>
    </ScrollPositionsContext>
  );
}

const useEscapedPath: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation();
  return [escapedPath(path), navigate];
};

/** The query parameters of the address. wouter's own `useSearchParams` decodes them twice. */
export function useAddressQuery(): URLSearchParams {
  const search = useSearch();
  return useMemo(() => new URLSearchParams(search), [search]);
}

export function useScrollPositions(): ScrollPositions {
  const positions = useContext(ScrollPositionsContext);
  if (positions === undefined) throw new Error("useScrollPositions outside of DashboardRouter");
  return positions;
}

/** The scroll positions of the entries in the browser's history, since the dashboard was loaded. */
interface ScrollPositions {
  /** Stores a position of the current history entry. */
  keep(name: string, position: unknown): void;
  /** The stored position of the current history entry. Undefined: none, as after following a link. */
  recall(name: string): unknown;
  /** The state for a new history entry. */
  newEntry(): object;
}

function scrollPositions(browser: Pick<History, "state">): ScrollPositions {
  const positions = new Map<string, unknown>();
  const key = (name: string): string => `${entryOf(browser.state)} ${name}`;
  // A reload keeps the history but not this map, so the keys must not repeat.
  const loaded = Date.now();
  let entries = 0;
  return {
    keep: (name, position) => void positions.set(key(name), position),
    recall: (name) => positions.get(key(name)),
    newEntry: () => {
      entries += 1;
      return { entry: `${loaded}-${entries}` };
    },
  };
}

function entryOf(state: unknown): string {
  if (typeof state !== "object" || state === null || !("entry" in state)) return "first";
  return String(state.entry);
}
