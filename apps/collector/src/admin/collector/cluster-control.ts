import type { ClusterView } from "@sluice/control-api";

/** The cluster, as its owner sees it. */
export interface ClusterControl {
  readonly name: string;
  /** The name of this process. */
  readonly node: string;
  view(): ClusterView;
  /** Resolve with false if there is no process of this name. */
  drain(node: string): Promise<boolean>;
  undrain(node: string): Promise<boolean>;
}
