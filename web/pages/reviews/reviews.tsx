import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { account, type ReviewEntry } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/pages.tsx';
import { useIsOwner, useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { reviews as texts } from '../../text/reviews.ts';
import { Button, Select } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { Empty, Problem, Shown } from '../../ui/state.tsx';
import { NoteDialog, Review } from './review.tsx';
import { inTriageOrder, readReviews, type Severity, type Status } from './order.ts';

/** The review queue, worked through by keys or by buttons. */
export function ReviewsPage({ accountId }: PageProps) {
  const [status, setStatus] = useState<Status>('open');
  const [severity, setSeverity] = useState<'' | Severity>('');
  const queue = useResource(`reviews ${accountId} ${status}`, (signal) => readReviews(accountId, status, signal), {
    of: accountId,
    topics: ['reviews'],
  });
  const { entries = [] } = queue.data ?? {};
  const shown = useMemo(() => inTriageOrder(entries, severity), [entries, severity]);
  return (
    <Page title={texts.title} lead={texts.lead} actions={<Counts accountId={accountId} />}>
      <div class="toolbar">
        <Select
          label={texts.status}
          value={status}
          options={Object.entries(texts.statuses) as [Status, string][]}
          onValue={setStatus}
        />
        <Select
          label={texts.severity}
          value={severity}
          options={[['', texts.anySeverity], ...(Object.entries(texts.severities) as [Severity, string][])]}
          onValue={setSeverity}
        />
      </div>
      <Shown of={queue}>
        {({ isWhole }) => (
          <>
            {!isWhole && <p class="note">{texts.more}</p>}
            <Card flush>
              {shown.length === 0 ? (
                <Empty title={status === 'open' ? texts.empty : texts.nothing} />
              ) : (
                <Triage
                  accountId={accountId}
                  entries={shown}
                  onDecided={(decided) =>
                    queue.replace((data) => ({
                      ...data,
                      entries: data.entries.flatMap((entry) =>
                        entry.entryId !== decided.entryId ? [entry] : decided.status === status ? [decided] : [],
                      ),
                    }))
                  }
                />
              )}
            </Card>
          </>
        )}
      </Shown>
    </Page>
  );
}

function Counts({ accountId }: { accountId: string }) {
  const counts = useResource(`counts ${accountId}`, (signal) => account(accountId).reviewCounts({ signal }), {
    of: accountId,
    topics: ['reviews'],
  });
  if (!counts.data) return null;
  const { open, confirmed, dismissed, dropped, complete } = counts.data;
  const all = open.critical + open.high + open.medium + open.low;
  return (
    <p class="quiet" role="status">
      {texts.counts(all, confirmed, dismissed)}
      {dropped > 0 && <> · {texts.dropped(dropped)}</>}
      {!complete && <> · {texts.incomplete}</>}
    </p>
  );
}

interface TriageProps {
  readonly accountId: string;
  readonly entries: readonly ReviewEntry[];
  readonly onDecided: (entry: ReviewEntry) => void;
}

/** The keys of the triage, by what they decide. */
const DECISIONS: Readonly<Record<string, Status>> = { c: 'confirmed', d: 'dismissed', u: 'open' };

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;

function Triage({ accountId, entries, onDecided }: TriageProps) {
  const { say } = useSession();
  const isOwner = useIsOwner(accountId);
  const [place, setPlace] = useState(0);
  const [asked, setAsked] = useState<'note' | 'help'>();
  const list = useRef<HTMLDivElement>(null);
  const index = Math.min(place, entries.length - 1);
  const chosen = entries[index];
  const { busy, error, run } = useAction(async (entry: ReviewEntry, status: Status, note?: string) => {
    const decided = await account(accountId).decide(entry.entryId, { status, ...(note !== undefined && { note }) });
    say(texts.decided(entry.rule, texts.statuses[decided.status]));
    onDecided(decided);
  });
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(entries.length - 1, index + by));
    setPlace(next);
    list.current?.querySelectorAll<HTMLElement>('article')[next]?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key === 'j') move(1);
    else if (key === 'k') move(-1);
    else if (key === '?') setAsked('help');
    else if (key === 'n' && isOwner) setAsked('note');
    else if (chosen && isOwner && DECISIONS[key] && DECISIONS[key] !== chosen.status) run(chosen, DECISIONS[key]);
    else return;
    event.preventDefault();
  };
  const latest = useRef(press);
  latest.current = press;
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => latest.current(event);
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);
  return (
    <div ref={list} role="feed" aria-label={texts.list} aria-busy={busy}>
      <Problem error={error} />
      {entries.map((entry, number) => (
        <Review
          key={entry.entryId}
          accountId={accountId}
          entry={entry}
          isChosen={number === index}
          position={number + 1}
          size={entries.length}
          onFocus={() => setPlace(number)}
          {...(isOwner && {
            onDecide: (status: Status) => run(entry, status),
            onNote: () => {
              setPlace(number);
              setAsked('note');
            },
          })}
        />
      ))}
      <div class="review">
        <Button small kind="quiet" onClick={() => setAsked('help')}>
          {texts.keys} <kbd>?</kbd>
        </Button>
      </div>
      {asked === 'help' && <Help onClose={() => setAsked(undefined)} />}
      {asked === 'note' && chosen && (
        <NoteDialog
          entry={chosen}
          onClose={() => setAsked(undefined)}
          save={async (note) => {
            onDecided(await account(accountId).decide(chosen.entryId, { status: chosen.status, note }));
          }}
        />
      )}
    </div>
  );
}

const Help = ({ onClose }: { onClose: () => void }) => (
  <Dialog title={texts.keys} onClose={onClose}>
    <dl class="facts">
      {texts.help.map(([key, does]) => [
        <dt key={key}>
          <kbd>{key}</kbd>
        </dt>,
        <dd key={does}>{does}</dd>,
      ])}
    </dl>
    <div class="actions">
      <Button kind="primary" onClick={onClose}>
        {common.close}
      </Button>
    </div>
  </Dialog>
);
