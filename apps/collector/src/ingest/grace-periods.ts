/** Tells a change of shared state when everything that began under the state before it has ended. */
export interface GracePeriods {
  /** Begins something under the state as it is now; returns the function that ends it. */
  begin(): () => void;
  /** To be called after the state was changed: resolves when everything that began before the call has ended. */
  end(): Promise<void>;
}

interface Period {
  open: number;
  onIdle: (() => void) | undefined;
}

export function gracePeriods(): GracePeriods {
  let current: Period = { open: 0, onIdle: undefined };
  let ended: Promise<unknown> = Promise.resolve();
  return {
    begin() {
      const period = current;
      period.open += 1;
      return () => {
        period.open -= 1;
        if (period.open === 0) period.onIdle?.();
      };
    },
    async end() {
      const period = current;
      if (period.open > 0) {
        current = { open: 0, onIdle: undefined };
        const idle = new Promise<void>((resolve) => {
          period.onIdle = resolve;
        });
        ended = Promise.all([ended, idle]);
      }
      await ended;
    },
  };
}
