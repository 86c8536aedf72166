import { RouterProvider } from "./routing/router-provider.js";
import { Session } from "./session/session.js";
import { Shell } from "./shell/shell.js";
import { NoticeProvider } from "./ui/notice.js";

export function App() {
  return (
    <RouterProvider>
      <Session>
        <NoticeProvider>
          <Shell />
        </NoticeProvider>
      </Session>
    </RouterProvider>
  );
}
