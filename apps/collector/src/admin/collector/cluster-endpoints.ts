import type { ClusterView } from "@sluice/control-api";
import { CollectorError } from "../../errors.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import type { ClusterControl } from "./cluster-control.js";

export function clusterEndpoints(cluster: ClusterControl | undefined): readonly Endpoint[] {
  const present = (): ClusterControl => {
    if (cluster !== undefined) return cluster;
    throw new CollectorError("not_found", "this collector runs on its own: it is not part of a cluster");
  };
  return [
    endpoint("GET /cluster", () => ({ status: 200, body: present().view() })),
    endpoint("POST /cluster/members/:node/drain", async ({ params: { node } }) => {
      const control = present();
      if (hasNoSuccessor(control.view(), node))
        throw new CollectorError(
          "conflict",
          `${node} is the only process that can own the log: start another one, or cancel the drain of another one, first`,
        );
      if (!(await control.drain(node))) throw unknown(node);
      return { status: 200, body: control.view(), target: node };
    }),
    endpoint("DELETE /cluster/members/:node/drain", async ({ params: { node } }) => {
      const control = present();
      if (!(await control.undrain(node))) throw unknown(node);
      return { status: 200, body: control.view(), target: node };
    }),
  ];
}

function hasNoSuccessor({ members }: ClusterView, node: string): boolean {
  const isKnown = members.some((member) => member.node === node);
  return (
    isKnown &&
    !members.some((member) => member.node !== node && member.isAlive && member.isReady && !member.isDrained)
  );
}

function unknown(node: string): CollectorError {
  return new CollectorError("not_found", `the cluster has no process named ${node}`);
}
