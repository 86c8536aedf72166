export { PostHog, type PostHogEvent, type PostHogOptions } from "./posthog.js";
export {
  RudderAnalytics,
  type RudderStackCallback,
  type RudderStackMessage,
  type RudderStackOptions,
} from "./rudderstack.js";
export {
  SegmentAnalytics as Analytics,
  type SegmentCall,
  type SegmentCallback,
  type SegmentContext,
  type SegmentEvents,
  type SegmentSettings,
} from "./segment.js";
