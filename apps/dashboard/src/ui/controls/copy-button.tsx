import { useEffect, useState } from "react";
import { Button, IconButton } from "./button.js";

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
