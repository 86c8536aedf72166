import { DashboardRouter } from "./routing/dashboard-router.js";
import { Session } from "./session/session.js";
import { Shell } from "./shell/shell.js";
import { NoticeProvider } from "./ui/feedback/notice.js";

export function App() {
  return (
    <DashboardRouter>
      <Session>
        <NoticeProvider>
          <Shell />
        </NoticeProvider>
      </Session>
    </DashboardRouter>
  );
}
