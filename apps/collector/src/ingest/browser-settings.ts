/**
 * The response of `GET /v1/projects/:writeKey/settings`, which Segment's browser and mobile SDKs and their relatives request before they
 * start. It names this collector as the only destination and switches everything else off.
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
