import { Dialog } from "../ui/layout/dialog.js";
import { NAVIGATION_ITEMS } from "./navigation-items.js";

const GENERAL: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Ctrl", "K"], "Command palette (⌘ K on a Mac)"],
  [["/"], "Filter, on the live page"],
  [["Space"], "Pause and go on, on the live page"],
  [["↑", "↓"], "Walk through the list; Enter opens"],
  [["Shift", "T"], "Light or dark"],
  [["?"], "This list"],
];

export function ShortcutHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard">
      <div className="shortcut-columns">
        <ShortcutList entries={GENERAL} />
        <ShortcutList entries={NAVIGATION_ITEMS.map((place) => [["g", place.key], place.label])} />
      </div>
    </Dialog>
  );
}

function ShortcutList({
  entries,
}: {
  entries: readonly (readonly [keys: readonly string[], what: string])[];
}) {
  return (
    <dl className="shortcuts">
      {entries.map(([keys, what]) => (
        <div key={what}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
