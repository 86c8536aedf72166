import type { LiveEventView } from "@sluice/control-api";
import { useCallback, useEffect, useRef, useState } from "react";
import { followLive, type StreamState } from "../../api/live-stream.js";
import { useApi } from "../../api/queries.js";
import { type History, openHistory } from "./history.js";
import { LiveLog } from "./live-log.js";

export interface LiveView {
  readonly log: LiveLog;
  /** Changes with every change of the log. */
  readonly version: number;
  readonly stream: StreamState;
  readonly history: "reading" | "more" | "end" | "failed";
  readonly error: unknown;
  readonly isHolding: boolean;
  hold(isHolding: boolean): void;
  readOlder(): void;
}

/** The messages that match a filter: live ones on top, history below. Renders at most once per frame. */
export function useLiveLog(filter: string): LiveView {
  const api = useApi();
  const [log, setLog] = useState(() => new LiveLog());
  const [version, setVersion] = useState(0);
  const [stream, setStream] = useState<StreamState>("connecting");
  const [isHolding, setHolding] = useState(false);
  const changed = useCallback(() => setVersion((last) => last + 1), []);
  const { history, error, begin, readOlder } = useHistory(changed);

  useEffect(() => {
    const ending = new AbortController();
    const fresh = new LiveLog();
    setLog(fresh);
    setHolding(false);
    const frames = takenPerFrame(fresh, changed);
    // Open the stream before reading history: messages in between are in both, and the log shows them once.
    void followLive(api, filter, { onState: setStream, onEvent: frames.onEvent }, ending.signal);
    const end = begin(fresh, openHistory(api, filter));
    return () => {
      ending.abort();
      frames.cancel();
      end();
    };
  }, [api, filter, begin, changed]);

  const hold = useCallback(
    (next: boolean) => {
      log.hold(next);
      setHolding(next);
      changed();
    },
    [log, changed],
  );
  return { log, version, stream, history, error, isHolding, hold, readOlder: () => readOlder(log) };
}

/** Reads the history page by page into a log, one page at a time. */
function useHistory(onChange: () => void) {
  const [state, setState] = useState<LiveView["history"]>("reading");
  const [error, setError] = useState<unknown>();
  const reader = useRef<History | undefined>(undefined);
  const isReading = useRef(false);

  const readOlder = useCallback(
    async (log: LiveLog) => {
      const from = reader.current;
      if (isReading.current || from === undefined) return;
      isReading.current = true;
      setState("reading");
      try {
        const page = await from.next();
        log.takeOlder(page.rows);
        setState(page.isAtEnd ? "end" : "more");
      } catch (failure) {
        if (reader.current !== from) return;
        setError(failure);
        setState("failed");
      } finally {
        if (reader.current === from) isReading.current = false;
        onChange();
      }
    },
    [onChange],
  );
  /** Starts with another history and returns a function that ends it. */
  const begin = useCallback(
    (log: LiveLog, history: History) => {
      reader.current = history;
      isReading.current = false;
      setError(undefined);
      void readOlder(log);
      return () => {
        reader.current = undefined;
      };
    },
    [readOlder],
  );
  return {
    history: state,
    error,
    begin,
    readOlder: (log: LiveLog) => void readOlder(log),
  };
}

/** Collects the events of a frame and adds them to the log at once. */
function takenPerFrame(log: LiveLog, onChange: () => void) {
  let waiting: LiveEventView[] = [];
  let frame = 0;
  const take = () => {
    frame = 0;
    log.take(waiting);
    waiting = [];
    onChange();
  };
  return {
    onEvent(event: LiveEventView) {
      waiting.push(event);
      frame ||= requestAnimationFrame(take);
    },
    cancel: () => cancelAnimationFrame(frame),
  };
}
