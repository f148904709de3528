import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry, AuditPage } from '../../api/panel.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { audit as texts } from '../../text/audit.ts';
import { common } from '../../text/common.ts';
import { Actor } from '../../ui/actor.tsx';
import { Button } from '../../ui/controls.tsx';
import { Time } from '../../ui/page.tsx';
import { Failed, Loading, Problem } from '../../ui/state.tsx';

interface TimelineProps {
  /** Reads the entries before a place, or the newest. */
  readonly read: (before: string | undefined, signal: AbortSignal) => Promise<AuditPage>;
  readonly empty: string;
  /** The account whose apps the entries link to; undefined where they are about one app. */
  readonly accountId?: string;
}

interface State {
  readonly entries: readonly AuditEntry[];
  readonly next?: string | undefined;
  readonly busy: boolean;
  readonly error?: unknown;
}

/** Entries of an audit, newest first, page by page. Another `key` begins anew. */
export function Timeline({ read, empty, accountId }: TimelineProps) {
  const [state, setState] = useState<State>({ entries: [], busy: true });
  const [place, setPlace] = useState<{ before: string | undefined; round: number }>({ before: undefined, round: 0 });
  useEffect(() => {
    const controller = new AbortController();
    const { before } = place;
    setState((was) => ({ ...was, busy: true, error: undefined }));
    read(before, controller.signal).then(
      ({ entries, next }) => {
        if (controller.signal.aborted) return;
        setState((was) => ({
          entries: before === undefined ? entries : [...was.entries, ...entries],
          next,
          busy: false,
        }));
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setState((was) => ({ ...was, busy: false, error }));
      },
    );
    return () => controller.abort();
  }, [place]);
  const { entries, next, busy, error } = state;
  const again = (before: string | undefined): void => setPlace(({ round }) => ({ before, round: round + 1 }));
  const isEmpty = entries.length === 0;
  if (error !== undefined && isEmpty) return <Failed error={error} onRetry={() => again(place.before)} />;
  if (busy && isEmpty && place.before === undefined) return <Loading />;
  if (isEmpty && next === undefined && !busy) return <p class="quiet">{empty}</p>;
  return (
    <div class="stack" aria-busy={busy}>
      <ol class="timeline">
        {entries.map((entry, index) => (
          <Entry key={`${entry.at} ${entry.requestId} ${index}`} entry={entry} accountId={accountId} />
        ))}
      </ol>
      {isEmpty && <p class="quiet">{texts.notYet}</p>}
      {error !== undefined && <Problem error={error} />}
      {(next !== undefined || error !== undefined) && (
        <div>
          <Button busy={busy} onClick={() => again(error === undefined ? next : place.before)}>
            {error === undefined ? (isEmpty ? texts.lookFurther : common.more) : common.retry}
          </Button>
        </div>
      )}
    </div>
  );
}

/** One entry in words. */
export function Entry({ entry, accountId }: { entry: AuditEntry; accountId?: string | undefined }) {
  const { at, actor, action, appId, detail } = entry;
  const told = Object.entries(detail);
  return (
    <li>
      <span class="quiet">
        <Time at={at} />
      </span>
      <div>
        <Actor of={actor} /> {texts.actions[action] ?? action}
        {appId !== undefined && accountId !== undefined && (
          <>
            {' '}
            <Link to={pathOfApp(accountId, appId)} class="mono">
              {appId}
            </Link>
          </>
        )}
        {told.length > 0 && (
          <div class="quiet small">
            {told.map(([name, value]) => (
              <span key={name}>
                {name}: <bdi>{String(value)}</bdi>{' '}
              </span>
            ))}
          </div>
        )}
      </div>
    </li>
  );
}
