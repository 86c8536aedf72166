/** The query of the cluster, which its page and its tables share. */
export const CLUSTER_KEY = ["cluster"];
