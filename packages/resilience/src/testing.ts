export { type ManualClock, type ManualClockOptions, manualClock } from "./manual-clock.js";
