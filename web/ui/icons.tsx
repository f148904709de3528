/* Line icons of a 16-pixel grid. They are ornaments: the text beside them says the same. */

const PATHS = {
  overview: 'M2 2h5v6H2zM9 2h5v4H9zM9 8h5v6H9zM2 10h5v4H2z',
  apps: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
  configuration: 'M2 4h6M11 4h3M2 12h3M8 12h6M9.5 2.5v3M6.5 10.5v3M2 8h9M13 8h1M12 6.5v3',
  keys: 'M10.5 2.5a3 3 0 1 1-2.6 4.5L3 12v2H1.5M5 10l1.5 1.5M11 5h.01',
  reviews: 'M8 1.5l5.5 2v4c0 3.5-2.3 5.8-5.5 7-3.2-1.2-5.5-3.5-5.5-7v-4zM5.5 8l2 2 3-3.5',
  usage: 'M2 14h12M4 12V8M8 12V3M12 12V6',
  audit: 'M4 1.5h6l3 3v10H4zM10 1.5v3h3M6.5 8h4M6.5 11h4',
  members:
    'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 14c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 3.2a2.5 2.5 0 0 1 0 4.6M12 10.3c1.5.5 2.5 1.8 2.5 3.7',
  accounts: 'M2 14V6l6-4 6 4v8zM6 14v-4h4v4',
  limits: 'M2 12a6 6 0 1 1 12 0M8 12l3-4',
  service: 'M2 3h12v4H2zM2 9h12v4H2zM11 5h1M11 11h1',
  lock: 'M3.5 7h9v7h-9zM5.5 7V4.5a2.5 2.5 0 0 1 5 0V7',
  reference: 'M2 2.5h5a1.5 1.5 0 0 1 1 .4 1.5 1.5 0 0 1 1-.4h5v10H9a1 1 0 0 0-1 1 1 1 0 0 0-1-1H2zM8 3v10',
  person: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14.5c0-3 2.5-4.5 5.5-4.5s5.5 1.5 5.5 4.5',
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM11 11l3.5 3.5',
  columns: 'M2 3h12v10H2zM6 3v10M10 3v10',
  choose: 'M4.5 6L8 2.5 11.5 6M4.5 10L8 13.5l3.5-3.5',
  menu: 'M2 4h12M2 8h12M2 12h12',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  warn: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 12h.01',
  clock: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4.5V8l2.5 1.5',
  later: 'M8 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z',
  help: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM6 6.3a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.5h.01',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  download: 'M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  keyboard: 'M1.5 4h13v8.5h-13zM4 7h.01M7 7h.01M10 7h.01M12.5 7h.01M5 10h6',
  out: 'M6 2.5H2.5v11H6M10 5l3 3-3 3M13 8H6',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg
    class="icon"
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={PATHS[name]} />
  </svg>
);

export const Mark = () => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <rect width="16" height="16" rx="3" fill="#1d4f8c" />
    <path d="M3 12V4l5 5 5-5v8" fill="none" stroke="#fff" stroke-width="2" />
  </svg>
);
