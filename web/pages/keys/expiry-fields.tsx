import { zoneHere } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { Select, TextField } from '../../ui/controls.tsx';

const DAY_MS = 86_400_000;

type Expiry = keyof typeof texts.dialog.expiryOptions;

/** An expiry as somebody chooses it. */
export interface ExpiryDraft {
  readonly expiry: Expiry;
  /** The day of a browser, where one is chosen. */
  readonly date: string;
}

/** The instant of an expiry; null for never, undefined where the date is none yet, or is past. */
export function expiresAt({ expiry, date }: ExpiryDraft): string | null | undefined {
  if (expiry === 'never') return null;
  const at = expiry === 'date' ? new Date(`${date}T23:59:59`).getTime() : Date.now() + Number(expiry) * DAY_MS;
  return Number.isFinite(at) && at > Date.now() ? new Date(at).toISOString() : undefined;
}

interface ExpiryFieldsProps {
  readonly draft: ExpiryDraft;
  readonly onDraft: (draft: ExpiryDraft) => void;
  readonly disabled?: boolean;
  /** Whether it may have no end. */
  readonly hasNever?: boolean;
}

/** The choice of when a secret ends. */
export function ExpiryFields({ draft, onDraft, disabled = false, hasNever = false }: ExpiryFieldsProps) {
  const { dialog } = texts;
  const { expiry, date } = draft;
  const options = Object.entries(dialog.expiryOptions) as [Expiry, string][];
  return (
    <>
      <Select
        label={dialog.expires}
        value={expiry}
        options={options.filter(([option]) => hasNever || option !== 'never')}
        onValue={(chosen) => onDraft({ ...draft, expiry: chosen })}
        disabled={disabled}
      />
      {expiry === 'date' && (
        <TextField
          label={dialog.date}
          type="date"
          hint={texts.zone(zoneHere())}
          value={date}
          onValue={(chosen) => onDraft({ ...draft, date: chosen })}
          disabled={disabled}
          missing={date === '' ? dialog.dateMissing : undefined}
          fault={date !== '' && expiresAt(draft) === undefined ? dialog.pastDate : undefined}
        />
      )}
    </>
  );
}
