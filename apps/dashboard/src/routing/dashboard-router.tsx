import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { type BaseLocationHook, Router } from "wouter";
import { useBrowserLocation, useSearch } from "wouter/use-browser-location";
import { keepScroll } from "./keep-scroll.js";
import { escapedPath } from "./path-encoding.js";
import { type Places, placesOf } from "./places.js";

const PlacesContext = createContext<Places | undefined>(undefined);

/** wouter, plus the scroll positions for Back and Forward. A link opens a page at its top; `replace` adds no history entry. */
export function DashboardRouter({ children }: { children: ReactNode }) {
  const [places] = useState(() => placesOf(history));
  useEffect(() => keepScroll(places), [places]);
  const navigate = useCallback(
    (go: (to: string, options?: object) => void, to: string, options?: { readonly replace?: boolean }) => {
      if (options?.replace) return go(to, { replace: true, state: history.state });
      go(to, { state: places.newStep() });
      scrollTo(0, 0);
    },
    [places],
  );
  return (
    <PlacesContext value={places}>
      <Router hook={useEscapedPath} aroundNav={navigate}>
        {children}
      </Router>
    </PlacesContext>
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

export function usePlaces(): Places {
  const places = useContext(PlacesContext);
  if (places === undefined) throw new Error("usePlaces outside of DashboardRouter");
  return places;
}
