import type { ComponentPropsWithRef, MouseEvent } from "react";
import { useRouter } from "./router.js";

/** An `<a>` that stays in the page; with a modifier key or the middle button it is the browser's own. */
export function Link({ href, onClick, ...rest }: ComponentPropsWithRef<"a"> & { href: string }) {
  const { navigate } = useRouter();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return <a {...rest} href={href} onClick={follow} />;
}
