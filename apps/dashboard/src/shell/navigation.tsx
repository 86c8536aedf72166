import { Link, useLocation } from "wouter";
import { useInfo } from "../api/queries.js";
import { addresses } from "../routing/addresses.js";
import { Icon, type IconName } from "../ui/icon.js";

interface NavigationItem {
  readonly label: string;
  readonly href: string;
  readonly icon: IconName;
  /** The key after `g` that opens the page. */
  readonly key: string;
  /** Other search words for the palette. */
  readonly words: string;
}

interface NavigationGroup {
  readonly label: string;
  readonly items: readonly NavigationItem[];
}

/** The pages of the navigation, in order. */
const NAVIGATION: readonly NavigationGroup[] = [
  {
    label: "Monitor",
    items: [
      {
        label: "Overview",
        href: addresses.overview(),
        icon: "overview",
        key: "o",
        words: "home rates latency",
      },
      {
        label: "Live messages",
        href: addresses.live(),
        icon: "live",
        key: "l",
        words: "debugger events search",
      },
      {
        label: "Deliveries",
        href: addresses.deliveries(),
        icon: "deliveries",
        key: "d",
        words: "failed retry replay",
      },
      {
        label: "Warnings",
        href: addresses.warnings(),
        icon: "alert",
        key: "w",
        words: "refused rejected requests wrong key disk joins problems",
      },
    ],
  },
  {
    label: "Connect",
    items: [
      {
        label: "Sources",
        href: addresses.sources(),
        icon: "sources",
        key: "s",
        words: "write key snippet sdk",
      },
      {
        label: "Destinations",
        href: addresses.destinations(),
        icon: "destinations",
        key: "t",
        words: "webhook catalog",
      },
      {
        label: "Transformations",
        href: addresses.transformations(),
        icon: "code",
        key: "f",
        words: "function code javascript typescript change rename mask",
      },
    ],
  },
  {
    label: "People",
    items: [
      {
        label: "Audiences",
        href: addresses.audiences(),
        icon: "audiences",
        key: "a",
        words: "segments members",
      },
      {
        label: "Computed traits",
        href: addresses.computedTraits(),
        icon: "traits",
        key: "c",
        words: "count sum average",
      },
      {
        label: "Profiles",
        href: addresses.profiles(),
        icon: "profile",
        key: "p",
        words: "user traits identity",
      },
      {
        label: "Deletions",
        href: addresses.deletions(),
        icon: "deletions",
        key: "x",
        words: "gdpr erase receipt",
      },
    ],
  },
  {
    label: "",
    items: [
      {
        label: "Settings",
        href: addresses.settings(),
        icon: "settings",
        key: ",",
        words: "tokens audit theme",
      },
    ],
  },
];

export const NAVIGATION_ITEMS: readonly NavigationItem[] = NAVIGATION.flatMap((group) => group.items);

/** Whether the page at `path` belongs to an item of the navigation. */
function isWithin(item: NavigationItem, path: string): boolean {
  if (item.href === "/") return path === "/";
  if (item.href === addresses.live() && path.startsWith("/messages/")) return true;
  if (item.href === addresses.destinations() && path.startsWith("/catalog")) return true;
  return path === item.href || path.startsWith(`${item.href}/`);
}

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
