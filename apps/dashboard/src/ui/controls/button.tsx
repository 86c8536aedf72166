import type { ComponentPropsWithRef, ReactNode } from "react";
import { Link } from "wouter";
import { Icon, type IconName } from "../icon.js";

type Look = "primary" | "plain" | "quiet" | "danger";

interface ButtonLook {
  readonly look?: Look;
  readonly size?: "normal" | "small";
  readonly icon?: IconName;
}

function classOf({ look = "plain", size = "normal" }: ButtonLook): string {
  return `button button-${look}${size === "small" ? " button-small" : ""}`;
}

/** A busy button keeps its width, tells screen readers, and ignores further presses. */
export function Button({
  look,
  size,
  icon,
  busy = false,
  children,
  ...rest
}: ComponentPropsWithRef<"button"> & ButtonLook & { busy?: boolean }) {
  return (
    <button
      type="button"
      {...rest}
      className={`${classOf({ ...(look && { look }), ...(size && { size }) })} ${rest.className ?? ""}`}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest["aria-disabled"]}
      onClick={busy ? (event) => event.preventDefault() : rest.onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function ButtonLink({
  look,
  size,
  icon,
  children,
  ...rest
}: ComponentPropsWithRef<"a"> & ButtonLook & { href: string }) {
  return (
    <Link {...rest} className={classOf({ ...(look && { look }), ...(size && { size }) })}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}

/** A square button with only an icon. `label` is its accessible name and tooltip. */
export function IconButton({
  icon,
  label,
  children,
  ...rest
}: Omit<ComponentPropsWithRef<"button">, "aria-label"> & {
  icon: IconName;
  label: string;
  children?: ReactNode;
}) {
  return (
    <button
      type="button"
      {...rest}
      className={`icon-button ${rest.className ?? ""}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}
