import type { ClusterMemberView, ClusterView } from "@sluice/control-api";
import type { Command } from "commander";
import { type CommandOptions, connect, connectedCommand } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition.js";
import type { Io } from "../../terminal/io.js";
import { table } from "../../terminal/table.js";
import { show, terminalText } from "../../terminal/terminal-text.js";

export function clusterCommand(io: Io): Command {
  const group = newGroup("cluster", "show the processes of a cluster, and take one out of service")
    .addCommand(statusCommand(io))
    .addCommand(drainCommand(io));
  subcommandExamples(group, {
    status: "sluice cluster status",
    drain: "sluice cluster drain node-1",
  });
  return examples(group, [
    ["Before you upgrade the process that is the owner", "sluice cluster drain node-1"],
    ["Afterwards", "sluice cluster drain node-1 --cancel"],
  ]);
}

function statusCommand(io: Io): Command {
  return connectedCommand(
    "status",
    "show the owner, the other processes, and how far their copies are behind",
  ).action(async (options: CommandOptions) => {
    const client = await connect(options, io);
    const cluster = await client.cluster.get();
    await show(io, options.json, cluster, () => statusText(cluster, io));
  });
}

function drainCommand(io: Io): Command {
  return connectedCommand(
    "drain",
    "make a process hand over and not become the owner again; it still passes requests on",
  )
    .argument("<node>", "the name of the process, as `sluice cluster status` shows it")
    .option("--cancel", "let the process become the owner again")
    .action(async (node: string, options: CommandOptions & { readonly cancel?: boolean }) => {
      const client = await connect(options, io);
      const cluster = await (options.cancel ? client.cluster.undrain(node) : client.cluster.drain(node));
      const shown = terminalText(node);
      await show(io, options.json, cluster, () =>
        options.cancel ? `${shown} can be the owner again\n` : `${shown} is drained\n`,
      );
    });
}

function statusText({ name, engine, unsafe, owner, term, members }: ClusterView, io: Io): string {
  const lines = [`cluster ${terminalText(name)}\n`];
  lines.push(
    owner === undefined
      ? "no owner\n"
      : `owner ${terminalText(owner.node)}${owner.phase === "leading" ? "" : ` (${owner.phase})`}, term ${term}\n`,
  );
  if (engine.kind === "disconnected")
    lines.push(`the NATS servers cannot be reached: ${terminalText(engine.reason)}\n`);
  if (unsafe !== undefined) lines.push(`not safe: ${terminalText(unsafe)}\n`);
  const rows = members.map((member) => [
    member.node,
    member.role,
    stateOf(member),
    member.behindEntries === 0 ? "none" : `${member.behindEntries} entries, ${seconds(member.behindMs)}`,
    member.version,
    member.address,
  ]);
  return `${lines.join("")}\n${table(["NODE", "ROLE", "STATE", "BEHIND", "VERSION", "ADDRESS"], rows, io)}`;
}

function stateOf({ isAlive, isReady, isDrained, heardMsAgo, problem }: ClusterMemberView): string {
  if (!isAlive) return `silent for ${seconds(heardMsAgo)}`;
  const state = isReady ? "ready" : `not ready${problem === undefined ? "" : `: ${problem}`}`;
  return isDrained ? `drained, ${state}` : state;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
