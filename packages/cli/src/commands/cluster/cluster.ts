import type { ClusterMemberView, ClusterView } from "@sluice/control-api";
import type { Command } from "commander";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";

export function clusterCommand(io: Io): Command {
  const group = newGroup("cluster", "show the processes of a cluster, and take one out of service")
    .addCommand(statusCommand(io))
    .addCommand(drainCommand(io))
    .addCommand(moveCommand(io));
  subcommandExamples(group, {
    status: "sluice cluster status",
    drain: "sluice cluster drain node-1",
    move: "sluice cluster move 2 node-1",
  });
  return examples(group, [
    ["Before you upgrade a process that owns the partition", "sluice cluster drain node-1"],
    ["Afterwards", "sluice cluster drain node-1 --cancel"],
  ]);
}

function statusCommand(io: Io): Command {
  return connectedCommand(
    "status",
    "show the owner of the partition, the other processes, and how far their copies are behind",
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
        options.cancel ? `${shown} can own the partition again\n` : `${shown} is drained\n`,
      );
    });
}

function moveCommand(io: Io): Command {
  return connectedCommand(
    "move",
    "have a process own a partition whenever it can; without it, the processes share the partitions evenly",
  )
    .argument("<partition>", "the number of the partition, as `sluice cluster status` shows it")
    .argument("[node]", "the name of the process; not with `--cancel`")
    .option("--cancel", "let the processes share the partition again")
    .action(
      async (
        partition: string,
        node: string | undefined,
        options: CommandOptions & { readonly cancel?: boolean },
      ) => {
        if (node !== undefined && options.cancel)
          throw new CommandFailure("usage", "give the name of a process or `--cancel`, not both");
        if (node === undefined && !options.cancel)
          throw new CommandFailure(
            "usage",
            "name the process that is to own the partition, or give `--cancel`",
          );
        const client = await connect(options, io);
        const cluster = await (node === undefined
          ? client.cluster.unmove(partition)
          : client.cluster.move(partition, node));
        await show(io, options.json, cluster, () =>
          node === undefined
            ? `the processes share partition ${terminalText(partition)} again\n`
            : `partition ${terminalText(partition)} moves to ${terminalText(node)}\n`,
        );
      },
    );
}

function statusText({ name, engine, unsafe, partitions, members }: ClusterView, { style }: Io): string {
  const lines = [`cluster ${terminalText(name)}\n`];
  for (const { partition, owner, phase, term, movedTo } of partitions) {
    const moved = movedTo === undefined ? "" : `, moved to ${terminalText(movedTo)}`;
    lines.push(
      owner === undefined
        ? `partition ${partition}: no owner${moved}\n`
        : `partition ${partition}: ${terminalText(owner)}${phase === "leading" ? "" : ` (${phase})`}, term ${term}${moved}\n`,
    );
  }
  if (engine.kind === "disconnected")
    lines.push(`the NATS servers cannot be reached: ${terminalText(engine.reason)}\n`);
  if (unsafe !== undefined) lines.push(`not safe: ${terminalText(unsafe)}\n`);
  const rows = members.map((member) => [
    member.node,
    partitions.length === 1 || member.owns.length === 0
      ? member.role
      : `${member.role} of ${member.owns.join(", ")}`,
    stateOf(member),
    member.behindEntries === 0 ? "none" : `${member.behindEntries} entries, ${seconds(member.behindMs)}`,
    member.version,
    member.address,
  ]);
  return `${lines.join("")}\n${table(["NODE", "ROLE", "STATE", "BEHIND", "VERSION", "ADDRESS"], rows, style.bold)}`;
}

function stateOf({ isAlive, isReady, isDrained, heardMsAgo, problem }: ClusterMemberView): string {
  if (!isAlive) return `silent for ${seconds(heardMsAgo)}`;
  const state = isReady ? "ready" : `not ready${problem === undefined ? "" : `: ${problem}`}`;
  return isDrained ? `drained, ${state}` : state;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
