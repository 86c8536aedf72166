import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider, Dialog } from "@ariakit/react";
import { useDeferredValue, useState } from "react";
import { useAudiences, useDestinations, useSources } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { useRouter } from "../routing/router.js";
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
  const { navigate } = useRouter();
  const [text, setText] = useState("");
  const asked = useDeferredValue(text);
  const sources = useSources().data ?? [];
  const destinations = useDestinations().data ?? [];
  const audiences = useAudiences().data ?? [];
  const found = commandsFor(asked, [
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
  return (
    <ComboboxProvider open setValue={setText} focusLoop>
      <div className="palette-head">
        <Icon name="search" />
        <Combobox
          autoSelect="always"
          placeholder="Go to, find a message by id, search…"
          aria-label="Command"
          className="palette-input"
        />
      </div>
      <ComboboxList className="palette-list" alwaysVisible aria-label="Commands">
        {found.map((command) => (
          <ComboboxItem
            key={command.id}
            className="palette-item"
            value={command.label}
            setValueOnClick={false}
            hideOnClick={false}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span className="grow">{command.label}</span>
            {command.hint && <span className="faint small">{command.hint}</span>}
          </ComboboxItem>
        ))}
      </ComboboxList>
    </ComboboxProvider>
  );
}
