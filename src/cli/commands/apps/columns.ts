import type { App, CreatedApp } from '#client';
import type { Column } from '../../output/columns.ts';

const tone = ({ status }: Pick<App, 'status'>) =>
  status === 'active' ? 'good' : status === 'revoked' ? 'faint' : undefined;

export const APP_COLUMNS: readonly Column<App>[] = [
  { head: 'APP', name: 'appId', of: ({ appId }) => appId },
  { head: 'NAME', of: ({ name }) => name, kind: 'text' },
  { head: 'STATUS', of: ({ status }) => status, tone },
  { head: 'LAST SEEN', of: ({ lastSeenAt }) => lastSeenAt, kind: 'time', name: 'lastSeenAt' },
  { head: 'PLATFORM', of: ({ platform }) => platform, kind: 'text', minor: true },
  { head: 'AGENT', name: 'agentVersion', of: ({ agentVersion }) => agentVersion, kind: 'text', minor: true },
  { head: 'CREATED', name: 'createdAt', of: ({ createdAt }) => createdAt, kind: 'time', minor: true },
];

/** A created app without its code, which lies in a file. */
export type SavedApp = Omit<CreatedApp, 'enrollCode'>;

export const SAVED_COLUMNS: readonly Column<SavedApp>[] = [
  { head: 'APP', name: 'appId', of: ({ appId }) => appId },
  { head: 'NAME', of: ({ name }) => name, kind: 'text' },
  { head: 'STATUS', of: ({ status }) => status },
  {
    head: 'CODE EXPIRES',
    name: 'enrollCodeExpiresAt',
    of: ({ enrollCodeExpiresAt }) => enrollCodeExpiresAt,
    kind: 'time',
  },
];

export const CREATED_COLUMNS: readonly Column<CreatedApp>[] = [
  ...SAVED_COLUMNS.slice(0, 3),
  { head: 'CODE', name: 'enrollCode', of: ({ enrollCode }) => enrollCode },
  ...SAVED_COLUMNS.slice(3),
];

export const idOf = ({ appId }: { readonly appId: string }): string => appId;
