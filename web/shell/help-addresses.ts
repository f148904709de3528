import type { Route } from './router.ts';

/** A page of the panel by the name under which its help is found. */
export type HelpedPage = Route['page'] | 'second-factor';

/** Where the help on each page stands. The build holds each address to be that of a heading of a document. */
export const HELP: Readonly<Record<HelpedPage, `/help/${string}`>> = {
  home: '/help/panel#members',
  unknown: '/help/panel',
  'sign-in': '/help/panel#passwords-passkeys-links',
  link: '/help/panel#passwords-passkeys-links',
  proved: '/help/panel#passwords-passkeys-links',
  'second-factor': '/help/panel#passwords-passkeys-links',
  overview: '/help/panel#overview',
  apps: '/help/panel#apps',
  app: '/help/panel#the-page-of-an-app',
  configuration: '/help/panel#configuration',
  keys: '/help/panel#api-keys',
  reviews: '/help/panel#review-queue',
  usage: '/help/panel#usage',
  audit: '/help/panel#audit',
  members: '/help/panel#members',
  settings: '/help/panel#settings-of-an-account',
  me: '/help/panel#your-profile',
  accounts: '/help/panel#accounts',
  users: '/help/panel#users',
  limits: '/help/panel#limited-accounts',
  service: '/help/panel#service',
  encryption: '/help/panel#encryption-keys',
  'service-audit': '/help/panel#service-audit',
  reference: '/help/panel#api-reference',
};
