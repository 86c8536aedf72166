import { useEffect, useState } from "react";
import { useLocation } from "wouter";

interface Guard {
  /** The path of the page with something that is not saved. */
  readonly path: string;
  /** Asks the user, and calls `leave` if the page may be left. */
  ask(leave: () => void): void;
  /** Opens another page. */
  readonly navigate: (to: string) => void;
}

/** At most one page has something that is not saved. */
let guard: Guard | undefined;

/** Opens another page with `leave`: at once, or when the user has agreed to lose what is not saved. */
export function askBeforeLeaving(to: string, leave: () => void): void {
  if (guard === undefined || new URL(to, location.href).pathname === guard.path) leave();
  else guard.ask(leave);
}

/** Asks before Back and Forward too. To be called before the router listens: then it does not hear of them. */
export function guardBackAndForward(): void {
  addEventListener("popstate", (event) => {
    if (guard === undefined || location.pathname === guard.path) return;
    event.stopImmediatePropagation();
    const { path, navigate } = guard;
    const to = location.pathname + location.search;
    // The address has changed already: the page stays by going to it again.
    history.pushState(history.state, "", path);
    guard.ask(() => navigate(to));
  });
}

export interface Leaving {
  /** The user wants to leave, and is to be asked. */
  readonly isAsked: boolean;
  leave(): void;
  stay(): void;
  /** What was typed is saved: the next page opens without a question. */
  release(): void;
}

/** While something is not saved: asks before another page is opened or the tab is closed. */
export function useLeaveGuard(isUnsaved: boolean): Leaving {
  const [, navigate] = useLocation();
  const [leave, setLeave] = useState<(() => void) | undefined>();
  useEffect(() => {
    if (!isUnsaved) return;
    guard = { path: location.pathname, navigate, ask: (go) => setLeave(() => go) };
    const onUnload = (event: BeforeUnloadEvent) => {
      if (guard !== undefined) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload);
    return () => {
      guard = undefined;
      removeEventListener("beforeunload", onUnload);
    };
  }, [isUnsaved, navigate]);
  const release = () => {
    guard = undefined;
  };
  return {
    isAsked: leave !== undefined,
    leave: () => {
      release();
      leave?.();
    },
    stay: () => setLeave(undefined),
    release,
  };
}
