// The ports, and the stores behind them.

// JSON as bytes, and as text without loss of digits.
export { findTexts, findWriteKey } from "./bytes/find-fields.js";
export { JsonNames } from "./bytes/json-names.js";
export { decodeUtf8, inspectJson, parseJson } from "./bytes/parse-json.js";
export { itemSpan, type JsonScan, scanJson, withoutItems } from "./bytes/scan-json.js";
export {
  IRREGULAR,
  MAX_DEPTH,
  matchesAt,
  NULL,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  scanFields,
  scanItems,
  scanPlainString,
  scanValue,
  skipWhitespace,
} from "./bytes/scan-values.js";
export { syncDirectory } from "./file-log/beginning.js";
export { type MemoryStore, openMemoryStore } from "./memory/open-memory-store.js";
export { memoryProfileStore } from "./memory/profiles.js";
// Messages: batches of bytes, their offsets, and the ids in them.
export type { MessageKey, NewBatch, StoredBatch, StoredMessage } from "./message/batch.js";
export { BEFORE_FIRST, lastMessageIndex, type Offset, offsetAt } from "./message/batch.js";
export {
  coerceMessages,
  type DecodedRequest,
  decodeBatch,
  isWithoutDelivery,
  requestOf,
} from "./message/decode-batch.js";
export { wantsIp } from "./message/fill-ip.js";
export {
  anonymousIdentity,
  type IdDigest,
  type Identity,
  idDigest,
  idDigestKey,
  identityOf,
  idOf,
  isUserIdentity,
  namedUsers,
  userIdentity,
  usersOf,
} from "./message/identity.js";
export { type ScannedRequest, scanRequest } from "./message/scan-request.js";
export type {
  Attempt,
  ConsumerState,
  Consumers,
  Delivery,
  DeliveryTally,
  FinalState,
  Lane,
  Outcome,
  ResponseHeaders,
  Retry,
  ScannedDelivery,
  ScanPart,
  SentRange,
  Settlement,
  UrlRetry,
} from "./ports/consumers.js";
export type { ConfigStore, DocumentPut, Page, PageRequest, Versioned } from "./ports/documents.js";
export { DOCUMENT_KINDS } from "./ports/documents.js";
export {
  FOLDER_IN_USE,
  NotInForce,
  STORE_ERRORS,
  StorageUnavailable,
  StoreError,
  type StoreErrorCode,
  VersionConflict,
} from "./ports/errors.js";
export type { EventLog, MessageQuery } from "./ports/event-log.js";
export {
  type PendingMessage,
  PROFILE_LIMITS,
  type ProfileCommit,
  type ProfileRecord,
  type ProfileStore,
  type Seen,
} from "./ports/profiles.js";
export type { Purging } from "./ports/purging.js";
export type { Rejection } from "./ports/rejections.js";
export type { SnapshotInfo, Snapshots } from "./ports/snapshots.js";
export type { Store } from "./ports/store.js";
// The replicated store, and what it needs of an engine.
export {
  type EngineHealth,
  EngineUnavailable,
  EntriesTrimmed,
  type LeaseRecord,
  type Leases,
  type LogAppend,
  type LogEntry,
  type ReplicatedLog,
  type ReplicationEngine,
  type SnapshotRecord,
  type SnapshotStorage,
} from "./replicated/engine.js";
export {
  CONTENT_NAMES,
  type ContentName,
  type Contents,
  type Counted,
  differences,
} from "./replicated/migration/contents.js";
export type { MigrationProgress, MigrationResult } from "./replicated/migration/migration-result.js";
export {
  MigrationDiffers,
  type MigrationRefusal,
  MigrationRefused,
} from "./replicated/migration/migration-result.js";
export { moveIn } from "./replicated/migration/move-in.js";
export { DOWNLOAD_FOLDER, moveOut } from "./replicated/migration/move-out.js";
export { contentsOfFolder, documentsOf, type StoredDocument } from "./replicated/migration/read-folder.js";
export { openReplica } from "./replicated/open-replica.js";
export type {
  LeadingStores,
  LeadOptions,
  Replica,
  ReplicaOptions,
  ReplicaRole,
  ReplicaStatus,
} from "./replicated/replica.js";
// Rules that every store and its callers share.
export { type DocumentMirror, followInTime, mirrorDocuments } from "./rules/following.js";
export { readPosition, writePosition } from "./rules/page-cursor.js";
export {
  covers,
  type SpanIndex,
  SUPPRESSION,
  type SuppressedId,
  type SuppressedKind,
  type SuppressionDocument,
  spanIndex,
  suppressedId,
} from "./rules/purging.js";
export type { RetentionOptions } from "./sqlite/calls/tuning.js";
export { openSqliteStore, type SqliteStoreOptions } from "./sqlite/open-sqlite-store.js";
export { openSqliteProfileStore } from "./sqlite/profiles/profiles.js";
export type { DamagedStretch } from "./sqlite/repair/log/repair-rows.js";
export { type RepairReport, repairStore } from "./sqlite/repair/repair-store.js";
export { type JoinedStore, joinStore } from "./sqlite/sharing/join-store.js";
export { STORE_LAYOUTS } from "./sqlite/store-layouts.js";
