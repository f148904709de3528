import { useEffect, useRef, useState } from 'preact/hooks';
import type { Topic } from '../../api/live.ts';
import type { AuditPage, AuditQuestion } from '../../api/panel.ts';
import { useSession } from '../../shell/session.tsx';

type Read = (question: AuditQuestion, signal: AbortSignal) => Promise<AuditPage>;

interface Newer {
  readonly isNewer: boolean;
  /** Reads, and remembers which entry is the newest of those that are shown. */
  readonly read: Read;
}

const AUDITED: ReadonlySet<Topic> = new Set(['account', 'apps', 'keys', 'config', 'members', 'reviews', 'users', 'me']);

const newestOf = ({ entries: [first] }: AuditPage): string =>
  first === undefined ? '' : `${first.at} ${first.requestId} ${first.action} ${first.target ?? ''}`;

/**
 * Tells whether the audit has a newer entry that the filters let through. A hint says no more than that something has
 * happened: the newest entry is read then, one request at a time.
 */
export function useNewer(accountId: string | undefined, question: AuditQuestion, read: Read): Newer {
  const { live } = useSession();
  const [isNewer, setNewer] = useState(false);
  /** Undefined while the entries are being read. */
  const newest = useRef<string>(undefined);
  const latest = useRef({ question, read });
  latest.current = { question, read };
  useEffect(() => {
    const ended = new AbortController();
    let isAsking = false;
    let isHinted = false;
    const ask = async (): Promise<void> => {
      if (newest.current === undefined) return;
      const shown = newest.current;
      const page = await latest.current.read({ ...latest.current.question, limit: 1 }, ended.signal);
      if (newest.current === shown && newestOf(page) !== shown) setNewer(true);
    };
    const hinted = (): void => {
      isHinted = true;
      if (isAsking) return;
      isAsking = true;
      isHinted = false;
      // A failure says nothing: the next hint asks again.
      void ask()
        .catch(() => undefined)
        .then(() => {
          isAsking = false;
          if (isHinted && !ended.signal.aborted) hinted();
        });
    };
    const stop = live.listen(({ account, topic }) => {
      const isOurs = account === undefined || account === (accountId ?? '');
      if (isOurs && (topic === undefined || AUDITED.has(topic))) hinted();
    });
    return () => {
      stop();
      ended.abort();
    };
  }, [live, accountId]);
  return {
    isNewer,
    read: async (asked, signal) => {
      if (asked.before !== undefined) return await read(asked, signal);
      newest.current = undefined;
      setNewer(false);
      const page = await read(asked, signal);
      newest.current = newestOf(page);
      return page;
    },
  };
}
