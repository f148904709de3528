import { CACHED_PREFIX, type Write } from '../../store/port.ts';
import { accountRecords } from './account-records.ts';
import { appRecords } from './app-records.ts';
import { attemptRecords } from './attempt-records.ts';
import { auditRecords } from './audit-records.ts';
import { bindingRecords } from './binding-records.ts';
import { idempotencyRecords } from './idempotency-records.ts';
import { meteringRecords } from './metering-records.ts';
import { opampRecords } from './opamp-records.ts';
import { otelRecords } from './otel-records.ts';
import { rateRecords } from './rate-records.ts';
import { removalOf, type Declared } from './registry.ts';
import { replicaRecords } from './replica-records.ts';
import { reviewRecords } from './review-records.ts';
import { storeRecords } from './store-records.ts';
import { userRecords } from './user-records.ts';

/* The map of the store: every kind of record that Muster writes, in the order of docs/ARCHITECTURE.md. */

export const KEYS = {
  ...storeRecords,
  ...accountRecords,
  ...appRecords,
  ...otelRecords,
  ...opampRecords,
  ...reviewRecords,
  ...userRecords,
  ...attemptRecords,
  ...auditRecords,
  ...meteringRecords,
  ...bindingRecords,
  ...idempotencyRecords,
  ...rateRecords,
  ...replicaRecords,
} as const;

/** The parts of the cached range, each compared with the store on its own; account ids begin with a letter or digit. */
export const CACHED_GROUPS: readonly string[] = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789'.split('').map((first) => `${KEYS.account.under()}${first}`),
  `${CACHED_PREFIX}day`,
  `${CACHED_PREFIX}keys`,
  `${CACHED_PREFIX}newcomer`,
  `${CACHED_PREFIX}o`,
  KEYS.session.under(),
  KEYS.accessToken.under(),
  KEYS.user.under(),
];

interface Part {
  readonly named: Map<string, Part>;
  any: Part | undefined;
  kind: Declared | undefined;
}

const newPart = (): Part => ({ named: new Map(), any: undefined, kind: undefined });

const ROOTS = newPart();
for (const kind of Object.values<Declared>(KEYS)) {
  let part = ROOTS;
  for (const name of kind.pattern.split('/')) {
    const isNamed = !name.startsWith('<');
    const next = (isNamed ? part.named.get(name) : part.any) ?? newPart();
    if (isNamed) part.named.set(name, next);
    else part.any = next;
    part = next;
  }
  part.kind = kind;
}

/** The kind of the record at a key; undefined where Muster writes no such key. */
export function kindOfKey(key: string): Declared | undefined {
  let part: Part | undefined = ROOTS;
  for (const name of key.split('/')) part = part?.named.get(name) ?? part?.any;
  return part?.kind;
}

/** As `kindOfKey`. @throws RangeError where no kind is declared for the key */
export function kindOf(key: string): Declared {
  const kind = kindOfKey(key);
  if (!kind) throw new RangeError(`No kind of record is declared for the key ${key}.`);
  return kind;
}

const ownedBy = (owner: 'app' | 'user'): readonly Declared[] =>
  Object.values<Declared>(KEYS).filter((kind) => kind.ownedBy === owner);
const [OF_APPS, OF_USERS] = [ownedBy('app'), ownedBy('user')];

/** The writes that remove all records that an app owns. */
export const appRemoval = (accountId: string, appId: string): readonly Write[] =>
  OF_APPS.map((kind) => removalOf(kind.pattern, { accountId, appId }));

/** The writes that remove all records that a user owns. */
export const userRemoval = (userId: string): readonly Write[] =>
  OF_USERS.map((kind) => removalOf(kind.pattern, { userId }));
