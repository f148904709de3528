import { expectUnchanged } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { withParts, type Step } from '../mutation/step.ts';
import { userOfActor } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/**
 * A17: a person who makes a secret of a key writes the own record as it is. Whoever takes the person's right away
 * expects that record, so that of both at once one conflicts (domain/users/made-keys.ts).
 * @param actor as the audit names actors
 */
export async function notedByMaker<T>(reader: FleetReader, actor: string, step: Step<T>): Promise<Step<T>> {
  const userId = userOfActor(actor);
  const user = userId === undefined ? undefined : await reader.user(userId);
  if (!user) return step;
  return withParts(step, { expect: [expectUnchanged(user)], write: [put(KEYS.user(user.id), user.record)] });
}
