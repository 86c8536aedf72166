import { useEffect } from "react";
import { useRouter } from "./router.js";

/** An address that stands for another: the browser's history holds only the other. */
export function Redirect({ to }: { to: string }) {
  const { navigate } = useRouter();
  useEffect(() => navigate(to, "replace"), [navigate, to]);
  return null;
}
