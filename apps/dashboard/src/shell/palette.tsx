import { Dialog } from "@ariakit/react";
import { type KeyboardEvent, useId, useState } from "react";
import { useLocation } from "wouter";
import { useAudiences, useDestinations, useSources } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { Icon } from "../ui/icon.js";
import { commandsFor, type PaletteCommand } from "./palette-commands.js";

/** Everything by name: pages, sources, destinations, audiences, a message by its id, what can be done. */
export function Palette({
  open,
  onClose,
  onTheme,
  onSignOut,
}: {
  open: boolean;
  onClose: () => void;
  onTheme: () => void;
  onSignOut: () => void;
}) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      aria-label="Command palette"
      className="palette"
      backdrop={<div className="backdrop" />}
      unmountOnHide
    >
      <PaletteBody onClose={onClose} onTheme={onTheme} onSignOut={onSignOut} />
    </Dialog>
  );
}

function PaletteBody({
  onClose,
  onTheme,
  onSignOut,
}: {
  onClose: () => void;
  onTheme: () => void;
  onSignOut: () => void;
}) {
  const [, navigate] = useLocation();
  const id = useId();
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const sources = useSources().data ?? [];
  const destinations = useDestinations().data ?? [];
  const audiences = useAudiences().data ?? [];
  const found = commandsFor(text, [
    ...sources.map(
      (one) => ({ name: one.name, href: addresses.source(one.id), icon: "sources", kind: "Source" }) as const,
    ),
    ...destinations.map(
      (one) =>
        ({
          name: one.name,
          href: addresses.destination(one.id),
          icon: "destinations",
          kind: "Destination",
        }) as const,
    ),
    ...audiences.map(
      (one) =>
        ({ name: one.name, href: addresses.audience(one.id), icon: "audiences", kind: "Audience" }) as const,
    ),
  ]);
  const run = (command: PaletteCommand) => {
    onClose();
    if (command.does.kind === "go") navigate(command.does.href);
    else if (command.does.kind === "theme") onTheme();
    else onSignOut();
  };
  const walk = (event: KeyboardEvent) => {
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
          placeholder="Go to, find a message by id, search…"
          className="palette-input"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActive(0);
          }}
          onKeyDown={walk}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label="Commands" className="palette-list">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names the active option
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
          <div
            key={command.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            className="palette-item"
            ref={(element) => {
              if (index === active) element?.scrollIntoView({ block: "nearest" });
            }}
            onMouseMove={() => setActive(index)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span className="grow">{command.label}</span>
            {command.hint && <span className="faint small">{command.hint}</span>}
          </div>
        ))}
      </div>
    </>
  );
}
