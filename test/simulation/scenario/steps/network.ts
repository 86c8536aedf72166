import { FAIR, type Weather } from "../../world/link.js";
import type { Random } from "../../world/random.js";
import type { StepKind } from "../steps.js";

/** The network of an application, or of a destination, is bad for a while. */
export interface NetworkStep {
  readonly kind: "network";
  readonly atMs: number;
  readonly of: { readonly sdk: number } | { readonly destination: number };
  readonly weather: Weather;
  readonly forMs: number;
}

export const networkSteps: StepKind<NetworkStep> = {
  kind: "network",
  plan: (random, { sdks, destinations }, lengthMs) =>
    Array.from({ length: random.integer(0, 5) }, () => ({
      kind: "network" as const,
      atMs: random.integer(0, lengthMs),
      of: random.chance(0.6)
        ? { sdk: random.integer(0, sdks.length - 1) }
        : { destination: random.integer(0, destinations.length - 1) },
      weather: anyWeather(random),
      forMs: random.pick([1_000, 30_000, 600_000, 3 * 3_600_000]),
    })),
  run({ of, weather, forMs }, { world, sdks, receivers, destinations }) {
    const links =
      "sdk" in of
        ? [sdks[of.sdk]?.link]
        : (destinations[of.destination]?.urls ?? []).map((url) => receivers.of(url).link);
    for (const link of links) {
      if (link === undefined) continue;
      link.weather = weather;
      world.note(`${link.name} bad weather`);
      world.after(forMs, () => {
        if (link.weather === weather) link.weather = FAIR;
      });
    }
  },
};

function anyWeather(random: Random): Weather {
  const rate = (): number => random.pick([0, 0, 0.1, 0.4]);
  return {
    delayMs: random.pick([
      [0, 5],
      [0, 800],
      [2_000, 9_000],
    ] as const),
    loseRequest: random.chance(0.1) ? 1 : rate(),
    loseAnswer: rate(),
    cutRequest: rate(),
    cutAnswer: rate(),
    duplicate: rate(),
  };
}
