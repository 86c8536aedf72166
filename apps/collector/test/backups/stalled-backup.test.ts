import { expect, it } from "vitest";
import { backupEndpoint } from "../../src/admin/backups/backup-endpoint.js";
import { controlApi } from "../admin/control-api.js";

/** A control API whose backups never end by themselves, and a client that reads nothing. */
async function stalled() {
  let ended = 0;
  const parts: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const api = await controlApi({
    endpoints: [
      backupEndpoint({
        begin: async () => ({
          async *archive() {
            for (;;) yield Buffer.from("part");
          },
          end: async () => {
            ended += 1;
          },
        }),
      }),
    ],
  });
  const options = {
    onChunk: (chunk: string) => {
      parts.push(chunk);
      return false;
    },
    drained: () => {
      waiting.resolve();
      return new Promise<void>(() => {});
    },
  };
  return { api, options, parts, waiting: waiting.promise, ended: () => ended };
}

it("gives up a backup whose client reads nothing for five minutes", async () => {
  const { api, options, parts, waiting, ended } = await stalled();
  const answered = api.ask("POST", "/api/v1/backups", {}, options);
  await waiting;
  await api.clock.advance(299_000);
  expect(ended()).toBe(0);
  await api.clock.advance(1_000);
  expect((await answered).body.message).toMatch(/the client has read nothing for 5 minutes/);
  expect([ended(), parts]).toEqual([1, ["part"]]);
});

it("ends a backup whose token is revoked while the client reads nothing", async () => {
  const { api, options, parts, waiting, ended } = await stalled();
  const { token, view } = await api.tokens.create("backup", "full");
  const answered = api.ask("POST", "/api/v1/backups", {}, { ...options, token });
  await waiting;
  await api.tokens.revoke(view.id);
  await answered;
  expect([ended(), parts]).toEqual([1, ["part"]]);
});
