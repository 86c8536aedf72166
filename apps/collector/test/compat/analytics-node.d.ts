/** The parts of this client that the tests call; it has no types of its own. */
declare module "analytics-node" {
  export default class Analytics {
    constructor(writeKey: string, options: { host: string; flushAt: number; flushInterval: number });
    identify(message: object): this;
    track(message: object): this;
    page(message: object): this;
    screen(message: object): this;
    group(message: object): this;
    alias(message: object): this;
    flush(): Promise<unknown>;
  }
}
