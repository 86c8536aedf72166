import { type ReactNode, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { keepScroll } from "./keep-scroll.js";
import { placesOf } from "./places.js";
import { type Router, RouterContext } from "./router.js";

const NAVIGATED = "sluice:navigated";

/** Keeps pages and the browser's address in step. */
export function RouterProvider({ children }: { children: ReactNode }) {
  const href = useSyncExternalStore(watchAddress, () => location.pathname + location.search);
  const [places] = useState(() => placesOf(history));
  useEffect(() => keepScroll(places), [places]);
  const navigate = useCallback<Router["navigate"]>(
    (target, how = "push") => {
      if (how === "push") history.pushState(places.newStep(), "", target);
      else history.replaceState(history.state, "", target);
      dispatchEvent(new Event(NAVIGATED));
      if (how === "push") scrollTo(0, 0);
    },
    [places],
  );
  const router = useMemo<Router>(() => {
    const url = new URL(href, location.origin);
    return { address: { path: url.pathname, query: url.searchParams }, navigate, places };
  }, [href, navigate, places]);
  return <RouterContext value={router}>{children}</RouterContext>;
}

function watchAddress(onChange: () => void): () => void {
  addEventListener("popstate", onChange);
  addEventListener(NAVIGATED, onChange);
  return () => {
    removeEventListener("popstate", onChange);
    removeEventListener(NAVIGATED, onChange);
  };
}
