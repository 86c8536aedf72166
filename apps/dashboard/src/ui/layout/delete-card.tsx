import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../controls/button.js";
import { Confirm } from "./confirm.js";
import { Card } from "./page.js";

/** The end of a page about one thing: what deleting it means, and the way to do it. */
export function DeleteCard({
  text,
  name,
  action,
  remove,
  resource,
  then,
  actions,
}: {
  /** What is lost and what stays. */
  text: ReactNode;
  name: string;
  /** What the button of the question says: `Delete source`. */
  action: string;
  remove: () => Promise<void>;
  /** The first word of the query keys that are read anew. */
  resource: string;
  /** Where one is afterwards. */
  then: string;
  actions?: ReactNode;
}) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const removal = useMutation({
    mutationFn: remove,
    onSuccess: async () => {
      navigate(then);
      await queries.invalidateQueries({ queryKey: [resource] });
    },
  });
  return (
    <Card title="Removal">
      <div className="row-apart">
        <p className="soft grow">{text}</p>
        <div className="row">
          {actions}
          <Button icon="deletions" onClick={() => setAsking(true)}>
            {action}
          </Button>
        </div>
      </div>
      <Confirm
        open={isAsking}
        title={`Delete ${name}?`}
        action={action}
        busy={removal.isPending}
        error={removal.error}
        onClose={() => setAsking(false)}
        onConfirm={() => removal.mutate()}
      >
        {text}
      </Confirm>
    </Card>
  );
}
