import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectAbsent } from '../../../src/store/port.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { scratchDirectory } from '../run/scratch-directory.ts';
import { freePorts } from '../service/free-ports.ts';
import type { Answer, MusterOptions } from '../service/muster.ts';
import type { Backend } from '../store/backends.ts';
import { CLIENT_SECRET, RedirectedBrowser, startProvider, type TestProvider } from './oidc-provider.ts';
import { ask, panelMuster, type PanelMuster } from './panel-users.ts';
import { rawPut } from '../store/raw-key.ts';

/** A Muster with a panel at which people sign in by a provider that is a process of its own. */
export interface Signing extends AsyncDisposable {
  readonly provider: TestProvider;
  readonly panel: PanelMuster;
  readonly origin: URL;
  readonly accountId: string;
  /** Goes through the whole sign-in. */
  signIn(browser?: RedirectedBrowser): Promise<{ browser: RedirectedBrowser; at: URL; token: string | undefined }>;
  /** A further replica on the same store, with the same settings and a port of its own. */
  replica(): Promise<PanelMuster>;
}

interface SigningOptions {
  readonly clock?: Clock;
  /** Without one the store is embedded. */
  readonly backend?: Backend;
  readonly wrapStore?: MusterOptions['wrapStore'];
  /** Everybody by default. */
  readonly newcomers?: 'roles' | 'all';
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes the client's secret into a file of its own. @returns its path */
export function secretFile(folder = scratchDirectory('oidc')): string {
  const path = join(folder, 'secret');
  writeFileSync(path, CLIENT_SECRET, { mode: 0o600 });
  return path;
}

/**
 * Starts both. The groups `platform`, `helpdesk`, `review`, `owners` and `staff` give the roles of operator, support,
 * auditor, owner and viewer.
 */
export async function signing({
  clock,
  backend,
  wrapStore,
  newcomers = 'all',
  env,
}: SigningOptions = {}): Promise<Signing> {
  const folder = scratchDirectory('oidc');
  // The provider must know the panel's address before the panel has one.
  const [port = 0] = await freePorts(1);
  const origin = new URL(`http://localhost:${port}`);
  const provider = await startProvider(`${origin.origin}/panel/v1/sign-in/provider/callback`);
  const groupsFile = join(folder, 'groups');
  const accountId = 'a1b2c3d4e5f6g7h8';
  const groups = [
    'operator platform',
    'support helpdesk',
    'auditor review',
    `owner ${accountId} owners`,
    `viewer ${accountId} staff`,
  ];
  writeFileSync(groupsFile, groups.join('\n'), { mode: 0o600 });
  const place = backend?.place() ?? {};
  const optionsAt = (panelPort: number): MusterOptions => ({
    ...place,
    ...(clock && { clock }),
    ...(wrapStore && { wrapStore }),
    env: {
      ...place.env,
      MUSTER_PANEL_LISTEN: `127.0.0.1:${panelPort}`,
      MUSTER_PANEL_URL: origin.origin,
      MUSTER_OIDC_ISSUER: provider.issuer,
      MUSTER_OIDC_CLIENT_ID: 'muster',
      MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile(folder),
      MUSTER_OIDC_GROUPS_FILE: groupsFile,
      MUSTER_OIDC_NEWCOMERS: newcomers,
      ...env,
    },
  });
  const panel = await panelMuster(backend, optionsAt(port));
  const account = { name: 'acme', entitlement: 'enterprise', disabled: false, createdAt: 1 };
  await panel.store.commit({
    expect: [expectAbsent(KEYS.account(accountId))],
    write: [rawPut(KEYS.account(accountId), account)],
  });
  return {
    provider,
    panel,
    origin,
    accountId,
    async signIn(browser = new RedirectedBrowser()) {
      const { url } = await browser.go(`${origin.origin}/panel/v1/sign-in/provider`, ({ pathname }) =>
        ['/', '/sign-in', '/me'].includes(pathname),
      );
      return { browser, at: url, token: browser.cookie(origin, `muster_${port}`) };
    },
    replica: () => panelMuster(backend, optionsAt(0)),
    async [Symbol.asyncDispose]() {
      await panel[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Why a sign-in failed, by the address that the browser was led to; null where it did not. */
export const problemOf = (url: URL): string | null => url.searchParams.get('problem');

/** What `/me` answers a session. */
export const meOf = async ({ panel }: Pick<Signing, 'panel'>, token: string | undefined): Promise<Answer> =>
  await ask(panel, { token: token ?? '' }, '/me');
