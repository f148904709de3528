import { useRef, useState } from 'preact/hooks';
import { ApiError, newIdempotencyKey } from '../api/client.ts';
import { useAction } from './use-action.ts';

/** A secret that is made once, however often the person tries. */
interface Creation<Wish, Made> {
  readonly busy: boolean;
  readonly error: unknown;
  readonly run: (wish: Wish) => void;
  readonly made: Made | undefined;
  /** An answer is missing: the wish stays as it was, since the same key with another one would be refused. */
  readonly isSent: boolean;
}

/** The service has refused it, and has made nothing. */
const isFinal = (error: unknown): boolean => error instanceof ApiError && [400, 404, 409].includes(error.status);

/** Makes something by a request that is repeated with its key until an answer has come. */
export function useCreation<Wish, Made>(
  send: (wish: Wish, idempotencyKey: string) => Promise<Made>,
  onMade: () => void,
): Creation<Wish, Made> {
  const [made, setMade] = useState<Made>();
  const sent = useRef<{ readonly key: string; readonly wish: Wish }>(undefined);
  const { busy, error, run } = useAction(async (wish: Wish) => {
    sent.current ??= { key: newIdempotencyKey(), wish };
    try {
      setMade(await send(sent.current.wish, sent.current.key));
    } catch (fault) {
      if (isFinal(fault)) sent.current = undefined;
      throw fault;
    }
    onMade();
  });
  return { busy, error, run, made, isSent: sent.current !== undefined };
}
