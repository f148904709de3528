import type { App, CreatedApp } from '#client';
import type { Column } from '../../output/columns.ts';

const tone = ({ status }: Pick<App, 'status'>) =>
  status === 'active' ? 'good' : status === 'revoked' ? 'faint' : undefined;

export const APP_COLUMNS: readonly Column<App>[] = [
  { head: 'APP', field: 'appId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'STATUS', field: 'status', tone },
  { head: 'LAST SEEN', field: 'lastSeenAt', kind: 'time' },
  { head: 'PLATFORM', field: 'platform', kind: 'text', minor: true },
  { head: 'AGENT', field: 'agentVersion', kind: 'text', minor: true },
  { head: 'CREATED', field: 'createdAt', kind: 'time', minor: true },
];

/** An app whose code lies in a file. */
export type SavedCode = Pick<CreatedApp, 'appId' | 'name' | 'enrollCodeExpiresAt'>;

export const ISSUED_COLUMNS: readonly Column<SavedCode>[] = [
  { head: 'APP', field: 'appId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  {
    head: 'CODE EXPIRES',
    field: 'enrollCodeExpiresAt',
    kind: 'time',
  },
];

export const SAVED_COLUMNS: readonly Column<SavedCode & { readonly status: string }>[] = [
  ...ISSUED_COLUMNS.slice(0, 2),
  { head: 'STATUS', field: 'status' },
  ...ISSUED_COLUMNS.slice(2),
];

export const CREATED_COLUMNS: readonly Column<CreatedApp>[] = [
  ...SAVED_COLUMNS.slice(0, 3),
  { head: 'CODE', field: 'enrollCode' },
  ...SAVED_COLUMNS.slice(3),
];

export const idOf = ({ appId }: { readonly appId: string }): string => appId;
