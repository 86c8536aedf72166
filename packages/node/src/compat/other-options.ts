import { readOptions } from "@sluice/core";
import type { AnalyticsOptions } from "@sluice/node";
import { type Advise, usageAdvice } from "../usage-advice.js";

/** Options here that have the same effect, or what to use instead of an option without effect. */
type Translated = Partial<AnalyticsOptions> | { readonly instead: string };

/** How an option of another client is read: its name here, if the value is the same, or what it becomes. */
export type Translation = keyof AnalyticsOptions | Translated | ((value: never) => Translated);

/** Translates the options of another client. Options of our own are kept. Throws only `ConfigError`. */
export function translateOptions(
  client: string,
  given: object | null | undefined,
  translations: Readonly<Record<string, Translation>>,
): { readonly options: AnalyticsOptions; readonly advise: Advise } {
  return readOptions(() => {
    const all: { readonly [name: string]: unknown } = { ...given };
    const advise = usageAdvice(all.quiet === true);
    const options: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(all)) {
      if (value === undefined) continue;
      const result = translated(Object.hasOwn(translations, name) ? translations[name] : name, value);
      if (typeof result === "string") options[result] = value;
      else if (!("instead" in result)) Object.assign(options, result);
      else advise(`option ${name}`, `${client}'s option \`${name}\` has no effect: ${result.instead}.`);
    }
    return { options: options as AnalyticsOptions, advise };
  });
}

function translated(translation: Translation | string | undefined, value: unknown): string | Translated {
  if (typeof translation === "function") return translation(value as never);
  return translation ?? {};
}
