import { AdminError, AdminUnreachable } from "@sluice/admin-client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { ApiContext } from "../api/api-context.js";
import { controlApi } from "../api/control-api.js";
import { SignInPage } from "./sign-in-page.js";
import { forgetToken, keepToken, takeToken } from "./token.js";

const SignOutContext = createContext<() => void>(() => {});

export function useSignOut(): () => void {
  return useContext(SignOutContext);
}

/** Children are shown to whoever has a token; an answer that the token is not valid ends the session. */
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

/** One store of answers for a session: another token never sees what the last one read. */
function queryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        // What the collector refused it will refuse again; what did not reach it may reach it now.
        retry: (failures, error) => failures < 2 && isPassing(error),
        retryDelay: 400,
      },
    },
  });
}

function isPassing(error: unknown): boolean {
  if (error instanceof AdminUnreachable) return true;
  return error instanceof AdminError && (error.status === 429 || error.status >= 500);
}
