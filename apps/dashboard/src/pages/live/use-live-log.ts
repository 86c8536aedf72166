import type { LiveEventView } from "@sluice/protocol";
import { useCallback, useEffect, useRef, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { followLive, type StreamState } from "../../api/live-stream.js";
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

/** The messages that match a filter: history below, live on top. Shown at most once a frame, however many come. */
export function useLiveLog(filter: string): LiveView {
  const api = useApi();
  const [log, setLog] = useState(() => new LiveLog());
  const [version, setVersion] = useState(0);
  const [stream, setStream] = useState<StreamState>("connecting");
  const [history, setHistory] = useState<LiveView["history"]>("reading");
  const [error, setError] = useState<unknown>();
  const [isHolding, setHolding] = useState(false);
  const reader = useRef<History | undefined>(undefined);
  const isReading = useRef(false);

  const readOlder = useCallback(async (target: LiveLog, from: History | undefined) => {
    if (isReading.current || from === undefined) return;
    isReading.current = true;
    setHistory("reading");
    try {
      const page = await from.next();
      target.takeOlder(page.rows);
      setHistory(page.isAtEnd ? "end" : "more");
    } catch (failure) {
      if (reader.current !== from) return;
      setError(failure);
      setHistory("failed");
    } finally {
      if (reader.current === from) isReading.current = false;
      setVersion((last) => last + 1);
    }
  }, []);

  useEffect(() => {
    const ending = new AbortController();
    const fresh = new LiveLog();
    const past = openHistory(api, filter);
    reader.current = past;
    isReading.current = false;
    setLog(fresh);
    setHolding(false);
    setError(undefined);

    let waiting: LiveEventView[] = [];
    let frame = 0;
    const show = () => {
      frame = 0;
      fresh.take(waiting);
      waiting = [];
      setVersion((last) => last + 1);
    };
    // The stream first, then history: what falls between is in both and is shown once.
    void followLive(
      api,
      filter,
      {
        onState: setStream,
        onEvent: (event) => {
          waiting.push(event);
          frame ||= requestAnimationFrame(show);
        },
      },
      ending.signal,
    );
    void readOlder(fresh, past);
    return () => {
      ending.abort();
      cancelAnimationFrame(frame);
      reader.current = undefined;
    };
  }, [api, filter, readOlder]);

  const hold = useCallback(
    (next: boolean) => {
      log.hold(next);
      setHolding(next);
      setVersion((last) => last + 1);
    },
    [log],
  );
  return {
    log,
    version,
    stream,
    history,
    error,
    isHolding,
    hold,
    readOlder: () => void readOlder(log, reader.current),
  };
}
