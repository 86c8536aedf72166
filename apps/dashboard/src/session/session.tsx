import { AdminError, AdminUnreachable } from "@sluice/admin-client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useState,
} from "react";
import { controlApi } from "../api/control-api.js";
import { ApiContext } from "../api/queries.js";
import { Button } from "../ui/controls/button.js";
import { TextField } from "../ui/controls/field.js";
import { Logo } from "../ui/icon.js";
import { errorWords } from "../words/errors.js";

const STORAGE_KEY = "sluice.token";

/**
 * The admin token of this tab. An address may contain it as `?token=…` or `#token=…`. It is then moved to the tab's session
 * storage, so that it does not stay in bookmarks, the history or screenshots.
 */
export function takeToken(
  address: Pick<Location, "href">,
  history: Pick<History, "replaceState">,
  storage: Pick<Storage, "getItem" | "setItem">,
): string | undefined {
  const url = new URL(address.href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const token = url.searchParams.get("token") ?? fragment.get("token");
  if (token === null || token === "") return storage.getItem(STORAGE_KEY) ?? undefined;
  url.searchParams.delete("token");
  fragment.delete("token");
  url.hash = fragment.toString();
  history.replaceState(null, "", url.pathname + url.search + url.hash);
  storage.setItem(STORAGE_KEY, token);
  return token;
}

function keepToken(token: string, storage: Pick<Storage, "setItem">): void {
  storage.setItem(STORAGE_KEY, token);
}

function forgetToken(storage: Pick<Storage, "removeItem">): void {
  storage.removeItem(STORAGE_KEY);
}

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

function SignInPage({ wasRefused, onSignIn }: { wasRefused: boolean; onSignIn: (token: string) => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(wasRefused ? "The token is not valid. Sign in again." : "");
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (given === "") return setError("Enter an admin token.");
    setBusy(true);
    try {
      await controlApi({ token: given }).info();
      onSignIn(given);
    } catch (failure) {
      const isWrong = failure instanceof AdminError && failure.status === 401;
      setError(isWrong ? "This token is not valid." : `${errorWords(failure).title}.`);
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="sign-in-card" onSubmit={submit}>
        <Logo size={40} />
        <div className="stack-tight">
          <h1>Sign in to Sluice</h1>
          <p className="soft">
            <code>sluice dev</code> prints a URL that signs you in. The first token of a production collector
            is in its configuration, or in the file <code>admin-token</code> in its data folder.
          </p>
        </div>
        <TextField
          label="Admin token"
          type="password"
          name="token"
          autoComplete="current-password"
          autoFocus
          value={token}
          error={error || undefined}
          onChange={(event) => setToken(event.target.value)}
        />
        <Button type="submit" look="primary" busy={busy}>
          Sign in
        </Button>
        <p className="small faint">The token is stored in this tab only, until you close it.</p>
      </form>
    </main>
  );
}
