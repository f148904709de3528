import { useCallback, useState } from 'preact/hooks';
import { account, type ReviewEntry } from '../../api/panel.ts';
import { useSession } from '../../shell/session.tsx';
import { reviews as texts } from '../../text/reviews.ts';
import type { Status } from './order.ts';

/** Decisions on their way. */
interface Decisions {
  /** What was decided and has no answer yet, by entry. */
  readonly sending: ReadonlyMap<string, Status>;
  /** The last decision that failed; undefined where none did. */
  readonly failed: { readonly entry: ReviewEntry; readonly error: unknown } | undefined;
  readonly decide: (entry: ReviewEntry, status: Status) => void;
}

/**
 * Decides at once and asks the service meanwhile, so that quick hands lose no key. A decision that fails is taken back.
 * @param onDecided is called with the entry as the service answers it
 */
export function useDecisions(accountId: string, onDecided: (entry: ReviewEntry) => void): Decisions {
  const { say } = useSession();
  const [sending, setSending] = useState<ReadonlyMap<string, Status>>(new Map());
  const [failed, setFailed] = useState<Decisions['failed']>();
  const arrived = useCallback((entryId: string): void => {
    setSending((before) => new Map([...before].filter(([other]) => other !== entryId)));
  }, []);
  const decide = (entry: ReviewEntry, status: Status): void => {
    setFailed(undefined);
    setSending((before) => new Map(before).set(entry.entryId, status));
    account(accountId)
      .decide(entry.entryId, { status })
      .then(
        (decided) => {
          onDecided(decided);
          arrived(entry.entryId);
          say(texts.decided(entry.rule, texts.statuses[decided.status]));
        },
        (error: unknown) => {
          arrived(entry.entryId);
          setFailed({ entry, error });
        },
      );
  };
  return { sending, failed, decide };
}
