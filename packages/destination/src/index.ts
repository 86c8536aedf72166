export { connectionAdvice } from "./connection-advice.js";
export { type DefinedDestination, defineDestination, isIcon } from "./define-destination.js";
export {
  type Attempt,
  type Batch,
  type BatchLimits,
  type BatchResult,
  type Connect,
  type ConnectTo,
  DESTINATION_INTERFACE,
  type DeliversBatches,
  type DeliversMessages,
  type DeliveryResult,
  type DestinationDefinition,
  type ErasedUser,
  type Flow,
  type OpenContext,
  type OpenDestination,
  type OtherResult,
  type OutgoingMessage,
} from "./definition.js";
export { type MessageRow, rowOf } from "./row.js";
export {
  checkTls,
  maxAgeSetting,
  type SettingSchema,
  type SettingsProblem,
  type SettingsSchema,
  TLS_SETTINGS,
  type TlsSettings,
} from "./settings.js";
