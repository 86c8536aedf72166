interface Cluster {
  readonly owner?: { readonly phase: string };
}

/** Whether there is an owner, so that requests are answered. */
export async function isServing(url: string, adminToken: string): Promise<boolean> {
  try {
    if (!(await fetch(`${url}/readyz`)).ok) return false;
    const headers = { authorization: `Bearer ${adminToken}` };
    const answer = await fetch(`${url}/api/v1/cluster`, { headers });
    if (!answer.ok) return false;
    const { owner } = (await answer.json()) as Cluster;
    return owner?.phase === "leading";
  } catch {
    return false;
  }
}

interface Source {
  readonly id: string;
  readonly writeKeys: readonly { readonly key: string }[];
}

/** The oldest source, or a new one. */
export async function firstSource(
  url: string,
  adminToken: string,
): Promise<{ readonly sourceId: string; readonly writeKey: string }> {
  const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" };
  const call = async (init: RequestInit): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1/sources`, { ...init, headers });
    if (!response.ok)
      throw new Error(`The sources cannot be read: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { items } = (await call({})) as { items: readonly Source[] };
  const source =
    items.find(({ writeKeys }) => writeKeys.length > 0) ??
    ((await call({
      method: "POST",
      body: JSON.stringify({ name: "My app" }),
    })) as Source);
  return { sourceId: source.id, writeKey: source.writeKeys[0]?.key ?? "" };
}
