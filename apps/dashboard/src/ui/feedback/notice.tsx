import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { Icon } from "../icon.js";

interface NoticeText {
  readonly id: number;
  readonly text: string;
}

const NoticeContext = createContext<(text: string) => void>(() => {});

/** Confirms an action for a few seconds: `notify("Saved")`. Errors are shown beside the control instead. */
export function useNotify(): (text: string) => void {
  return useContext(NoticeContext);
}

export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<NoticeText | undefined>();
  const notify = useCallback((text: string) => setNotice((last) => ({ id: (last?.id ?? 0) + 1, text })), []);
  useEffect(() => {
    if (notice === undefined) return;
    const timer = setTimeout(() => setNotice(undefined), 4_000);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <NoticeContext value={notify}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {notice && (
          <div className="notice" key={notice.id}>
            <Icon name="check" />
            {notice.text}
          </div>
        )}
      </div>
    </NoticeContext>
  );
}
