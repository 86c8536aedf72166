import { Link, useLocation } from "wouter";
import { useInfo } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { Icon, type IconName } from "../ui/icon.js";
import { isWithin, NAVIGATION } from "./navigation-items.js";

/** Only where there is a cluster, so it has no shortcut. */
const CLUSTER = { label: "Cluster", href: addresses.cluster(), icon: "cluster" } as const;

export function Navigation({ onFollow }: { onFollow?: () => void }) {
  const [path] = useLocation();
  const isCluster = useInfo().data?.cluster !== undefined;
  return (
    <nav aria-label="Pages" className="nav">
      {NAVIGATION.map((group) => (
        <div key={group.label} className="nav-group">
          {group.label && <p className="nav-label">{group.label}</p>}
          <ul>
            {group.label === "" && isCluster && (
              <NavigationLink {...CLUSTER} isCurrent={path === CLUSTER.href} onFollow={onFollow} />
            )}
            {group.items.map((item) => (
              <NavigationLink
                key={item.href}
                label={item.label}
                href={item.href}
                icon={item.icon}
                isCurrent={isWithin(item, path)}
                onFollow={onFollow}
              />
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function NavigationLink({
  label,
  href,
  icon,
  isCurrent,
  onFollow,
}: {
  label: string;
  href: string;
  icon: IconName;
  isCurrent: boolean;
  onFollow: (() => void) | undefined;
}) {
  return (
    <li>
      <Link href={href} className="nav-link" aria-current={isCurrent ? "page" : undefined} onClick={onFollow}>
        <Icon name={icon} />
        {label}
      </Link>
    </li>
  );
}
