import type { Clock } from "@sluice/resilience";
import type { ResolveHost } from "../sender/checked-connector.js";
import type { EgressPolicy } from "../sender/egress-policy.js";
import { endpoint, type OpenEndpoint } from "../sender/endpoint.js";
import { hostResolver } from "../sender/host-resolver.js";
import { consoleType } from "./console/console.js";
import type { DestinationType } from "./destination.js";
import { fileType } from "./file/file.js";
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
}

/** The available destination types. */
export interface Catalog {
  readonly types: readonly DestinationType[];
  get(type: string): DestinationType | undefined;
}

export function createCatalog(deps: CatalogDeps): Catalog {
  const { clock, secrets, egress, exportsFolder } = deps;
  const resolve = deps.resolve ?? hostResolver({ clock });
  const printLine = deps.printLine ?? ((line: string) => void process.stderr.write(`${line}\n`));
  return catalogOf([
    webhooksType({ clock, secrets, egress, resolve, openEndpoint: deps.openEndpoint ?? endpoint }),
    consoleType({ clock, printLine }),
    fileType({ clock, folder: exportsFolder }),
  ]);
}

/** Creates a catalog of the given types. Use it to add your own types. */
export function catalogOf(types: readonly DestinationType[]): Catalog {
  const byType = new Map(types.map((entry) => [entry.type, entry]));
  return { types, get: (type) => byType.get(type) };
}
