import "./theme/tokens.css";
import "./theme/base.css";
import "./ui/ui.css";
import "./shell/shell.css";
import "./pages/pages.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { DashboardRouter } from "./routing/dashboard-router.js";
import { guardBackAndForward } from "./routing/leave-guard.js";
import { Session } from "./session/session.js";
import { Shell } from "./shell/shell.js";
import { applyTheme, storedTheme } from "./theme/theme.js";
import { NoticeProvider } from "./ui/feedback.js";

applyTheme(storedTheme(localStorage), document.documentElement, localStorage);
guardBackAndForward();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

function App() {
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
