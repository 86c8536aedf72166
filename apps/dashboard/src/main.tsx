import "./theme/tokens.css";
import "./theme/base.css";
import "./ui/ui.css";
import "./shell/shell.css";
import "./pages/pages.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { applyTheme, storedTheme } from "./theme/theme.js";

applyTheme(storedTheme(localStorage), document.documentElement, localStorage);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
