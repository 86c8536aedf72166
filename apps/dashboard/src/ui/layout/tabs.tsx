import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react";
import type { ReactNode } from "react";

export interface TabSpec {
  readonly id: string;
  readonly label: ReactNode;
  readonly content: ReactNode;
}

export function Tabs({ label, tabs, prefix }: { label: string; tabs: readonly TabSpec[]; prefix: string }) {
  return (
    <TabProvider defaultSelectedId={`${prefix}-${tabs[0]?.id}`}>
      <TabList className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={`${prefix}-${tab.id}`} className="tab">
            {tab.label}
          </Tab>
        ))}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel key={tab.id} tabId={`${prefix}-${tab.id}`} className="tab-panel" unmountOnHide>
          {tab.content}
        </TabPanel>
      ))}
    </TabProvider>
  );
}
