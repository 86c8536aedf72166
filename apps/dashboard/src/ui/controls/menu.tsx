import { Composite, CompositeItem, CompositeProvider, useCompositeStore } from "@ariakit/react";
import { createContext, type ReactNode, useContext, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "../icon.js";

const CloseContext = createContext<() => void>(() => {});

/** Between the button and its list, and between the list and the window's edge, in pixels. */
const GAP = 6;

/**
 * A button that opens a list of actions. The browser's own popover closes it (Escape, a press outside) and gives the
 * focus back; Ariakit's composite walks it by arrow keys.
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
  const items = useCompositeStore({ orientation: "vertical", focusLoop: true });
  const close = () => list.current?.hidePopover();
  useEffect(() => {
    if (isOpen) items.move(items.first());
  }, [isOpen, items]);
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
        onToggle={(event) => {
          const isNowOpen = event.newState === "open";
          if (isNowOpen) place(event.currentTarget, button.current);
          setOpen(isNowOpen);
        }}
      >
        <CompositeProvider store={items}>
          <Composite
            role="menu"
            aria-label={label}
            className="menu-items"
            onBlur={({ relatedTarget, currentTarget }) => {
              if (isOpen && relatedTarget !== null && !currentTarget.contains(relatedTarget)) close();
            }}
          >
            <CloseContext value={close}>{children}</CloseContext>
          </Composite>
        </CompositeProvider>
      </div>
    </>
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

/** Under the button, its right edge at the button's; above it where there is no room below. */
function place(list: HTMLElement, button: HTMLElement | null): void {
  if (button === null) return;
  const anchor = button.getBoundingClientRect();
  const below = anchor.bottom + GAP;
  const fits = below + list.offsetHeight + GAP <= innerHeight;
  list.style.top = `${fits ? below : Math.max(GAP, anchor.top - GAP - list.offsetHeight)}px`;
  list.style.left = `${Math.max(GAP, anchor.right - list.offsetWidth)}px`;
}
