import type { ClusterMemberView, ClusterRole, ClusterView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi, useInfo } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { EmptyState, QueryView, Skeleton, useNotify } from "../../ui/feedback.js";
import { Confirm } from "../../ui/layout/dialog.js";
import { Card, Page } from "../../ui/layout/page.js";
import { duration } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";

const REFRESH_MS = 2_000;
const CLUSTER_KEY = ["cluster"];

/** The processes of the cluster, and which one owns the log. */
export function ClusterPage() {
  const info = useInfo();
  if (info.data !== undefined && info.data.cluster === undefined)
    return (
      <Page title="Cluster">
        <EmptyState icon="cluster" title="This collector runs on its own">
          It is not part of a cluster.
        </EmptyState>
      </Page>
    );
  return <PresentCluster />;
}

function PresentCluster() {
  const api = useApi();
  const cluster = useQuery({
    queryKey: CLUSTER_KEY,
    queryFn: () => api.cluster.get(),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page title="Cluster">
      <Card title="State">
        <QueryView query={cluster} skeleton={<Skeleton of="facts" lines={4} />}>
          {(found) => <ClusterFacts cluster={found} />}
        </QueryView>
      </Card>
      <Card title="Processes" note="As the owner sees them. Any of them takes requests." flush>
        <QueryView query={cluster} skeleton={<Skeleton lines={3} />}>
          {(found) => <Members members={found.members} />}
        </QueryView>
      </Card>
    </Page>
  );
}

function ClusterFacts({ cluster: { name, engine, unsafe, owner, term } }: { cluster: ClusterView }) {
  return (
    <dl className="facts">
      <dt>Cluster</dt>
      <dd>{name}</dd>
      <dt>Owner</dt>
      <dd>{owner?.node ?? <Badge tone="bad">None</Badge>}</dd>
      {owner !== undefined && (
        <>
          <dt>Since</dt>
          <dd>
            <Time at={owner.since} /> <span className="faint">takeover number {term}</span>
          </dd>
        </>
      )}
      <dt>NATS servers</dt>
      <dd>
        {engine.kind === "connected" ? (
          <Badge tone="good">Connected</Badge>
        ) : (
          <Badge tone="bad">Not reachable: {engine.reason}</Badge>
        )}
      </dd>
      <dt>Safety</dt>
      <dd>
        {unsafe === undefined ? <Badge tone="good">Checked</Badge> : <Badge tone="bad">{unsafe}</Badge>}
      </dd>
    </dl>
  );
}

function Members({ members }: { members: readonly ClusterMemberView[] }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [draining, setDraining] = useState<ClusterMemberView | undefined>();
  const drain = useMutation({
    mutationFn: ({ node, isDrained }: ClusterMemberView) =>
      isDrained ? api.cluster.undrain(node) : api.cluster.drain(node),
    onSuccess: async (cluster, { node, isDrained }) => {
      queries.setQueryData(CLUSTER_KEY, cluster);
      setDraining(undefined);
      notify(isDrained ? `${node} can be the owner again` : `${node} is drained`);
    },
  });
  return (
    <>
      <Table
        label="Processes, by name"
        items={members}
        keyOf={(member) => member.node}
        columns={[
          { head: "Name", lead: true, cell: ({ node }) => node },
          { head: "Role", cell: ({ role }) => ROLES[role] },
          { head: "State", cell: State },
          { head: "Copy behind", align: "end", cell: behind },
          { head: "Started", align: "end", wide: true, cell: ({ startedAt }) => <Time at={startedAt} /> },
          { head: "Version", wide: true, cell: ({ version }) => version },
          { head: "Address", wide: true, cell: ({ address }) => <code>{address}</code> },
          {
            head: "Actions",
            align: "end",
            cell: (member) => (
              <Button size="small" onClick={() => setDraining(member)}>
                {member.isDrained ? "Cancel drain" : "Drain"}
              </Button>
            ),
          },
        ]}
      />
      <Confirm
        open={draining !== undefined}
        title={draining?.isDrained ? `Cancel the drain of ${draining.node}?` : `Drain ${draining?.node}?`}
        action={draining?.isDrained ? "Cancel drain" : "Drain"}
        busy={drain.isPending}
        error={drain.error}
        onClose={() => {
          drain.reset();
          setDraining(undefined);
        }}
        onConfirm={() => draining && drain.mutate(draining)}
      >
        {draining?.isDrained
          ? "It may become the owner again."
          : "If it is the owner, it hands over to another process. It does not become the owner again until you cancel the drain, and still passes requests on."}
      </Confirm>
    </>
  );
}

function behind({ behindEntries, behindMs }: ClusterMemberView): string {
  if (behindEntries === 0) return "No";
  return `${behindEntries} ${behindEntries === 1 ? "entry" : "entries"}, ${duration(behindMs)}`;
}

const ROLES: Readonly<Record<ClusterRole, string>> = {
  owner: "Owner",
  starting: "Becoming the owner",
  ending: "Handing over",
  follower: "Follower",
};

/** What is known of a process. */
function State({ isAlive, isReady, isDrained, heardMsAgo, problem }: ClusterMemberView) {
  const [tone, text]: readonly [Tone, string] = !isAlive
    ? ["bad", `Silent for ${duration(heardMsAgo)}`]
    : !isReady
      ? ["wait", "Not ready"]
      : isDrained
        ? ["quiet", "Drained"]
        : ["good", "Ready"];
  return (
    <Badge tone={tone} {...(problem === undefined ? {} : { title: problem })}>
      {text}
    </Badge>
  );
}
