export { type DefinedDestination, defineDestination } from "./define-destination.js";
export {
  type Attempt,
  type Connect,
  type ConnectTo,
  DESTINATION_INTERFACE,
  type DeliveryResult,
  type DestinationDefinition,
  type Flow,
  type OpenContext,
  type OpenDestination,
  type OutgoingMessage,
} from "./definition.js";
export type { SettingSchema, SettingsProblem, SettingsSchema } from "./settings.js";
