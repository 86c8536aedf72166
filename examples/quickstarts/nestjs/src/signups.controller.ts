import { Body, Controller, Post } from "@nestjs/common";
import { AnalyticsService } from "./analytics.service.js";

@Controller("signups")
export class SignupsController {
  constructor(private readonly analytics: AnalyticsService) {}

  @Post()
  create(@Body() { userId, plan }: { userId: string; plan: string }) {
    this.analytics.track({ userId, event: "Signed Up", properties: { plan } });
    return { userId };
  }
}
