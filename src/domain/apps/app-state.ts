import { LIMITS } from '../limits.ts';
import type { AppRecord } from '../records/records.ts';

/*
 * The transitions of an app (section 3; A4–A8), as pure functions from record to record. An app's open codes
 * lie in its own record: whatever voids them does so in the same write, and a code can be used once because two uses
 * meet in the record's revision.
 */

export interface NewCode {
  readonly hash: string;
  readonly issuedAt: number;
}

/** @param code absent where none is issued yet */
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

/** A5: a further code beyond the bound voids the oldest; what has expired makes room first. */
export function withCode(app: AppRecord, code: NewCode): AppRecord {
  const expired = app.codes.filter((open) => open.expiresAt <= code.issuedAt);
  const current = spend(app, expired, 'expired');
  const surplus = current.codes.length + 1 - LIMITS.openCodesPerAppMax;
  const bounded = spend(current, surplus > 0 ? current.codes.slice(0, surplus) : [], 'voided');
  const issued = { hash: code.hash, issuedAt: code.issuedAt, expiresAt: codeExpiry(code.issuedAt) };
  return { ...bounded, codes: [...bounded.codes, issued] };
}

/** A11: for the clean-up alone. The same record where no code has expired. */
export const withoutExpiredCodes = (app: AppRecord, now: number): AppRecord =>
  spend(
    app,
    app.codes.filter((open) => open.expiresAt <= now),
    'expired',
  );

/** The same record where the code does not work anyhow. */
export const withoutCode = (app: AppRecord, hash: string): AppRecord =>
  spend(
    app,
    app.codes.filter((open) => open.hash === hash),
    'voided',
  );

export const codeExpiry = (issuedAt: number): number => issuedAt + LIMITS.enrollCodeValidMs;

/** A6, A7: from every state; all open codes go with it. `statusAt` is the instant of the change of its status, if any. */
export function revoked(app: AppRecord, statusAt: number): AppRecord {
  const { credential: _credential, enrolled: _enrolled, ...rest } = spend(app, app.codes, 'voided');
  return { ...rest, status: 'revoked', statusAt: app.status === 'revoked' ? app.statusAt : statusAt };
}

/** A restore: whoever had a code when the backup was made may have used it since. */
export const codesVoided = (app: AppRecord): AppRecord => spend(app, app.codes, 'voided');

export const isFullyRevoked = (app: AppRecord): boolean => app.status === 'revoked' && app.codes.length === 0;

export interface Enrollment {
  readonly code: string;
  readonly credential: string;
  readonly platform: string;
  readonly agentVersion: string;
  readonly connection: 'cloud' | 'private';
  readonly at: number;
}

/**
 * A4, A5: the used code and those issued before it go; the credential before it dies with this write. `statusAt` is the
 * instant of the change of its status, if any.
 */
export function enrolled(app: AppRecord, enrollment: Enrollment, statusAt: number = enrollment.at): AppRecord {
  const { code, credential, platform, agentVersion, connection, at } = enrollment;
  const index = app.codes.findIndex((open) => open.hash === code);
  const older = spend(app, app.codes.slice(0, index), 'voided');
  const used = spend(older, older.codes.slice(0, 1), 'used');
  return {
    ...used,
    status: 'active',
    statusAt: app.status === 'active' ? app.statusAt : statusAt,
    platform,
    agentVersion,
    connection,
    credential,
    enrolledAt: Math.max(at, app.enrolledAt ?? 0),
    enrolled: { code, credential, at },
  };
}
