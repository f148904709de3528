import { LIMITS } from '../limits.ts';
import type { AppRecord } from '../records/app-records.ts';

/*
 * The transitions of an app (section 3; A4–A8), as pure functions from record to record. An app's open codes
 * lie in its own record: whatever voids them does so in the same write, and a code can be used once because two uses
 * meet in the record's revision.
 */

export interface NewCode {
  readonly hash: string;
  readonly issuedAt: number;
}

/**
 * A pending app.
 * @param slot the number of the app in its account
 * @param code absent where none is issued yet
 */
export function newApp(name: string, slot: number, at: number, code?: NewCode): AppRecord {
  const app: AppRecord = {
    name,
    status: 'pending',
    statusAt: at,
    createdAt: at,
    slot,
    platform: '',
    agentVersion: '',
    connection: 'private',
    codes: [],
    spent: [],
  };
  return code ? withCode(app, code) : app;
}

type OpenCode = AppRecord['codes'][number];

function spend(app: AppRecord, codes: readonly OpenCode[], why: 'used' | 'voided' | 'expired'): AppRecord {
  if (codes.length === 0) return app;
  const gone = new Set(codes.map((code) => code.hash));
  const spent = [...app.spent, ...codes.map((code) => ({ hash: code.hash, why }))];
  return {
    ...app,
    codes: app.codes.filter((code) => !gone.has(code.hash)),
    spent: spent.slice(-LIMITS.spentCodesPerAppMax),
  };
}

/** A5: a further code beyond the bound voids the oldest; expired codes are removed first. */
export function withCode(app: AppRecord, code: NewCode): AppRecord {
  const expired = app.codes.filter((open) => open.expiresAt <= code.issuedAt);
  const current = spend(app, expired, 'expired');
  const surplus = current.codes.length + 1 - LIMITS.openCodesPerAppMax;
  const bounded = spend(current, surplus > 0 ? current.codes.slice(0, surplus) : [], 'voided');
  const issued = { hash: code.hash, issuedAt: code.issuedAt, expiresAt: codeExpiry(code.issuedAt) };
  return { ...bounded, codes: [...bounded.codes, issued] };
}

/** A11: the clean-up alone calls this. Returns the same record where no code has expired. */
export const withoutExpiredCodes = (app: AppRecord, now: number): AppRecord =>
  spend(
    app,
    app.codes.filter((open) => open.expiresAt <= now),
    'expired',
  );

/** Voids one code. Returns the same record where that code is not open. */
export const withoutCode = (app: AppRecord, hash: string): AppRecord =>
  spend(
    app,
    app.codes.filter((open) => open.hash === hash),
    'voided',
  );

/** When a code expires, in milliseconds since 1970. */
export const codeExpiry = (issuedAt: number): number => issuedAt + LIMITS.enrollCodeValidMs;

/**
 * A6, A7: revokes an app from every state and voids all its open codes.
 * @param statusAt the instant of the change of its status, if it changes
 */
export function revoked(app: AppRecord, statusAt: number): AppRecord {
  const { credential: _credential, enrolled: _enrolled, ...rest } = spend(app, app.codes, 'voided');
  return { ...rest, status: 'revoked', statusAt: app.status === 'revoked' ? app.statusAt : statusAt };
}

/** Voids all codes, as a restore does: a code that was open when the backup was made may have been used since. */
export const codesVoided = (app: AppRecord): AppRecord => spend(app, app.codes, 'voided');

/** Whether an app is revoked and has no open code that could bring it back (A8). */
export const isFullyRevoked = (app: AppRecord): boolean => app.status === 'revoked' && app.codes.length === 0;

interface Enrollment {
  readonly code: string;
  readonly credential: string;
  readonly platform: string;
  readonly agentVersion: string;
  readonly connection: 'cloud' | 'private';
  readonly at: number;
  /** Nobody has proved the credential; absent, the binding is final. */
  readonly provisional?: boolean;
}

/**
 * A4, A5: enrolls an app. The used code and those issued before it are spent, and the former credential ends with this
 * write. The first enrollment of an app that a key of access `enroll` created spends all of its codes: with one that is
 * left the key could take over the daemon (H23).
 * @param statusAt the instant of the change of its status, if it changes
 */
export function enrolled(app: AppRecord, enrollment: Enrollment, statusAt: number = enrollment.at): AppRecord {
  const { code, credential, platform, agentVersion, connection, at, provisional = false } = enrollment;
  const index = app.codes.findIndex((open) => open.hash === code);
  const older = spend(app, app.codes.slice(0, index), 'voided');
  const used = spend(older, older.codes.slice(0, 1), 'used');
  const isFirstOfKey = app.createdByKey !== undefined && app.status === 'pending';
  return {
    ...(isFirstOfKey ? codesVoided(used) : used),
    status: 'active',
    statusAt: app.status === 'active' ? app.statusAt : statusAt,
    platform,
    agentVersion,
    connection,
    credential,
    enrolledAt: Math.max(at, app.enrolledAt ?? 0),
    enrolled: { code, credential, at, ...(provisional && { provisional }) },
  };
}

/** The binding of its credential is final. */
export function bindingConfirmed(app: AppRecord): AppRecord {
  if (!app.enrolled) return app;
  const { provisional: _, ...enrolled } = app.enrolled;
  return { ...app, enrolled };
}

/** Another app has proved the credential: this one goes on with its next code, as after any loss of a credential. */
export function credentialTaken({ credential: _credential, enrolled: _enrolled, ...app }: AppRecord): AppRecord {
  return app;
}
