import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { account, type ReviewEntry } from '../../api/panel.ts';
import { showKeySheet, useKeys } from '../../shell/keys.ts';
import { useIsOwner } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { reviews as texts } from '../../text/reviews.ts';
import { Button } from '../../ui/controls.tsx';
import type { Status } from './order.ts';
import { NoteDialog, Review } from './review.tsx';

interface TriageProps {
  readonly accountId: string;
  /** In the order in which they are worked through; never empty. */
  readonly entries: readonly ReviewEntry[];
  readonly onDecide: (entry: ReviewEntry, status: Status) => void;
  /** Called with an entry whose note was written. */
  readonly onNoted: (entry: ReviewEntry) => void;
}

/** The keys of the triage, by what they decide. */
const DECISIONS: Readonly<Record<string, Status>> = { c: 'confirmed', d: 'dismissed', u: 'open' };
/** Entries that are rendered at once: hundreds of them would make the page slow. */
const SHOWN_STEP = 100;

/** The entries with one that is chosen, by keys or by buttons. */
export function Triage({ accountId, entries, onDecide, onNoted }: TriageProps) {
  const isOwner = useIsOwner(accountId);
  const { list, chosen, index, choose, follow } = useChosen(entries);
  const [asked, setAsked] = useState<ReviewEntry>();
  const [count, setCount] = useState(SHOWN_STEP);
  const shown = entries.slice(0, Math.max(count, index + 1));
  const decide = (entry: ReviewEntry, status: Status): void => {
    follow();
    onDecide(entry, status);
  };
  useKeys(isOwner ? texts.help : texts.help.filter(([key]) => 'jk'.includes(key)), (key) => {
    if (!chosen) return false;
    if (key === 'j' || key === 'k') choose(entries[index + (key === 'j' ? 1 : -1)]);
    else if (key === 'n' && isOwner) setAsked(chosen);
    else if (isOwner && DECISIONS[key] && DECISIONS[key] !== chosen.status) decide(chosen, DECISIONS[key]);
    else return false;
    return true;
  });
  return (
    <>
      <div class="review">
        <div class="row between">
          <span class="quiet">{common.rows(shown.length, entries.length, texts.entries)}</span>
          <Button small kind="quiet" onClick={showKeySheet}>
            {texts.keys} <kbd>?</kbd>
          </Button>
        </div>
      </div>
      <div ref={list} role="feed" aria-label={texts.list}>
        {shown.map((entry, number) => (
          <Review
            key={entry.entryId}
            accountId={accountId}
            entry={entry}
            isChosen={number === index}
            position={number + 1}
            size={entries.length}
            onFocus={() => choose(entry, { focus: false })}
            {...(isOwner && {
              onDecide: (status: Status) => decide(entry, status),
              onNote: () => setAsked(entry),
            })}
          />
        ))}
      </div>
      {shown.length < entries.length && (
        <div class="review">
          <div>
            <Button onClick={() => setCount(shown.length + SHOWN_STEP)}>{common.more}</Button>
          </div>
        </div>
      )}
      {asked && (
        <Note
          accountId={accountId}
          entry={asked}
          now={entries.find(({ entryId }) => entryId === asked.entryId)}
          onNoted={onNoted}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

/**
 * The entry that is chosen. It stays so when others come before it, or else a key would decide on one that nobody has
 * looked at. Once it is gone, the next one in its place is chosen.
 */
function useChosen(entries: readonly ReviewEntry[]) {
  const list = useRef<HTMLDivElement>(null);
  const [id, setId] = useState(entries[0]?.entryId);
  const place = useRef(0);
  const wantsFocus = useRef(false);
  const found = entries.findIndex(({ entryId }) => entryId === id);
  const index = found >= 0 ? found : Math.min(place.current, entries.length - 1);
  const chosen = entries[index];
  const chosenId = chosen?.entryId;
  useLayoutEffect(() => {
    place.current = index;
    setId(chosenId);
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    list.current?.querySelector<HTMLElement>('article[aria-current]')?.focus();
  }, [index, chosenId]);
  const choose = (entry: ReviewEntry | undefined, { focus = true } = {}): void => {
    if (!entry || entry.entryId === chosenId) return;
    if (focus) wantsFocus.current = true;
    setId(entry.entryId);
  };
  /** The focus goes with the choice when the entry that has it leaves the list. */
  const follow = (): void => {
    wantsFocus.current = true;
  };
  return { list, chosen, index, choose, follow };
}

interface NoteProps {
  readonly accountId: string;
  /** As it was when the note was begun. */
  readonly entry: ReviewEntry;
  /** As it is now; undefined where it has left the list. */
  readonly now: ReviewEntry | undefined;
  readonly onNoted: (entry: ReviewEntry) => void;
  readonly onClose: () => void;
}

function Note({ accountId, entry, now, onNoted, onClose }: NoteProps) {
  const { say } = useSession();
  const save = async (note: string): Promise<void> => {
    // A note goes with a status. Without the present one it would undo what somebody else has decided.
    if (!now) throw new Error(texts.noteGone);
    onNoted(await account(accountId).decide(entry.entryId, { status: now.status, note }));
    say(texts.noted(entry.rule));
  };
  return <NoteDialog entry={entry} onClose={onClose} save={save} />;
}
