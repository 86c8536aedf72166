// The entry of a thread: the build makes a file of it beside the collector's.
import "@sluice/event-log/worker";
