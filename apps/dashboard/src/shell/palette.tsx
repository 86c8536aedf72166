import { Dialog } from "@ariakit/react";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useState } from "react";
import { useLocation } from "wouter";
import type { ControlApi } from "../api/control-api.js";
import { useApi, useAudiences, useDestinations, useSources, useTransformations } from "../api/queries.js";
import { useDebounced } from "../forms/event-suggestions.js";
import { addresses } from "../routing/addresses.js";
import { Icon } from "../ui/icon.js";
import { messageTitle, visibleText, visibleValue } from "../words/messages.js";
import { overallStateOf } from "../words/states.js";
import { commandsFor, type NamedThing, type PaletteCommand } from "./palette-commands.js";

/** Shorter texts are rarely ids. */
const SHORTEST = 2;

/** The message and the profile with this id, if there are any, with a preview. */
function useFoundById(text: string): readonly PaletteCommand[] {
  const api = useApi();
  const id = useDebounced(text.trim());
  const found = useQuery({
    queryKey: ["by-id", id],
    queryFn: async () => (await Promise.all([messageById(api, id), profileById(api, id)])).flat(),
    enabled: id.length >= SHORTEST && !/[\s:"]/.test(id),
    staleTime: 10_000,
  });
  return id === text.trim() ? (found.data ?? []) : [];
}

async function messageById(api: ControlApi, id: string): Promise<PaletteCommand[]> {
  const found = await api.messages.get(id).catch(() => undefined);
  if (found === undefined) return [];
  const [title, state] =
    found.state === "accepted"
      ? [messageTitle(found.message), overallStateOf(found.outcomes).label]
      : ["Not valid", "Rejected"];
  const does = { kind: "go", href: addresses.message(id) } as const;
  return [{ id: "message", label: `Message ${id}`, icon: "file", hint: `${title} · ${state}`, does }];
}

async function profileById(api: ControlApi, id: string): Promise<PaletteCommand[]> {
  const found = await api.profiles.get(id).catch(() => undefined);
  if (found === undefined) return [];
  const [trait] = Object.entries(found.traits);
  const hint =
    trait === undefined ? "Profile" : `${visibleText(trait[0], 30)}: ${visibleValue(trait[1], 40)}`;
  const does = { kind: "go", href: addresses.profile(id) } as const;
  return [{ id: "profile", label: `Profile of user ${id}`, icon: "profile", hint, does }];
}

interface PaletteProps {
  readonly onClose: () => void;
  readonly onTheme: () => void;
  readonly onSignOut: () => void;
}

/** The command palette: pages, sources, destinations, transformations, audiences, messages by id, and actions. */
export function Palette({ open, ...body }: PaletteProps & { open: boolean }) {
  return (
    <Dialog
      open={open}
      onClose={body.onClose}
      aria-label="Command palette"
      className="palette"
      backdrop={<div className="backdrop" />}
      unmountOnHide
    >
      <PaletteBody {...body} />
    </Dialog>
  );
}

function PaletteBody({ onClose, onTheme, onSignOut }: PaletteProps) {
  const [, navigate] = useLocation();
  const id = useId();
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const found = commandsFor(text, useNamedThings(), useFoundById(text));
  const run = (command: PaletteCommand) => {
    onClose();
    if (command.does.kind === "go") navigate(command.does.href);
    else if (command.does.kind === "theme") onTheme();
    else onSignOut();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const command = found[active];
    if (event.key === "Enter" && command !== undefined) run(command);
    else if (step !== undefined && found.length > 0) setActive((active + step + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="palette-head">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Command"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[active] && `${id}-${active}`}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Go to a page, find a message by id, search…"
          className="palette-input"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label="Commands" className="palette-list">
        {found.map((command, index) => (
          <Option
            key={command.id}
            id={`${id}-${index}`}
            command={command}
            isActive={index === active}
            onActive={() => setActive(index)}
            onRun={() => run(command)}
          />
        ))}
      </div>
    </>
  );
}

function Option({
  id,
  command,
  isActive,
  onActive,
  onRun,
}: {
  id: string;
  command: PaletteCommand;
  isActive: boolean;
  onActive: () => void;
  onRun: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names the active option
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
    <div
      id={id}
      role="option"
      aria-selected={isActive}
      className="palette-item"
      ref={(element) => {
        if (isActive) element?.scrollIntoView({ block: "nearest" });
      }}
      onMouseMove={onActive}
      onClick={onRun}
    >
      <Icon name={command.icon} />
      <span className="grow">{command.label}</span>
      {command.hint && <span className="faint small">{command.hint}</span>}
    </div>
  );
}

/** Sources, destinations, transformations and audiences, by name. */
function useNamedThings(): readonly NamedThing[] {
  const sources = useSources().data ?? [];
  const destinations = useDestinations().data ?? [];
  const audiences = useAudiences().data ?? [];
  const transformations = useTransformations().data ?? [];
  return [
    ...sources.map(({ id, name }) => named(name, addresses.source(id), "sources", "Source")),
    ...destinations.map(({ id, name }) =>
      named(name, addresses.destination(id), "destinations", "Destination"),
    ),
    ...transformations.map(({ id, name }) =>
      named(name, addresses.transformation(id), "code", "Transformation"),
    ),
    ...audiences.map(({ id, name }) => named(name, addresses.audience(id), "audiences", "Audience")),
  ];
}

function named(name: string, href: string, icon: NamedThing["icon"], kind: string): NamedThing {
  return { name, href, icon, kind };
}
