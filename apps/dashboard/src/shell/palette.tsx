import { Dialog } from "@ariakit/react";
import { type KeyboardEvent, useId, useState } from "react";
import { useLocation } from "wouter";
import { useAudiences, useDestinations, useSources, useTransformations } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { Icon } from "../ui/icon.js";
import { commandsFor, type NamedThing, type PaletteCommand } from "./palette-commands.js";
import { useFoundById } from "./use-found-by-id.js";

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
