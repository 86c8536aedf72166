import type { TransformationVersionView, TransformationView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/queries.js";
import { Button } from "../../ui/controls/button.js";
import { Badge, Time } from "../../ui/data/facts.js";
import { Table } from "../../ui/data/table.js";
import { Failure, QueryView, useNotify } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { Difference } from "./difference/difference-view.js";

export function useVersions(id: string | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["transformations", id, "versions"],
    queryFn: async () => (await api.transformations.versions(id ?? "", { limit: 100 })).items,
    enabled: id !== undefined,
  });
}

/** All versions. One of them is in force; each can be compared with it, edited, or put in force. */
export function VersionsTab({
  transformation: { id, current, version },
  onEdit,
}: {
  transformation: TransformationView;
  onEdit: (version: TransformationVersionView) => void;
}) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const versions = useVersions(id);
  const [compared, setCompared] = useState<number | undefined>();
  const putInForce = useMutation({
    mutationFn: (number: number) => api.transformations.patch(id, { current: number, version }),
    onSuccess: (saved) => {
      queries.setQueryData(["transformations", id], saved);
      notify(`Version ${saved.current} is in force`);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["transformations"] }),
  });
  const find = (number: number | undefined) => versions.data?.find((one) => one.number === number);
  return (
    <div className="sections">
      {putInForce.isError && <Failure error={putInForce.error} />}
      <Card flush>
        <QueryView query={versions}>
          {(items) => (
            <VersionTable
              items={items}
              current={current}
              compared={compared}
              onCompare={(number) => setCompared(compared === number ? undefined : number)}
              onEdit={onEdit}
              onPutInForce={(number) => !putInForce.isPending && putInForce.mutate(number)}
            />
          )}
        </QueryView>
      </Card>
      <Comparison from={find(current)} to={find(compared)} />
    </div>
  );
}

function VersionTable({
  items,
  current,
  compared,
  onCompare,
  onEdit,
  onPutInForce,
}: {
  items: readonly TransformationVersionView[];
  current: number;
  compared: number | undefined;
  onCompare: (number: number) => void;
  onEdit: (version: TransformationVersionView) => void;
  onPutInForce: (number: number) => void;
}) {
  return (
    <Table
      label="Versions, newest first"
      items={items}
      keyOf={({ number }) => String(number)}
      columns={[
        {
          head: "Version",
          lead: true,
          cell: ({ number }) => (
            <span className="row">
              <strong className="strong-link">Version {number}</strong>
              {number === current && <Badge tone="good">In force</Badge>}
            </span>
          ),
        },
        { head: "Saved", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "By", cell: ({ createdBy }) => visibleText(createdBy ?? "–", 60) },
        {
          head: "Actions",
          align: "end",
          cell: (one) =>
            one.number !== current && (
              <span className="row version-actions">
                <Button
                  size="small"
                  look="quiet"
                  aria-expanded={one.number === compared}
                  onClick={() => onCompare(one.number)}
                >
                  Compare
                </Button>
                <Button size="small" look="quiet" onClick={() => onEdit(one)}>
                  Edit
                </Button>
                <Button size="small" onClick={() => onPutInForce(one.number)}>
                  Put in force
                </Button>
              </span>
            ),
        },
      ]}
    />
  );
}

function Comparison({
  from,
  to,
}: {
  from: TransformationVersionView | undefined;
  to: TransformationVersionView | undefined;
}) {
  if (from === undefined || to === undefined || from.number === to.number) return null;
  const title = `From version ${from.number}, which is in force, to version ${to.number}`;
  return (
    <Card title={title}>
      <Difference label="Difference" before={from.code} after={to.code} same="The code is the same." />
    </Card>
  );
}
