import type { DefinedDestination } from "@sluice/destination";
import type { Clock } from "@sluice/resilience";
import type { ResolveHost } from "../sender/checked-connector.js";
import type { EgressPolicy } from "../sender/egress-policy.js";
import { endpoint, type OpenEndpoint } from "../sender/endpoint.js";
import { hostResolver } from "../sender/host-resolver.js";
import { consoleDestination } from "./console/console.js";
import { type DefinedDeps, definedType } from "./defined/defined-type.js";
import type { LoadedPackages, UnusablePackage } from "./defined/load-packages.js";
import type { DestinationType } from "./destination.js";
import { fileDestination } from "./file/file.js";
import type { SecretBox } from "./secret-box.js";
import { webhooksType } from "./webhooks/webhooks.js";

export interface CatalogDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egress: EgressPolicy;
  /** Where `file` destinations write. */
  readonly exportsFolder: string;
  /** Prints a line of a `console` destination. Default: to standard error. */
  readonly printLine?: (line: string) => void;
  /** Default: the system resolver. */
  readonly resolve?: ResolveHost;
  /** Opens the HTTP endpoint of a webhook. Default: a real connection. */
  readonly openEndpoint?: OpenEndpoint;
  /** Types from outside. Default: none. */
  readonly packages?: LoadedPackages;
  /** Types from outside that were given as definitions. Default: none. */
  readonly given?: readonly DefinedDestination[];
  /** Where types from outside log. Default: nowhere. */
  readonly log?: DefinedDeps["log"];
}

/** The types that every collector has. */
export const BUILT_IN_TYPES: readonly string[] = ["webhooks", "console", "file"];

/** The available destination types. */
export interface Catalog {
  readonly types: readonly DestinationType[];
  /** Packages that were named and could not be used. */
  readonly unusable: readonly UnusablePackage[];
  /** The types that any thread can open by itself: two of their destinations share nothing in memory. */
  readonly inThreads: ReadonlySet<string>;
  get(type: string): DestinationType | undefined;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const { clock, secrets, egress, exportsFolder, packages, given = [], log = () => {} } = deps;
  const resolve = deps.resolve ?? hostResolver({ clock });
  const printLine = deps.printLine ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const defined = [
    consoleDestination(printLine),
    fileDestination(exportsFolder),
    ...(packages?.loaded ?? []),
    ...given,
  ];
  return catalogOf(
    [
      webhooksType({ clock, secrets, egress, resolve, openEndpoint: deps.openEndpoint ?? endpoint }),
      ...defined.map((one) => definedType(one, { clock, secrets, egress, resolve, log })),
    ],
    packages?.unusable,
    ["webhooks", ...(packages?.loaded ?? []).map(({ definition }) => definition.type)],
  );
}

/** Creates a catalog of the given types. Use it to add your own types. */
export function catalogOf(
  types: readonly DestinationType[],
  unusable: readonly UnusablePackage[] = [],
  inThreads: readonly string[] = [],
): Catalog {
  const byType = new Map(types.map((entry) => [entry.type, entry]));
  return { types, unusable, inThreads: new Set(inThreads), get: (type) => byType.get(type) };
}

/** Why there is no type of this name, in a sentence. */
export function withoutType(type: string, { unusable }: Catalog): string {
  const why = unusable.map((one) => `. The package ${one.package} cannot be used: ${one.message}`);
  return `This collector has no destination type ${type}${why.join("")}`;
}
