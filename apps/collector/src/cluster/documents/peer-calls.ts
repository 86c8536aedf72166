import type { Clock } from "@sluice/resilience";
import type { DeletionFindings } from "../../deletions/other-partitions.js";
import { CollectorError } from "../../errors.js";
import type { Route } from "../../http/routing/route.js";
import type { PartitionReport } from "../../notifications/incidents/partition-reports.js";
import type { Front } from "../front/front.js";
import { type OwnerConnection, ownerConnection } from "../front/owner-connection.js";
import { connectionTo, peerJson, readPeerJson } from "../front/peer-json.js";

/** What processes of a cluster ask each other, besides the requests that they pass on. */
export interface PeerCalls {
  /** Tells a process of changed documents. Resolves when they are in force there. */
  documentsChanged(address: string, kinds: readonly string[], signal: AbortSignal): Promise<void>;
  /** Asks the owner of the control partition to disable a URL that answered 410 Gone. Resolves with false if it was disabled already. */
  disableTarget(destinationId: string, url: string): Promise<boolean>;
  /** Asks the owner of a partition what is wrong there. */
  report(partition: number): Promise<PartitionReport>;
  /** Asks the owner of a partition what it has found of a deletion. */
  findings(partition: number, deletionId: string, signal?: AbortSignal): Promise<DeletionFindings>;
  close(): void;
}

const DOCUMENTS_PATH = "/cluster/v1/documents";
const DISABLE_PATH = "/cluster/v1/disable-target";
const REPORT_PATH = "/cluster/v1/report";
const FINDINGS_PATH = "/cluster/v1/deletion";
const BODY_BYTES = 64 * 1_024;
const CALL_MS = 8_000;

export function peerCalls(front: () => Front, token: string, clock: Clock): PeerCalls {
  const connections = new Map<string, OwnerConnection>();
  const to = (address: string): OwnerConnection => {
    const known = connections.get(address) ?? ownerConnection(address);
    connections.set(address, known);
    return known;
  };
  const call = async (
    connection: OwnerConnection,
    path: string,
    body: object,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const tooLate = new AbortController();
    const cancel = clock.after(CALL_MS, () => tooLate.abort());
    try {
      const answer = await connection.ask(
        peerJson(path, body, token),
        AbortSignal.any([signal, tooLate.signal]),
      );
      if (answer.kind !== "answered") throw new CollectorError("no_owner", answer.reason);
      if (answer.status !== 200)
        throw new CollectorError("no_owner", `${connection.address} answered ${answer.status}`);
      return JSON.parse(Buffer.from(answer.body).toString("utf8"));
    } finally {
      cancel();
    }
  };
  const callOwner = (
    partition: number,
    path: string,
    body: object,
    signal = new AbortController().signal,
  ): Promise<unknown> => {
    const owner = connectionTo(front(), partition);
    if (owner === undefined) throw new CollectorError("no_owner", `no process owns partition ${partition}`);
    return call(owner, path, body, signal);
  };
  return {
    async documentsChanged(address, kinds, signal) {
      await call(to(address), DOCUMENTS_PATH, { kinds }, signal);
    },
    async disableTarget(destinationId, url) {
      const answer = await callOwner(0, DISABLE_PATH, { destinationId, url });
      return (answer as { readonly isChanged: boolean }).isChanged;
    },
    async report(partition) {
      return (await callOwner(partition, REPORT_PATH, { partition })) as PartitionReport;
    },
    async findings(partition, deletionId, signal) {
      const asked = { partition, deletionId };
      return (await callOwner(partition, FINDINGS_PATH, asked, signal)) as DeletionFindings;
    },
    close() {
      for (const connection of connections.values()) connection.close();
      connections.clear();
    },
  };
}

export interface PeerHandlers {
  documentsChanged(kinds: readonly string[]): Promise<void>;
  /** Undefined while this process does not own the control partition. */
  disableTarget(): ((destinationId: string, url: string) => Promise<boolean>) | undefined;
  /** Undefined while this process does not own the partition. */
  report(partition: number): PartitionReport | undefined;
  /** Undefined while this process does not own the partition. */
  findings(partition: number, deletionId: string): Promise<DeletionFindings> | undefined;
}

/** Where a process answers the calls of others. The front lets only processes of the cluster in. */
export function peerRoutes({
  documentsChanged,
  disableTarget,
  report,
  findings,
}: PeerHandlers): readonly Route[] {
  return [
    {
      path: DOCUMENTS_PATH,
      methods: {
        async POST(request) {
          const { kinds } = await readPeerJson<{ kinds: readonly string[] }>(request, BODY_BYTES);
          await documentsChanged(kinds);
          return { status: 200, body: {} };
        },
      },
    },
    {
      path: DISABLE_PATH,
      methods: {
        async POST(request) {
          const disable = disableTarget();
          if (disable === undefined)
            throw new CollectorError("no_owner", "this process does not own partition 0");
          const { destinationId, url } = await readPeerJson<{ destinationId: string; url: string }>(
            request,
            BODY_BYTES,
          );
          return { status: 200, body: { isChanged: await disable(destinationId, url) } };
        },
      },
    },
    {
      path: REPORT_PATH,
      methods: {
        async POST(request) {
          const { partition } = await readPeerJson<{ partition: number }>(request, BODY_BYTES);
          const body = report(partition);
          if (body === undefined)
            throw new CollectorError("no_owner", `this process does not own partition ${partition}`);
          return { status: 200, body };
        },
      },
    },
    {
      path: FINDINGS_PATH,
      methods: {
        async POST(request) {
          const { partition, deletionId } = await readPeerJson<{ partition: number; deletionId: string }>(
            request,
            BODY_BYTES,
          );
          const body = await findings(partition, deletionId);
          if (body === undefined)
            throw new CollectorError("no_owner", `this process does not own partition ${partition}`);
          return { status: 200, body };
        },
      },
    },
  ];
}
