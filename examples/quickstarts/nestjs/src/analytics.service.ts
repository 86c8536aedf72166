import { Injectable, type OnApplicationShutdown } from "@nestjs/common";
import { Analytics } from "@sluice/node";

/** One client for the process. It reads SLUICE_WRITE_KEY and SLUICE_URL. */
@Injectable()
export class AnalyticsService extends Analytics implements OnApplicationShutdown {
  constructor() {
    super({});
  }

  /** Runs after open requests are finished, and sends what is queued. */
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
