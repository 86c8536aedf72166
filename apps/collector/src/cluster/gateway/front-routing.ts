import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import type { Route } from "../../http/routing/route.js";
import { profileRoute } from "../audiences/profile-routes.js";
import { peerRoutes } from "../documents/peer-calls.js";
import type { Front, FrontRouting } from "../front/front.js";
import type { ListenerName } from "../front/peer.js";
import type { SeveralPartitions } from "../partitions/several-partitions.js";
import { askOwners, type Owners, type OwnersParts } from "./ask-owners.js";
import { gatewayRoutes } from "./gateway-routes.js";
import { partitionOfMessages, partitionOfRequest } from "./partition-of.js";
import { sourceViewRoutes } from "./spread/source-views.js";
import { spreadRoutes } from "./spread/spread-routes.js";
import { takeMessages } from "./spread/take-messages.js";

export interface StandingParts {
  /** Undefined until the process has joined, and in a cluster of one partition. */
  several?: SeveralPartitions | undefined;
}

export interface FrontRoutingParts {
  readonly standing: StandingParts;
  readonly front: () => Front;
  readonly clock: Clock;
  readonly token: string;
  readonly partitions: number;
  /** As in `OwnersParts`. */
  readonly onPassed: OwnersParts["onPassed"];
  /** What each process answers for itself. */
  readonly fixedRoutes: (listener: ListenerName) => readonly Route[];
  /** The routes as operators may use them at this address; none where they may not. */
  readonly operatorsOf: (listener: ListenerName, routes: readonly Route[]) => readonly Route[];
}

/** How requests find their way in a cluster of several partitions. */
export function frontRouting(parts: FrontRoutingParts): FrontRouting {
  const { standing, front, clock, token, partitions, onPassed, fixedRoutes, operatorsOf } = parts;
  const ownersAt = (listener: ListenerName): Owners =>
    askOwners({ front, token, clock, partitions, listener, onPassed });
  const joined = (): SeveralPartitions => {
    if (standing.several === undefined) throw new CollectorError("no_owner", "the collector starts");
    return standing.several;
  };
  return {
    ownRoutes: (listener) => [
      ...fixedRoutes(listener),
      ...operatorsOf(
        listener,
        gatewayRoutes(ownersAt(listener), (...asked) => joined().joinedIds(...asked)),
      ),
    ],
    spreadRoutes: (listener) => {
      const owners = ownersAt(listener);
      const sources = () => joined().sources;
      return [
        ...(listener === "public" ? spreadRoutes(takeMessages(sources, owners)) : []),
        ...operatorsOf(listener, sourceViewRoutes(sources, owners)),
      ];
    },
    peerRoutes: [
      ...peerRoutes({
        documentsChanged: (kinds) => joined().documents.changed(kinds),
        disableTarget: () => joined().controlOwner.disableTarget,
        report(partition) {
          const { node, reports } = joined();
          const report = reports.get(partition);
          return report && { partition, node, ...report() };
        },
        findings: (partition, id) => joined().deletions.get(partition)?.(id),
      }),
      profileRoute({ audiences: () => joined().controlOwner.audiences, clock }),
    ],
    partitionOf: (message) =>
      standing.several === undefined ? 0 : partitionOfRequest(message, standing.several.sources),
    partitionOfBody: async (message, body) =>
      standing.several === undefined ? 0 : partitionOfMessages(message, body, standing.several.sources),
  };
}
