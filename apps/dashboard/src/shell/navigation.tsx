import { Link, useLocation } from "wouter";
import { Icon } from "../ui/icon.js";
import { isWithin, NAVIGATION } from "./navigation-items.js";

export function Navigation({ onFollow }: { onFollow?: () => void }) {
  const [path] = useLocation();
  return (
    <nav aria-label="Pages" className="nav">
      {NAVIGATION.map((group) => (
        <div key={group.label} className="nav-group">
          {group.label && <p className="nav-label">{group.label}</p>}
          <ul>
            {group.items.map((item) => (
              <li key={item.href}>
                <Link
                  href={item.href}
                  className="nav-link"
                  aria-current={isWithin(item, path) ? "page" : undefined}
                  onClick={onFollow}
                >
                  <Icon name={item.icon} />
                  {item.label}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
