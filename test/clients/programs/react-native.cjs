// Runs the React Native client on Node.js. A stand-in replaces `react-native`: the rest of the client is as its package ships it.
// Arguments: the collector's URL, the write key, and `native` or `expo-go` (no native modules).
const Module = require("node:module");
const path = require("node:path");

const [, , url, writeKey, platform] = process.argv;

const NATIVE_MODULES = {
  AnalyticsReactNative: {
    getContextInfo: async () => ({ appName: "Shop", appVersion: "1.2.3", osName: "iOS", osVersion: "19.0" }),
  },
};
const STAND_IN = {
  AppState: { addEventListener: () => ({ remove() {} }) },
  NativeModules: platform === "native" ? NATIVE_MODULES : {},
  NativeEventEmitter: class {
    addListener() {}
  },
  Platform: { OS: "ios", select: (choices) => choices.ios ?? choices.default },
};

const load = Module._load;
Module._load = function (request, ...rest) {
  if (request === "react-native") return STAND_IN;
  // The package's entry also exports hooks for components, which need React.
  if (request === "react") return { createContext: () => ({}), useContext() {}, useMemo() {} };
  return load.call(this, request, ...rest);
};

const main = path.join(__dirname, "../node_modules/@segment/analytics-react-native");
const { createClient, CountFlushPolicy } = require(main);

async function run() {
  const client = createClient({
    writeKey,
    proxy: `${url}/v1`,
    cdnProxy: `${url}/v1`,
    useSegmentEndpoints: true,
    allowInsecureProxy: true,
    flushPolicies: [new CountFlushPolicy(100)],
  });
  await client.init();
  await client.identify("u1", { email: "ada@example.com" });
  await client.track("Order Completed", { total: 129.95 });
  await client.screen("Start");
  await client.group("g1", { plan: "pro" });
  await client.alias("u2");
  await client.flush();
  client.cleanup();
}

run().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
