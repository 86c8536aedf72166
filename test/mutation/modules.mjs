/** What a module of a group leaves out: texts, shapes and amounts. What is left takes branches, blocks and calls away, and turns comparisons. */
export const NOT_BRANCHES = [
  ...["ArithmeticOperator", "ArrayDeclaration", "ArrowFunction", "AssignmentOperator", "BooleanLiteral"],
  ...["MethodExpression", "ObjectLiteral", "OptionalChaining", "Regex", "StringLiteral", "UnaryOperator"],
  "UpdateOperator",
];

/**
 * What is mutated, and the tests that have to notice. `files` are pure decisions; `tests` are those that state their rules, so that a
 * mutant costs less than a second. Modules of a `group` have state: of them, only the branches are mutated.
 */
export const MODULES = [
  {
    name: "signature",
    files: [
      "packages/webhooks/src/signature/signature.ts",
      "packages/webhooks/src/signature/standard-webhooks.ts",
      "packages/webhooks/src/signature/check-signature.ts",
      "packages/webhooks/src/receiver/signed-ids.ts",
    ],
    tests: [
      "packages/webhooks/test/signature.test.ts",
      "packages/webhooks/test/standard-webhooks.test.ts",
      "packages/webhooks/test/check-signature.test.ts",
    ],
  },
  {
    name: "egress-policy",
    files: ["apps/collector/src/sender/egress-policy.ts"],
    tests: ["apps/collector/test/sender/egress-policy.test.ts"],
  },
  {
    name: "retry-schedule",
    files: ["packages/protocol/src/retry-schedule.ts", "packages/core/src/sending/decide-retry.ts"],
    tests: [
      "packages/protocol/test/retry-schedule.test.ts",
      "packages/core/test/sending/decide-retry.test.ts",
    ],
  },
  {
    name: "retry-after",
    files: ["packages/resilience/src/retry-after.ts"],
    tests: ["packages/resilience/test/retry-after.test.ts"],
  },
  {
    name: "breaker",
    files: ["packages/resilience/src/circuit-breaker.ts"],
    tests: ["packages/resilience/test/circuit-breaker.test.ts"],
  },
  {
    name: "decide",
    files: ["apps/collector/src/delivery/settling/retry-schedule.ts"],
    tests: ["apps/collector/test/delivery/retry-schedule.test.ts"],
  },
  {
    name: "match",
    files: ["apps/collector/src/delivery/routing/match.ts", "packages/protocol/src/filter/match-filter.ts"],
    tests: ["apps/collector/test/delivery/match.test.ts", "packages/protocol/test/message-filter.test.ts"],
  },
  {
    name: "limits",
    files: ["packages/core/src/queue/queue-limits.ts"],
    tests: ["packages/core/test/queue/queue-limits.test.ts"],
  },
  {
    name: "validate",
    files: ["packages/protocol/src/messages/validate.ts"],
    tests: ["packages/protocol/test/validate.test.ts"],
  },
  {
    name: "evaluate",
    files: ["packages/audiences/src/conditions/evaluate.ts"],
    tests: ["packages/audiences/test/conditions/evaluate.test.ts"],
  },
  {
    name: "merge",
    files: [
      "packages/audiences/src/engine/messages/join-ids.ts",
      "packages/audiences/src/engine/evaluation/merge-profiles.ts",
      "packages/audiences/src/profiles/identities.ts",
      "packages/audiences/src/profiles/refused-joins.ts",
    ],
    tests: ["packages/audiences/test/engine/merge.test.ts"],
  },
  {
    name: "fence",
    files: [
      "packages/event-log/src/sqlite/replica/judge.ts",
      "packages/event-log/src/replicated/writer/after-answer.ts",
      "packages/event-log/src/replicated/writer/found-entry.ts",
      "packages/event-log/src/replicated/writer/next-group.ts",
    ],
    tests: ["packages/event-log/test/replicated/entries.test.ts"],
  },
  {
    name: "ownership",
    files: ["apps/collector/src/cluster/ownership/decide.ts"],
    tests: ["apps/collector/test/cluster/decide.test.ts"],
  },
  {
    name: "delivery-order",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/in-flight.ts",
      "apps/collector/src/delivery/ordering/lane-of.ts",
      "apps/collector/src/delivery/ordering/user-order.ts",
      "apps/collector/src/delivery/reading/cursor-tracker.ts",
    ],
    tests: ["apps/collector/test/delivery/user-order.test.ts", "apps/collector/test/delivery/values.test.ts"],
  },
  {
    name: "delivery-sending",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/sending/combine-outcomes.ts",
      "apps/collector/src/delivery/sending/destination-gate.ts",
    ],
    tests: [
      "apps/collector/test/delivery/combine-outcomes.test.ts",
      "apps/collector/test/delivery/destination-gate.test.ts",
    ],
  },
  {
    name: "delivery-settling",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/settling/delivery-events.ts",
      "apps/collector/src/delivery/settling/ledger.ts",
      "apps/collector/src/delivery/settling/recovery.ts",
      "apps/collector/src/delivery/settling/retry-queue.ts",
      "apps/collector/src/delivery/settling/settle-traces.ts",
      "apps/collector/src/delivery/settling/settler.ts",
    ],
    tests: [
      "apps/collector/test/delivery/settler.test.ts",
      "apps/collector/test/delivery/retry-queue.test.ts",
      "apps/collector/test/delivery/delivery-events.test.ts",
      "apps/collector/test/delivery/recovery.test.ts",
    ],
  },
  {
    name: "delivery-reading",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/ordering/restore-order.ts",
      "apps/collector/src/delivery/reading/catch-up.ts",
      "apps/collector/src/delivery/reading/log-window.ts",
      "apps/collector/src/delivery/reading/message-loader.ts",
      "apps/collector/src/delivery/reading/shared-reader.ts",
      "apps/collector/src/delivery/reading/unread-messages.ts",
      "apps/collector/src/delivery/reading/work.ts",
      "apps/collector/src/delivery/wake-timer.ts",
    ],
    tests: [
      "apps/collector/test/delivery/log-window.test.ts",
      "apps/collector/test/delivery/shared-reader.test.ts",
      "apps/collector/test/delivery/message-loader.test.ts",
      "apps/collector/test/delivery/unread-messages.test.ts",
      "apps/collector/test/delivery/catch-up.test.ts",
      "apps/collector/test/delivery/restore-order.test.ts",
      "apps/collector/test/delivery/wake-timer.test.ts",
      "apps/collector/test/delivery/values.test.ts",
    ],
  },
  {
    name: "delivery-health",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/health/judge-health.ts",
      "apps/collector/src/delivery/health/last-tried.ts",
      "apps/collector/src/delivery/health/summarize-health.ts",
    ],
    tests: ["apps/collector/test/delivery/health.test.ts"],
  },
  {
    name: "delivery-threads",
    group: "delivery",
    files: [
      "apps/collector/src/delivery/readings.ts",
      "apps/collector/src/delivery/workers/assign.ts",
      "apps/collector/src/delivery/workers/batched-tally.ts",
    ],
    tests: ["apps/collector/test/delivery/assign.test.ts", "apps/collector/test/delivery/readings.test.ts"],
  },
  {
    name: "node-spool",
    group: "sdk",
    files: [
      "packages/node/src/spool/holder.ts",
      "packages/node/src/spool/read-messages.ts",
      "packages/node/src/spool/spool-directory.ts",
      "packages/node/src/spool/spool-files.ts",
      "packages/node/src/spool/write-synced.ts",
    ],
    tests: ["packages/node/test/spool-directory.test.ts", "packages/node/test/spool.test.ts"],
  },
  {
    name: "sdk-queue",
    group: "sdk",
    files: [
      "packages/core/src/queue/batcher.ts",
      "packages/core/src/queue/flush-watch.ts",
      "packages/core/src/queue/message-queue.ts",
      "packages/core/src/queue/request-flush.ts",
      "packages/core/src/queue/request-scheduler.ts",
      "packages/core/src/queue/timer-scheduler.ts",
      "packages/core/src/sending/classify-response.ts",
    ],
    tests: [
      "packages/core/test/queue/flushing.test.ts",
      "packages/core/test/queue/ready.test.ts",
      "packages/core/test/queue/in-requests.test.ts",
      "packages/core/test/queue/batcher.test.ts",
      "packages/core/test/queue/flush-timeout.test.ts",
      "packages/core/test/queue/request-flush.test.ts",
      "packages/core/test/queue/message-queue.test.ts",
      "packages/core/test/queue/cut-batch.test.ts",
      "packages/core/test/queue/flush-policy.test.ts",
      "packages/core/test/sending/classify-response.test.ts",
      "packages/core/test/closing.test.ts",
      "packages/core/test/disabling.test.ts",
      "packages/core/test/sending/spooling.test.ts",
      "packages/core/test/message/async-before-send.test.ts",
    ],
  },
  {
    name: "sdk-sending",
    group: "sdk",
    files: [
      "packages/core/src/sending/enriching-sender.ts",
      "packages/core/src/sending/http-sender.ts",
      "packages/core/src/sending/outcome.ts",
      "packages/core/src/sending/pauses.ts",
      "packages/core/src/sending/retrying-sender.ts",
      "packages/core/src/sending/sender.ts",
      "packages/core/src/sending/spooling-sender.ts",
    ],
    tests: [
      "packages/core/test/sending/http-sender.test.ts",
      "packages/core/test/sending/retrying-sender.test.ts",
      "packages/core/test/sending/spooling-sender.test.ts",
      "packages/core/test/sending/splitting-sender.test.ts",
      "packages/core/test/sending/retrying.test.ts",
      "packages/core/test/sending/spooling.test.ts",
      "packages/core/test/message/async-before-send.test.ts",
      "packages/core/test/closing.test.ts",
      "packages/core/test/disabling.test.ts",
      "packages/core/test/reporting/reporting.test.ts",
    ],
  },
  {
    name: "replication-writer",
    group: "replication",
    files: [
      "packages/event-log/src/replicated/writer/read-log.ts",
      "packages/event-log/src/replicated/writer/writer.ts",
    ],
    tests: ["packages/event-log/test/replicated/writer.test.ts"],
  },
  {
    name: "file-log",
    group: "replication",
    files: [
      "packages/event-log/src/file-log/beginning.ts",
      "packages/event-log/src/file-log/file-log.ts",
      "packages/event-log/src/file-log/frame.ts",
      "packages/event-log/src/file-log/read-frames.ts",
    ],
    tests: ["packages/event-log/test/file-log/file-log.test.ts"],
  },
  {
    name: "spread-server",
    group: "http",
    files: ["apps/collector/src/workers/spread-server.ts"],
    tests: ["apps/collector/test/workers/spread-server.test.ts"],
  },
];
