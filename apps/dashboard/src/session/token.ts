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

export function keepToken(token: string, storage: Pick<Storage, "setItem">): void {
  storage.setItem(STORAGE_KEY, token);
}

export function forgetToken(storage: Pick<Storage, "removeItem">): void {
  storage.removeItem(STORAGE_KEY);
}
