/**
 * The database's migrations. A folder's `user_version` is the number of steps already applied; opening applies the rest. Never change a
 * released step. Append a new one.
 */
export const SCHEMA_STEPS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE sources (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;

  -- The log: see ../log-row.ts.
  CREATE TABLE log_rows (first INTEGER PRIMARY KEY, meta BLOB NOT NULL, body BLOB NOT NULL) STRICT;
  -- Sealed segments: see segments.ts. state: 0 whole, 1 being dropped, 2 only its dedupe marks are left.
  CREATE TABLE segments (
    no INTEGER PRIMARY KEY, first INTEGER NOT NULL, "end" INTEGER NOT NULL, messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL, min_ms INTEGER NOT NULL, max_ms INTEGER NOT NULL, state INTEGER NOT NULL
  ) STRICT;
  -- A segment's indexes, in parts: key = segment * 256 + part. See sidecars.ts.
  CREATE TABLE sidecars (key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  -- The keys of what is not in a sealed segment yet, from which its indexes are made again at start.
  CREATE TABLE tail (
    first INTEGER PRIMARY KEY, segment INTEGER NOT NULL, "end" INTEGER NOT NULL, bytes INTEGER NOT NULL,
    min_ms INTEGER NOT NULL, max_ms INTEGER NOT NULL, keys BLOB NOT NULL
  ) STRICT;

  -- range: what is being sent, as JSON: see SentRange.
  CREATE TABLE consumers (
    no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, cursor INTEGER NOT NULL, range TEXT
  ) STRICT;
  -- Texts that outcomes and attempts share: see outcome-codec.ts.
  CREATE TABLE strings (no INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
  -- Outcomes (stream 0) and attempts (stream 1) in compact runs: see chunks.ts. mask: the states in it, one bit each.
  -- checksum: the CRC-32 of the data.
  CREATE TABLE chunks (
    no INTEGER PRIMARY KEY, consumer INTEGER NOT NULL, stream INTEGER NOT NULL, base INTEGER NOT NULL,
    min INTEGER NOT NULL, max INTEGER NOT NULL, mask INTEGER NOT NULL, data BLOB NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX chunks_by_offset ON chunks (consumer, stream, max, min, mask);
  -- What comes long after the messages around it was settled: ends of retries and of replays.
  CREATE TABLE late_outcomes (
    consumer INTEGER NOT NULL, offset INTEGER NOT NULL, state INTEGER NOT NULL, reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL, PRIMARY KEY (consumer, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE late_attempts (
    no INTEGER PRIMARY KEY, consumer INTEGER NOT NULL, offset INTEGER NOT NULL, data BLOB NOT NULL
  ) STRICT;
  CREATE INDEX late_attempts_by_offset ON late_attempts (consumer, offset);
  CREATE TABLE retries (
    consumer INTEGER NOT NULL, offset INTEGER NOT NULL, due_ms INTEGER NOT NULL, put_ms INTEGER NOT NULL,
    rounds INTEGER NOT NULL, first_ms INTEGER NOT NULL, reason TEXT NOT NULL, urls TEXT NOT NULL,
    replay INTEGER NOT NULL, lane INTEGER, PRIMARY KEY (consumer, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX retries_by_due ON retries (consumer, due_ms, offset);
  -- Retries with the same lane are sent in the order of the log: see Retry.lane. NULL: in no lane.
  CREATE INDEX retries_by_lane ON retries (consumer, lane, offset) WHERE lane IS NOT NULL;

  CREATE TABLE documents (
    no INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, json TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE TABLE rejections (
    no INTEGER PRIMARY KEY, source TEXT NOT NULL, at_ms INTEGER NOT NULL, message_id TEXT, json TEXT NOT NULL
  ) STRICT;
  CREATE TABLE usage (
    source INTEGER NOT NULL, day TEXT NOT NULL, accepted INTEGER NOT NULL, filtered INTEGER NOT NULL,
    delivered INTEGER NOT NULL, PRIMARY KEY (source, day)
  ) STRICT, WITHOUT ROWID;

  -- How far the log of entries is in the database: see applied-mark.ts. In a copy, also the parts of an entry that is not complete.
  CREATE TABLE replica (only INTEGER PRIMARY KEY CHECK (only = 1), applied TEXT NOT NULL) STRICT;
  CREATE TABLE replica_parts (place INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  -- See purged-messages.ts.
  CREATE TABLE replica_purged (offset INTEGER PRIMARY KEY) STRICT;
  `,
];
