import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry, AuditPage } from '../../api/panel.ts';
import { audit as texts } from '../../text/audit.ts';
import { common } from '../../text/common.ts';
import { Named } from '../../ui/actor.tsx';
import { Button } from '../../ui/controls.tsx';
import { Time } from '../../ui/page.tsx';
import { Words } from '../../ui/words.tsx';
import { Failed, Loading, Problem } from '../../ui/state.tsx';

interface TimelineProps {
  /** Reads the entries before a place, or the newest. */
  readonly read: (before: string | undefined, signal: AbortSignal) => Promise<AuditPage>;
  readonly empty: string;
  /** The account whose apps the entries link to; undefined where they are about one app. */
  readonly accountId?: string;
  /** An event beside the entries, which stands among them by its instant. */
  readonly beside?: { readonly at: string; readonly says: ComponentChildren } | null;
}

interface State {
  readonly entries: readonly AuditEntry[];
  readonly next?: string | undefined;
  readonly busy: boolean;
  readonly error?: unknown;
}

/** Entries of an audit, newest first, page by page. Another `key` begins anew. */
export function Timeline({ read, empty, accountId, beside }: TimelineProps) {
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
  if (isEmpty && next === undefined && !busy && !beside) return <p class="quiet">{empty}</p>;
  const older = beside ? entries.findIndex(({ at }) => at <= beside.at) : -1;
  const upTo = older < 0 ? entries.length : older;
  // It stands further back where all that is read is newer.
  const isBesideShown = beside && (older >= 0 || next === undefined);
  const line = (entry: AuditEntry, index: number) => (
    <Entry key={`${entry.at} ${entry.requestId} ${index}`} entry={entry} accountId={accountId} />
  );
  return (
    <div class="stack" aria-busy={busy}>
      <ol class="timeline">
        {entries.slice(0, upTo).map(line)}
        {isBesideShown && <Line at={beside.at}>{beside.says}</Line>}
        {entries.slice(upTo).map(line)}
      </ol>
      {isEmpty && !isBesideShown && <p class="quiet">{texts.notYet}</p>}
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

const Line = ({ at, children }: { at: string; children: ComponentChildren }) => (
  <li>
    <span class="quiet">
      <Time at={at} />
    </span>
    <div>{children}</div>
  </li>
);

/** Details that tell what the target says by its name. */
const OF_TARGETS = new Set(['appId', 'keyId', 'userId', 'linkId', 'accountId']);

interface EntryProps {
  readonly entry: AuditEntry;
  readonly accountId?: string | undefined;
  /** Stands at the end of the sentence. */
  readonly children?: ComponentChildren;
}

/** One entry in words. */
export function Entry({ entry, accountId, children }: EntryProps) {
  const { at, actor, actorName, action, target, targetName, detail } = entry;
  const told = Object.entries(detail).filter(([name, value]) => {
    const said = texts.said[name];
    return !OF_TARGETS.has(name) && (said ? said(value) : value) !== '';
  });
  // A daemon is its app.
  const isItself = target === actor.replace(/^device:/, 'app:');
  // The page is the account's.
  const isSaid = isItself || target === undefined || target.startsWith('account:');
  return (
    <Line at={at}>
      <Named of={actor} name={actorName ?? (isItself ? targetName : undefined)} accountId={accountId} />{' '}
      {texts.actions[action] ?? action}{' '}
      {!isSaid && <Named of={target} name={targetName} accountId={accountId} isSaid />} {children}
      {told.length > 0 && (
        <div class="quiet small">
          {told.map(([name, value], index) => (
            <span key={name}>
              {index > 0 && ' · '}
              {inWords(name, value)}
            </span>
          ))}
        </div>
      )}
    </Line>
  );
}

/** A detail as people say it: `evidenceLevel: full` is "evidence level full", `enabled: false` is "not enabled". */
function inWords(name: string, value: unknown) {
  const said = texts.said[name];
  if (said) return said(value);
  const words = texts.fields[name] ?? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  if (value === true) return words;
  if (value === false) return `${texts.not} ${words}`;
  return (
    <>
      {words} <Words>{String(value)}</Words>
    </>
  );
}
