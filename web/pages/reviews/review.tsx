import { useState } from 'preact/hooks';
import type { ReviewEntry } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { common } from '../../text/common.ts';
import { reviews as texts } from '../../text/reviews.ts';
import { Badge, Button, TextArea } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Name, Time } from '../../ui/page.tsx';
import { SeverityBadge } from '../../ui/severity.tsx';
import { Words } from '../../ui/words.tsx';
import type { Status } from './order.ts';

interface ReviewProps {
  readonly accountId: string;
  readonly entry: ReviewEntry;
  readonly isChosen: boolean;
  readonly position: number;
  readonly size: number;
  readonly onFocus: () => void;
  /** Absent for those who may only look. */
  readonly onDecide?: (status: Status) => void;
  readonly onNote?: () => void;
}

/** One entry with its evidence, at the level that the account allows. */
export function Review({ accountId, entry, isChosen, position, size, onFocus, onDecide, onNote }: ReviewProps) {
  const { rule, severity, status, appId, at, receivedAt, evidence, note } = entry;
  return (
    <article
      class={`review ${isChosen ? 'chosen' : ''}`}
      tabIndex={isChosen ? 0 : -1}
      aria-posinset={position}
      aria-setsize={size}
      aria-current={isChosen ? 'true' : undefined}
      aria-label={`${texts.severities[severity]}: ${rule}`}
      onFocus={onFocus}
    >
      <div class="row between">
        <span class="row">
          <SeverityBadge severity={severity} />
          <strong>
            <Name>{rule}</Name>
          </strong>
          {status !== 'open' && <Badge>{texts.statuses[status]}</Badge>}
        </span>
        <span class="quiet small">
          {texts.found} <Time at={at} /> · {texts.received} <Time at={receivedAt} /> · {texts.app}{' '}
          <Link to={pathOfApp(accountId, appId)}>
            <Name otherwise={appId}>{entry.appName ?? ''}</Name>
          </Link>
        </span>
      </div>
      <div class="quiet small">
        {texts.hash}: <code>{evidence.hash}</code>
      </div>
      {evidence.full !== undefined ? (
        <Evidence label={texts.full} text={evidence.full} />
      ) : (
        evidence.redacted !== undefined && <Evidence label={texts.redacted} text={evidence.redacted} />
      )}
      {note !== undefined && (
        <p>
          {texts.note}: <Words>{note}</Words>
        </p>
      )}
      {onDecide && (
        <div class="row">
          {status !== 'confirmed' && (
            <Button small aria-keyshortcuts={isChosen ? 'c' : undefined} onClick={() => onDecide('confirmed')}>
              {texts.confirm}
            </Button>
          )}
          {status !== 'dismissed' && (
            <Button small aria-keyshortcuts={isChosen ? 'd' : undefined} onClick={() => onDecide('dismissed')}>
              {texts.dismiss}
            </Button>
          )}
          {status !== 'open' && (
            <Button small aria-keyshortcuts={isChosen ? 'u' : undefined} onClick={() => onDecide('open')}>
              {texts.reopen}
            </Button>
          )}
          <Button small kind="quiet" aria-keyshortcuts={isChosen ? 'n' : undefined} onClick={() => onNote?.()}>
            {texts.addNote}
          </Button>
        </div>
      )}
    </article>
  );
}

const SHOWN_CHARACTERS = 400;

function Evidence({ label, text }: { label: string; text: string }) {
  const [isWhole, setWhole] = useState(text.length <= SHOWN_CHARACTERS);
  return (
    <div class="stack tight">
      <pre tabIndex={0} aria-label={label}>
        <bdi>{isWhole ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`}</bdi>
      </pre>
      {!isWhole && (
        <div>
          <Button small kind="quiet" onClick={() => setWhole(true)}>
            {texts.all}
          </Button>
        </div>
      )}
    </div>
  );
}

interface NoteDialogProps {
  readonly entry: ReviewEntry;
  readonly onClose: () => void;
  readonly save: (note: string) => Promise<unknown>;
}

/** Writes the note of an entry. */
export function NoteDialog({ entry, onClose, save }: NoteDialogProps) {
  const [note, setNote] = useState(entry.note ?? '');
  const { busy, error, run } = useAction(async () => {
    await save(note.trim());
    onClose();
  });
  return (
    <Dialog title={texts.noteTitle} onClose={onClose}>
      <Form onSend={run}>
        <TextArea label={texts.note} hint={texts.noteHint} value={note} onValue={setNote} maxLength={500} autofocus />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {common.save}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
