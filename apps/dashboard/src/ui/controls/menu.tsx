import { Composite, CompositeItem, CompositeProvider, useCompositeStore } from "@ariakit/react";
import { createContext, type ReactNode, useContext, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "../icon.js";

const CloseContext = createContext<() => void>(() => {});

/** Pixels between the button and its list, and between the list and the edge of the window. */
const GAP = 6;

/**
 * A button that opens a list of actions. The browser's popover handles Escape, presses outside and the focus; Ariakit's
 * composite handles the arrow keys.
 */
export function Menu({
  label,
  icon,
  text,
  children,
}: {
  label: string;
  icon: IconName;
  /** Absent: the button shows only its icon. */
  text?: string;
  children: ReactNode;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        ref={button}
        type="button"
        className={text ? "button button-plain" : "icon-button"}
        aria-label={text ? undefined : label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popoverTarget={id}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          list.current?.showPopover();
        }}
      >
        <Icon name={icon} />
        {text}
        {text && <Icon name="down" size={12} />}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu"
        onToggle={({ newState, currentTarget }) => {
          if (newState === "open") place(currentTarget, button.current);
          setOpen(newState === "open");
        }}
      >
        <MenuItems label={label} isOpen={isOpen} onClose={() => list.current?.hidePopover()}>
          {children}
        </MenuItems>
      </div>
    </>
  );
}

/** The items, one of which has the focus while the menu is open. Moving the focus elsewhere closes the menu. */
function MenuItems({
  label,
  isOpen,
  onClose,
  children,
}: {
  label: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const items = useCompositeStore({ orientation: "vertical", focusLoop: true });
  useEffect(() => {
    if (isOpen) items.move(items.first());
  }, [isOpen, items]);
  return (
    <CompositeProvider store={items}>
      <Composite
        role="menu"
        aria-label={label}
        className="menu-items"
        onBlur={({ relatedTarget, currentTarget }) => {
          if (isOpen && relatedTarget !== null && !currentTarget.contains(relatedTarget)) onClose();
        }}
      >
        <CloseContext value={onClose}>{children}</CloseContext>
      </Composite>
    </CompositeProvider>
  );
}

export function MenuItem({
  icon,
  danger = false,
  onSelect,
  children,
}: {
  icon?: IconName;
  danger?: boolean;
  onSelect: () => void;
  children: ReactNode;
}) {
  const close = useContext(CloseContext);
  return (
    <CompositeItem
      role="menuitem"
      className={danger ? "menu-item menu-item-danger" : "menu-item"}
      onClick={() => {
        close();
        onSelect();
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
    </CompositeItem>
  );
}

/** Below the button, right-aligned with it; above it if there is no room below. */
function place(list: HTMLElement, button: HTMLElement | null): void {
  if (button === null) return;
  const anchor = button.getBoundingClientRect();
  const below = anchor.bottom + GAP;
  const fits = below + list.offsetHeight + GAP <= innerHeight;
  list.style.top = `${fits ? below : Math.max(GAP, anchor.top - GAP - list.offsetHeight)}px`;
  list.style.left = `${Math.max(GAP, anchor.right - list.offsetWidth)}px`;
}
