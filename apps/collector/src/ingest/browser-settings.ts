/**
 * What `GET /v1/projects/:writeKey/settings` answers: the document that browser and mobile SDKs of Segment's lineage ask
 * for before they start. It names one destination, ourselves, and switches everything else off.
 */
export function browserSettings(writeKey: string, baseUrl: URL): object {
  const everything = { enabled: true, integrations: {} };
  return {
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost: `${baseUrl.host}${baseUrl.pathname.replace(/\/$/, "")}/v1`,
        protocol: baseUrl.protocol.replace(":", ""),
        unbundledIntegrations: [],
        addBundledMetadata: true,
        maybeBundledConfigIds: {},
        versionSettings: { version: "4.4.7", componentTypes: ["browser"] },
      },
    },
    plan: {
      track: { __default: everything },
      identify: { __default: everything },
      group: { __default: everything },
    },
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    metrics: { sampleRate: 0 },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
  };
}
