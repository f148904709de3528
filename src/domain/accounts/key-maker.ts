import { expectUnchanged } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { withParts, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/**
 * A17: a person who makes a secret of a key writes the own record as it is. Whoever takes the person's right away
 * expects that record, so that of both at once one conflicts (domain/users/made-keys.ts).
 * @param actor as the audit names actors
 */
export async function notedByMaker<T>(reader: FleetReader, actor: string, step: Step<T>): Promise<Step<T>> {
  const user = actor.startsWith('user:') ? await reader.user(actor.slice('user:'.length)) : undefined;
  if (!user) return step;
  return withParts(step, { expect: [expectUnchanged(user)], write: [put(KEYS.user(user.id), user.record)] });
}
