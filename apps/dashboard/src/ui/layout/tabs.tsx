import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react";
import type { ReactNode } from "react";

export interface TabSpec {
  readonly id: string;
  readonly label: ReactNode;
  readonly content: ReactNode;
  /** What is typed in it stays while another tab is shown. */
  readonly keeps?: boolean;
}

/** `selected` and `onSelect`: where the page's address says which tab is shown. */
export function Tabs({
  label,
  tabs,
  prefix,
  selected = tabs[0]?.id,
  onSelect,
}: {
  label: string;
  tabs: readonly TabSpec[];
  prefix: string;
  selected?: string | undefined;
  onSelect?: (id: string) => void;
}) {
  const first = `${prefix}-${selected}`;
  const controlled = onSelect && {
    selectedId: first,
    setSelectedId: (id: string | null | undefined) => id && onSelect(id.slice(prefix.length + 1)),
  };
  return (
    <TabProvider defaultSelectedId={first} {...controlled}>
      <TabList className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={`${prefix}-${tab.id}`} className="tab">
            {tab.label}
          </Tab>
        ))}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel
          key={tab.id}
          tabId={`${prefix}-${tab.id}`}
          className="tab-panel"
          unmountOnHide={tab.keeps !== true}
        >
          {tab.content}
        </TabPanel>
      ))}
    </TabProvider>
  );
}
