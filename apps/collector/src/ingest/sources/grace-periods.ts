/** Lets a change of shared state wait for everything that began before it. */
export interface GracePeriods {
  /** Begins work that relies on the present state; returns the function that ends it. */
  begin(): () => void;
  /** Call it after changing the state. Resolves when all work that began before the call has ended. */
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
