import { createContext, useContext } from "react";
import type { Places } from "./places.js";

/** Where the browser is. */
export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface Router {
  readonly address: Address;
  /** `replace` leaves no step in the history: for filters typed into the address. */
  navigate(href: string, how?: "push" | "replace"): void;
  readonly places: Places;
}

/** The parameters of `path` when it fits `pattern` (`/sources/:id`), percent-decoded; undefined when it does not. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = segments(pattern);
  const given = segments(path);
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? "";
    if (segment.startsWith(":")) {
      const decoded = decode(value);
      if (decoded === undefined) return undefined;
      params[segment.slice(1)] = decoded;
    } else if (segment !== value) return undefined;
  }
  return params;
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

export const RouterContext = createContext<Router | undefined>(undefined);

export function useRouter(): Router {
  const router = useContext(RouterContext);
  if (router === undefined) throw new Error("useRouter outside of RouterProvider");
  return router;
}
