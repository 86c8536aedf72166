/** Asks a collector for a backup, as the command line does. */
export async function requestBackup(url: string, adminToken: string): Promise<AsyncIterable<Uint8Array>> {
  const response = await fetch(`${url}/api/v1/backups`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}` },
  });
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  return response.body;
}
