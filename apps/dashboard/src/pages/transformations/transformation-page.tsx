import "./transformations.css";
import type { TransformationView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ResourcePage } from "../../ui/layout/page.js";
import { Workspace } from "./workspace.js";

/** How often the page checks whether someone else changed the transformation. */
const CHANGES_MS = 5_000;

const UP = { href: addresses.transformations(), label: "Transformations" };

/** Writes, tries and attaches a transformation. The default export, because it is loaded on demand. */
export default function TransformationPage({ id }: { id: string }) {
  return id === "new" ? <Workspace up={UP} /> : <StoredTransformation id={id} />;
}

function StoredTransformation({ id }: { id: string }) {
  const api = useApi();
  const query = useQuery({
    queryKey: ["transformations", id],
    queryFn: () => api.transformations.get(id),
    refetchInterval: CHANGES_MS,
  });
  return (
    <ResourcePage kind="Transformation" up={UP} query={query}>
      {(transformation: TransformationView) => <Workspace up={UP} transformation={transformation} />}
    </ResourcePage>
  );
}
