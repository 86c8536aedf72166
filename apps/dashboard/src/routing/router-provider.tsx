import { type ReactNode, useCallback, useMemo, useSyncExternalStore } from "react";
import { type Router, RouterContext } from "./router.js";

const NAVIGATED = "sluice:navigated";

/** Keeps pages and the browser's address in step. */
export function RouterProvider({ children }: { children: ReactNode }) {
  const href = useSyncExternalStore(watchAddress, () => location.pathname + location.search);
  const navigate = useCallback<Router["navigate"]>((target, how = "push") => {
    if (how === "push") history.pushState(null, "", target);
    else history.replaceState(null, "", target);
    dispatchEvent(new Event(NAVIGATED));
    if (how === "push") scrollTo(0, 0);
  }, []);
  const router = useMemo<Router>(() => {
    const url = new URL(href, location.origin);
    return { address: { path: url.pathname, query: url.searchParams }, navigate };
  }, [href, navigate]);
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
