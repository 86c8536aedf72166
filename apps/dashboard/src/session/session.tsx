import { AdminError, AdminUnreachable } from "@sluice/admin-client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { controlApi } from "../api/control-api.js";
import { ApiContext } from "../api/queries.js";
import { SignInPage } from "./sign-in-page.js";
import { forgetToken, keepToken, takeToken } from "./token.js";

const SignOutContext = createContext<() => void>(() => {});

export function useSignOut(): () => void {
  return useContext(SignOutContext);
}

/** Shows its children while there is a token. A 401 answer ends the session. */
export function Session({ children }: { children: ReactNode }) {
  const [token, setToken] = useState(() => takeToken(location, history, sessionStorage));
  const [wasRefused, setRefused] = useState(false);
  const signIn = useCallback((given: string) => {
    keepToken(given, sessionStorage);
    setRefused(false);
    setToken(given);
  }, []);
  const end = useCallback((refused: boolean) => {
    forgetToken(sessionStorage);
    setRefused(refused);
    setToken(undefined);
  }, []);
  const signOut = useCallback(() => end(false), [end]);
  const session = useMemo(
    () =>
      token === undefined
        ? undefined
        : { api: controlApi({ token, onUnauthorized: () => end(true) }), queries: queryClient() },
    [token, end],
  );
  if (session === undefined) return <SignInPage wasRefused={wasRefused} onSignIn={signIn} />;
  return (
    <SignOutContext value={signOut}>
      <ApiContext value={session.api}>
        <QueryClientProvider client={session.queries}>{children}</QueryClientProvider>
      </ApiContext>
    </SignOutContext>
  );
}

/** One cache per session, so that another token never sees the data of the last one. */
function queryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        // Retry only what may succeed: a refused request will be refused again.
        retry: (failures, error) => failures < 2 && isTransient(error),
        retryDelay: 400,
      },
    },
  });
}

function isTransient(error: unknown): boolean {
  if (error instanceof AdminUnreachable) return true;
  return error instanceof AdminError && (error.status === 429 || error.status >= 500);
}
