import type { IdKind, SuppressionView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { InlineForm } from "../../ui/controls/inline-form.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";

const KINDS: Readonly<Record<IdKind, string>> = { user: "User id", anonymous: "Anonymous id" };

/** Ids whose messages are rejected. Only digests are stored; a suppression is lifted by digest or by the id itself. */
export function SuppressionsCard() {
  const api = useApi();
  const suppressions = useQuery({
    queryKey: ["suppressions"],
    queryFn: async () => (await api.suppressions.list({ limit: 100 })).items,
    refetchInterval: 10_000,
    retry: false,
  });
  return (
    <Card title="Suppressed users" note="Their messages are rejected. Only a keyed hash of each id is stored">
      <QueryView query={suppressions} skeleton={<Skeleton lines={2} />}>
        {(items) => (items.length === 0 ? <p className="soft">None.</p> : <Suppressions items={items} />)}
      </QueryView>
    </Card>
  );
}

function Suppressions({ items }: { items: readonly SuppressionView[] }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [userId, setUserId] = useState("");
  const lift = useMutation({
    mutationFn: ({ id, by }: { id: string; by: "userId" | "idHmac" }) => api.suppressions.lift(id, by),
    onSuccess: () => {
      setUserId("");
      notify("Messages are accepted again");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["suppressions"] }),
  });
  return (
    <div className="stack">
      <ul className="lines">
        {items.map((one) => (
          <li key={one.idHmac}>
            <code className="grow receipt-id">{one.idHmac}</code>
            <span className="small soft">
              {KINDS[one.kind]}
              {one.joinedTo !== undefined && `, joined to ${one.joinedTo.slice(0, 8)}…`}
            </span>
            <span className="small faint">
              <Time at={one.since} />
            </span>
            <Button
              size="small"
              busy={lift.isPending && lift.variables.id === one.idHmac}
              onClick={() => lift.mutate({ id: one.idHmac, by: "idHmac" })}
            >
              Lift
            </Button>
          </li>
        ))}
      </ul>
      <InlineForm
        label="User id to lift"
        placeholder="User id"
        button="Lift by id"
        value={userId}
        busy={lift.isPending && lift.variables.by === "userId"}
        onChange={setUserId}
        onSubmit={(id) => id !== "" && lift.mutate({ id, by: "userId" })}
      />
      {lift.isError && <Failure error={lift.error} />}
    </div>
  );
}
