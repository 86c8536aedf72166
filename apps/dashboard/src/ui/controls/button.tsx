import { type ComponentPropsWithRef, type ReactNode, useEffect, useId, useState } from "react";
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

/** Copies text and confirms it. */
export function CopyButton({
  text,
  label,
  withText = false,
}: {
  text: string;
  label: string;
  withText?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => void copyText(text).then(setCopied);
  const icon = copied ? "check" : "copy";
  return (
    <>
      {withText ? (
        <Button icon={icon} size="small" onClick={copy}>
          {copied ? "Copied" : label}
        </Button>
      ) : (
        <IconButton icon={icon} label={copied ? "Copied" : label} onClick={copy} />
      )}
      <span className="visually-hidden" role="status">
        {copied ? "Copied" : ""}
      </span>
    </>
  );
}

/** Resolves to whether it worked. Without https or localhost a page has no clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  // The only way over plain http from another machine, where `navigator.clipboard` is undefined.
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}

/** Loads the next page of a list; nothing on the last page. */
export function LoadMore({
  query,
}: {
  query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): Promise<unknown>;
  };
}) {
  if (!query.hasNextPage) return null;
  return (
    <div className="list-more">
      <Button size="small" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}

/** A choice between a few visible options: radio buttons that look like one control. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, label: string])[];
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {options.map(([one, words]) => (
        <label key={one} className="segment">
          <input type="radio" name={name} checked={one === value} onChange={() => onChange(one)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}
