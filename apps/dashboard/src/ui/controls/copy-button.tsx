import { useEffect, useState } from "react";
import { Button, IconButton } from "./button.js";

/** Copies text, and says that it did. */
export function CopyButton({ text, label, wordy = false }: { text: string; label: string; wordy?: boolean }) {
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
      {wordy ? (
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

/** Resolves with whether it worked: a page that is not on localhost or https has no clipboard. */
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
  // The only way over plain http from another machine, where `navigator.clipboard` does not exist.
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}
