import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../controls/button.js";
import { Confirm } from "./confirm.js";
import { Card } from "./page.js";

/** The last card of a resource's page: what deleting it means, and the button. */
export function DeleteCard({
  text,
  name,
  action,
  remove,
  resource,
  then,
}: {
  /** What is deleted and what stays. */
  text: ReactNode;
  name: string;
  /** The text of the button, for example `Delete source`. */
  action: string;
  remove: () => Promise<void>;
  /** The first part of the query keys to invalidate. */
  resource: string;
  /** The page to open afterwards. */
  then: string;
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
    <Card title="Delete">
      <div className="row-apart">
        <p className="soft grow">{text}</p>
        <Button icon="deletions" onClick={() => setAsking(true)}>
          {action}
        </Button>
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
