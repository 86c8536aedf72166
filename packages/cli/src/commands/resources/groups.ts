import type { Command } from "commander";
import { type CommandMaker, examples, newGroup } from "../../definition.js";
import { endpointCommand } from "../../endpoints/endpoint-command.js";
import { TABLE } from "../../endpoints/fields.js";
import { discardCommand, retryCommand } from "../messages/deliveries.js";
import { getCommand, listCommand } from "../messages/messages.js";
import { waitCommand } from "../messages/wait.js";
import { showCommand } from "../operations.js";
import { dryRunCommand, testCommand } from "../transformations/try-code.js";
import { enableCommand } from "./enable-destination.js";
import { EXTRAS } from "./extras.js";

/** The commands that endpoints describe. */
const DESCRIBED = Object.entries(TABLE).flatMap(([key, { commands = [] }]) =>
  commands.map((spec) => ({ key, spec, path: spec.name.split(" ") })),
);

interface GroupWords {
  readonly summary: string;
  readonly examples: readonly (readonly [comment: string, commandLine: string])[];
  /** Commands that do more than call an endpoint. */
  readonly others?: readonly CommandMaker[];
}

const GROUPS = {
  messages: {
    summary: "find messages and see their outcomes",
    examples: [
      ["Messages that failed today", "sluice messages list outcome:failed --from $(date -I)"],
      ["In a test: wait at most five seconds for the delivery", "sluice messages wait m-42 --timeout 5s"],
    ],
    others: [listCommand, getCommand, waitCommand],
  },
  deliveries: {
    summary: "show deliveries and why they fail, retry or discard them",
    examples: [["Failed deliveries", "sluice deliveries list --state failed"]],
    others: [retryCommand, discardCommand],
  },
  operations: {
    summary: "show bulk retries, replays and discards, cancel one",
    examples: [["What bulk retries came to", "sluice operations list"]],
    others: [showCommand],
  },
  sources: {
    summary: "manage sources and their write keys",
    examples: [
      ["A source for a web shop", "sluice sources create Shop --kind web"],
      ["A new write key; the old one stays valid", "sluice sources rotate-key Shop"],
      ["Count the messages that violate a tracking plan", "sluice sources plan set Shop plan.json"],
    ],
  },
  events: {
    summary: "see which events a source sent",
    examples: [
      ["Names, counts and properties", "sluice events list Shop"],
      ["What the tracking plan does not know", "sluice events list Shop --unplanned"],
    ],
  },
  destinations: {
    summary: "manage and test destinations",
    examples: [
      [
        "A signed webhook for all sources",
        "sluice destinations create --webhook https://example.com/hook --secret …",
      ],
      ["Check that it accepts messages", "sluice destinations test Webhooks"],
    ],
    others: [enableCommand],
  },
  transformations: {
    summary: "manage and try code that changes messages on their way to destinations",
    examples: [
      [
        "Save it, with a secret from the environment variable HASH_KEY",
        'sluice transformations create "Hash e-mail" --file hash-email.ts --secret HASH_KEY',
      ],
      ["Attach it", 'sluice destinations update Warehouse --transformation "Hash e-mail"'],
    ],
    others: [testCommand, dryRunCommand],
  },
  audiences: {
    summary: "manage, preview and explain audiences",
    examples: [
      ["Who would be a member", "sluice audiences preview --condition @keen-buyers.json"],
      ["Why a user is not a member", "sluice audiences why 'Keen buyers' user-42"],
    ],
  },
  traits: {
    summary: "manage, preview and explain computed traits",
    examples: [
      ["A user's values", "sluice profiles get user-42"],
      ["Why a user has this value", "sluice traits why 'Spent 30 days' user-42"],
    ],
  },
  profiles: {
    summary: "search and show user profiles",
    examples: [
      ["Find a user by a part of an id or trait", "sluice profiles list ada@example.com"],
      ["A user's ids, traits, computed traits and audiences", "sluice profiles get user-42"],
    ],
  },
  deletions: {
    summary: "delete users' data, show receipts and refuse later messages",
    examples: [
      ["What would be deleted", "sluice deletions create user-42 --dry-run"],
      ["Delete a user and refuse later messages", "sluice deletions create user-42 --suppress --yes"],
      ["The receipt", "sluice deletions get del_4kZ"],
    ],
  },
  incidents: {
    summary: "show what is wrong, and what was",
    examples: [
      ["What is wrong now, and what was", "sluice incidents list"],
      [
        "Post incidents to a webhook",
        "sluice destinations create --source sluice --webhook https://alerts.example.com/sluice",
      ],
    ],
  },
  tokens: {
    summary: "create, list and revoke admin tokens",
    examples: [
      ["A read-only token for a wall display", "sluice tokens create wall --access read"],
      ["For Prometheus on another machine", "sluice tokens create prometheus --access metrics"],
    ],
  },
  plan: { summary: "hold the messages of a source to a tracking plan", examples: [] },
} as const satisfies { readonly [name: string]: GroupWords };

/** A group with the commands of its endpoints, and others that do more. */
export function group(name: keyof typeof GROUPS): CommandMaker {
  const { summary, examples: lines, others = [] }: GroupWords = GROUPS[name];
  return (io) => {
    const made = newGroup(name, summary);
    for (const { key, spec, path } of DESCRIBED)
      if (path[0] === name)
        inside(made, path).addCommand(endpointCommand(key, spec, EXTRAS[spec.name] ?? {}, io));
    for (const other of others) made.addCommand(other(io));
    return examples(made, lines);
  };
}

/** The group that the command is in: `sources plan` for `sources plan get`. */
function inside(outer: Command, [, name, last]: readonly string[]): Command {
  if (name !== "plan" || last === undefined) return outer;
  const known = outer.commands.find((command) => command.name() === name);
  const inner = known ?? newGroup(name, GROUPS[name].summary);
  if (known === undefined) outer.addCommand(inner);
  return inner;
}

/** A command outside a group: `reset`. */
export function single(name: string): CommandMaker {
  return (io) => {
    const found = DESCRIBED.find(({ spec }) => spec.name === name);
    if (found === undefined) throw new Error(`no endpoint has the command ${name}`);
    return endpointCommand(found.key, found.spec, {}, io);
  };
}
