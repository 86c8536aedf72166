/** Line icons on a 16-pixel grid. */
const PATHS = {
  overview: "M2.5 9.5 6 6l3 3 4.5-4.5M2.5 13.5h11",
  live: "M8 8h.01M5.3 10.7a3.8 3.8 0 0 1 0-5.4M10.7 5.3a3.8 3.8 0 0 1 0 5.4M3.2 12.8a6.8 6.8 0 0 1 0-9.6M12.8 3.2a6.8 6.8 0 0 1 0 9.6",
  deliveries: "M14 2 7.3 8.7M14 2l-4.2 12-2.5-5.3L2 6.2 14 2Z",
  sources: "M8 13.5V6.5M8 6.5 5 9.5M8 6.5l3 3M2.5 6V4.5a2 2 0 0 1 2-2h7a2 2 0 0 1 2 2V6",
  destinations: "M8 2.5v7M8 9.5l-3-3M8 9.5l3-3M2.5 10v1.5a2 2 0 0 0 2 2h7a2 2 0 0 0 2-2V10",
  audiences:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.3-2.5 2-4 4.5-4s4.2 1.5 4.5 4M10.7 2.8a2.5 2.5 0 0 1 0 4.4M12.2 9.9c1.3.6 2.1 1.8 2.3 3.6",
  cluster:
    "M8 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM3.5 14.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM12.5 14.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM7 5.3 4.5 10.7M9 5.3l2.5 5.4M5.5 12.5h5",
  code: "M5 4.5 1.5 8 5 11.5M11 4.5 14.5 8 11 11.5M9.2 3 6.8 13",
  traits: "M3 4.5h10M3 8h6.5M3 11.5h8.5",
  profile: "M8 7.5a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM2.8 14c.4-2.9 2.3-4.5 5.2-4.5s4.8 1.6 5.2 4.5",
  deletions: "M2.5 4h11M6.5 4V2.5h3V4M4 4l.6 9.5h6.8L12 4M6.7 6.8v4M9.3 6.8v4",
  settings:
    "M3 4.5h5M11.5 4.5H13M3 11.5h1.5M8 11.5h5M9.8 6.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM6.2 13.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Z",
  search: "M7.2 12a4.8 4.8 0 1 0 0-9.6 4.8 4.8 0 0 0 0 9.6ZM10.7 10.7l3 3",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "m4 4 8 8M12 4l-8 8",
  sun: "M8 10.7a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1Z",
  copy: "M6 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1ZM3 10.5v-7a1 1 0 0 1 1-1h6.5",
  check: "m3 8.5 3.2 3.2L13 4.8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M4.5 2.8v10.4L13 8 4.5 2.8Z",
  replay: "M2.8 8a5.2 5.2 0 1 0 1.6-3.7L2.8 5.8M2.8 2.5v3.3h3.3",
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  up: "m3.5 10 4.5-4.5 4.5 4.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  alert:
    "M8 5.8v3M8 11.3h.01M7 2.6 1.7 11.9a1.2 1.2 0 0 0 1 1.8h10.6a1.2 1.2 0 0 0 1-1.8L9 2.6a1.2 1.2 0 0 0-2 0Z",
  key: "M9.3 6.7 14 2M12 4l1.5 1.5M9.8 9.6a3.4 3.4 0 1 1-6.8 0 3.4 3.4 0 0 1 6.8 0Z",
  webhook:
    "M6 11.5H3.8a2.3 2.3 0 1 1 1.4-4.1M8.2 8.5 6.3 4.9a2.3 2.3 0 1 1 3.9-.8M9.5 11.5h1.8a2.3 2.3 0 1 0-2-3.4L8.2 8.5M6 11.5h3.5",
  terminal: "m3 4.5 3.5 3.5L3 11.5M8 12h5",
  file: "M4 2h5l3.5 3.5V13a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1ZM9 2v3.5h3.5",
  leave: "M6.5 13.5h-3a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1h3M10.5 11l3-3-3-3M13.5 8h-7",
  question: "M6 6.2A2 2 0 1 1 8.7 8c-.5.2-.7.6-.7 1.1v.4M8 11.8h.01",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.5",
  edit: "m3 13 .5-2.7L10.8 3a1.5 1.5 0 0 1 2.2 2.2L5.7 12.5 3 13Z",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative. An icon without text gets its name from the button around it. `name`: one of ours, or a path of the same kind. */
export function Icon({ name, size = 16 }: { name: IconName | { readonly path: string }; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={typeof name === "string" ? PATHS[name] : name.path}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === "more" ? 2.4 : 1.5}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="logo-ground" />
      <g fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round">
        <path d="M9 7v9M16 7v5.5M23 7v9" opacity=".6" />
        <path d="M7 20.5c3-2.6 6-2.6 9 0s6 2.6 9 0M7 25.5c3-2.6 6-2.6 9 0s6 2.6 9 0" />
      </g>
    </svg>
  );
}
