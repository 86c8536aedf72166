export {
  SegmentAnalytics as Analytics,
  type SegmentCall,
  type SegmentCallback,
  type SegmentContext,
  type SegmentEvents,
  type SegmentSettings,
} from "./segment.js";
