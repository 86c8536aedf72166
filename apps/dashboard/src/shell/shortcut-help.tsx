import { Dialog } from "../ui/layout/dialog.js";
import { NAVIGATION_ITEMS } from "./navigation-items.js";

const GENERAL: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Ctrl", "K"], "Command palette (⌘ K on a Mac)"],
  [["/"], "Filter messages, on the live page"],
  [["Space"], "Pause or resume, on the live page"],
  [["↑", "↓"], "Move in the list; Enter opens"],
  [["Shift", "T"], "Toggle light and dark theme"],
  [["?"], "Show this list"],
];

export function ShortcutHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <div className="shortcut-columns">
        <ShortcutList entries={GENERAL} />
        <ShortcutList entries={NAVIGATION_ITEMS.map((item) => [["g", item.key], item.label])} />
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
