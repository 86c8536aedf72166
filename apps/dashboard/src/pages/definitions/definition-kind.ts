import type { SyncView } from "@sluice/control-api";
import type { ControlApi } from "../../api/control-api.js";
import { addresses } from "../../routing/addresses.js";
import type { IconName } from "../../ui/icon.js";

/** The fields that audiences and computed traits share. */
export interface Definition {
  readonly id: string;
  readonly name: string;
  /** The trait that destinations get. */
  readonly key: string;
  readonly destinationIds: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly status: SyncView;
  readonly version: number;
}

/** How the pages of one kind of definition differ from those of the other. */
export interface DefinitionKind<T extends Definition> {
  /** The first part of the query keys. */
  readonly resource: "audiences" | "computed-traits";
  readonly label: string;
  readonly icon: IconName;
  readonly up: { readonly href: string; readonly label: string };
  readonly address: (id: string) => string;
  /** The methods of the API for this kind. */
  readonly client: (api: ControlApi) => {
    get(id: string): Promise<T>;
    delete(id: string): Promise<void>;
  };
}

export const AUDIENCES = {
  resource: "audiences",
  label: "Audience",
  icon: "audiences",
  up: { href: addresses.audiences(), label: "Audiences" },
  address: addresses.audience,
  client: (api: ControlApi) => api.audiences,
} as const;

export const COMPUTED_TRAITS = {
  resource: "computed-traits",
  label: "Computed trait",
  icon: "traits",
  up: { href: addresses.computedTraits(), label: "Computed traits" },
  address: addresses.computedTrait,
  client: (api: ControlApi) => api.computedTraits,
} as const;
