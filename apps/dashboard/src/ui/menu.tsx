import { Menu as AriaMenu, MenuItem as AriaMenuItem, MenuButton, MenuProvider } from "@ariakit/react";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.js";

/** A button that opens a list of actions. */
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
  return (
    <MenuProvider placement="bottom-end">
      <MenuButton
        className={text ? "button button-plain" : "icon-button"}
        aria-label={text ? undefined : label}
      >
        <Icon name={icon} />
        {text}
        {text && <Icon name="down" size={12} />}
      </MenuButton>
      <AriaMenu className="menu" gutter={6} portal aria-label={label} unmountOnHide>
        {children}
      </AriaMenu>
    </MenuProvider>
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
  return (
    <AriaMenuItem className={danger ? "menu-item menu-item-danger" : "menu-item"} onClick={onSelect}>
      {icon && <Icon name={icon} />}
      {children}
    </AriaMenuItem>
  );
}
