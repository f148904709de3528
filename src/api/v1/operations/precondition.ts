import { StaleRead } from '../../../domain/mutation/stale-read.ts';
import type { IsMeant, TaggedConfig } from '../../../domain/otel-config/otel-config.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { namesTag } from '../../headers/entity-tags.ts';

/* H22: the preconditions of the configuration. */

const quoted = (tag: string): string => `"${tag}"`;

export const etagOf = ({ tag }: TaggedConfig): readonly string[] => ['ETag', quoted(tag)];

/** Whether the client has this configuration already. */
export const isKnown = (ifNoneMatch: string | undefined, { tag }: TaggedConfig): boolean =>
  namesTag(ifNoneMatch, quoted(tag));

/**
 * Makes the change that If-Match allows; without the field any is.
 * @throws Refusal `precondition_failed`; whatever the change throws
 */
export async function ifMatching<T>(
  ifMatch: string | undefined,
  change: (isMeant: IsMeant | undefined) => Promise<T>,
): Promise<T> {
  const isMeant: IsMeant = (tag, isStored) => (ifMatch?.trim() === '*' ? isStored : namesTag(ifMatch, quoted(tag)));
  try {
    return await change(ifMatch === undefined ? undefined : isMeant);
  } catch (error) {
    if (error instanceof StaleRead) throw new Refusal('precondition_failed');
    throw error;
  }
}
