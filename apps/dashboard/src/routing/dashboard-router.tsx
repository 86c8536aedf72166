import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { type BaseLocationHook, Router } from "wouter";
import { useBrowserLocation, useSearch } from "wouter/use-browser-location";
import { askBeforeLeaving } from "./leave-guard.js";
import { escapedPath } from "./path-encoding.js";
import { restoreScroll } from "./restore-scroll.js";
import { type ScrollPositions, scrollPositions } from "./scroll-positions.js";

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
