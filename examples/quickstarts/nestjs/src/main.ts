import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { AnalyticsService } from "./analytics.service.js";
import { SignupsController } from "./signups.controller.js";

@Module({ controllers: [SignupsController], providers: [AnalyticsService] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"] });
// Without this line, NestJS does not call onApplicationShutdown.
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
console.log(await app.getUrl());
