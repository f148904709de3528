import { MusterError } from '#client';
import { generateMarker, systemRandom } from '../../domain/credentials/random-ids.ts';
import { CommandFault } from '../terminal/exit.ts';
import { shellWord } from '../../text/shell-words.ts';
import { onInterruption } from '../terminal/signals.ts';

interface Once {
  /** The thing that is created, with its article: `The app`. */
  readonly what: string;
  /** That of the command line; without it a fresh one. */
  readonly idempotencyKey?: string | undefined;
  /** An option whose value was reckoned from the present: a repetition has to name it as it was sent. */
  readonly reckoned?: string | undefined;
}

/**
 * Creates something for a person who may have to type the command again: where nobody knows whether it is created, the
 * error tells the key with which the service answers anew, and creates no second one. A signal ends it in words.
 * @throws MusterError; whatever `create` throws
 */
export async function createdOnce<Made>(
  { what, idempotencyKey = `muster-${generateMarker(systemRandom())}`, reckoned }: Once,
  create: (options: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => Promise<Made>,
): Promise<Made> {
  using interruption = onInterruption(new CommandFault('interrupted'));
  try {
    return await create({ idempotencyKey, signal: interruption.signal });
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    const { code, status, requestId, retryAfterSeconds, cause, mayBeDone } = error;
    const why = code === 'aborted' ? 'interrupted.' : error.message;
    const alike = reckoned === undefined ? '' : ` and ${reckoned}`;
    const again = ` ${what} may be there all the same: repeat the command with --idempotency-key ${shellWord(idempotencyKey)}${alike}, which creates no second one within 24 hours.`;
    const trouble = { code, status, requestId, idempotencyKey, retryAfterSeconds, cause, mayBeDone };
    throw new MusterError(`${why}${mayBeDone ? again : ''}`, trouble);
  }
}
