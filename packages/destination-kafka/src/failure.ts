import { connectionAdvice } from "@sluice/destination";
import type { KafkaSettings } from "./settings.js";

/** An error of kafkajs, which wraps others. `type` is Kafka's name of a refusal. */
interface Failure {
  readonly name?: string;
  readonly type?: string;
  readonly code?: unknown;
  readonly broker?: string;
  readonly message: string;
  readonly retriable?: boolean;
  readonly cause?: unknown;
}

/** The error that others are wrapped around. */
function rootOf(error: unknown): Failure {
  let root = error as Failure;
  while (root.cause !== undefined && root.cause !== null) root = root.cause as Failure;
  return root;
}

/** Whether the broker refused the records themselves, and so has written none of them. */
export function isAboutRecords(error: unknown): boolean {
  return ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD"].includes(rootOf(error).type ?? "");
}

/** Whether it may pass by itself, such as a broker that stopped. */
export function isPassing(error: unknown): boolean {
  return rootOf(error).retriable === true;
}

/** By the names of kafkajs, for errors that have no code. */
const CODES: { readonly [name: string]: string } = {
  KafkaJSSASLAuthenticationError: "SASL_AUTHENTICATION_FAILED",
  KafkaJSConnectionClosedError: "ECONNRESET",
  KafkaJSConnectionError: "ETIMEDOUT",
  KafkaJSRequestTimeoutError: "ETIMEDOUT",
};

interface Explained {
  readonly kind: "retry" | "failed";
  readonly reason: string;
  readonly detail: string;
}

/** What a failure means for messages, and what to do. Only records that a broker will never take fail for good. */
export function failureOf(error: unknown, settings: KafkaSettings): Explained {
  const root = rootOf(error);
  const { name = "error", type, code, message } = root;
  const reason = type ?? (typeof code === "string" ? code : (CODES[name] ?? name));
  const detail = `${adviceOn(reason, root, settings)}: ${message}`;
  return isAboutRecords(root) ? { kind: "failed", reason, detail } : { kind: "retry", reason, detail };
}

function adviceOn(reason: string, { broker, message }: Failure, settings: KafkaSettings): string {
  const { brokers, topic, user } = settings;
  const who = user === undefined ? "Who is not signed in" : `The user ${user}`;
  const server = broker ?? brokers;
  switch (reason) {
    case "UNKNOWN_TOPIC_OR_PARTITION":
      return `There is no topic ${topic}, or it may not be seen. Create it, or grant Describe`;
    case "TOPIC_AUTHORIZATION_FAILED":
      return `${who} may not write to ${topic}. Grant Write and Describe on the topic`;
    case "CLUSTER_AUTHORIZATION_FAILED":
      return `${who} may not write without repetitions. Grant IdempotentWrite on the cluster`;
    case "SASL_AUTHENTICATION_FAILED":
      return `The brokers refused the user ${user ?? ""}. Check mechanism, user name and password`;
    case "MESSAGE_TOO_LARGE":
    case "RECORD_LIST_TOO_LARGE":
      return `The message is larger than ${topic} takes. Raise max.message.bytes of the topic`;
    case "INVALID_RECORD":
      return `The topic ${topic} does not take such a record`;
    case "INVALID_TIMESTAMP":
      return "The clocks of collector and brokers differ, or the message has waited too long for the topic";
    case "NOT_ENOUGH_REPLICAS":
    case "NOT_ENOUGH_REPLICAS_AFTER_APPEND":
      return `Too few replicas of ${topic} are in sync. Start the brokers that are missing`;
    case "ERR_EGRESS_REFUSED":
      return `The address ${server}, which is set or which the brokers name, is not allowed. Add it to allowTargets`;
    case "ECONNRESET":
      return `${server} closed the connection. It stopped, or it expects other security or another mechanism`;
    default:
      return connectionAdvice({ code: reason, message }, server) ?? server;
  }
}
