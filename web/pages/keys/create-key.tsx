import { useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { account } from '../../api/panel.ts';
import { useCreation } from '../../hooks/use-creation.ts';
import { zoneHere } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { scopeOf, ScopeFields, type ScopeDraft } from './scope-fields.tsx';
import { ShownKey } from './shown-key.tsx';

const DAY_MS = 86_400_000;

type Expiry = keyof typeof texts.dialog.expiryOptions;

/** The instant at which the key ends; null for never, undefined where the date is none yet, or is past. */
function expiresAt(expiry: Expiry, date: string): string | null | undefined {
  if (expiry === 'never') return null;
  const at = expiry === 'date' ? new Date(`${date}T23:59:59`).getTime() : Date.now() + Number(expiry) * DAY_MS;
  return Number.isFinite(at) && at > Date.now() ? new Date(at).toISOString() : undefined;
}

interface CreateKeyProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

export function CreateKey({ accountId, onClose, onCreated }: CreateKeyProps) {
  const { dialog } = texts;
  const [name, setName] = useState('');
  const [expiry, setExpiry] = useState<Expiry>('90');
  const [date, setDate] = useState('');
  const [draft, setDraft] = useState<ScopeDraft>({ access: 'full', ranges: '' });
  const { busy, error, run, made, isSent } = useCreation(account(accountId).createKey, onCreated);
  const ends = expiresAt(expiry, date);
  if (made) return <ShownKey title={dialog.created} apiKey={made.apiKey} onClose={onClose} />;
  return (
    <Dialog title={dialog.title} onClose={onClose} stays={isSent}>
      <Form onSend={() => run({ name: name.trim(), expiresAt: ends ?? null, ...scopeOf(draft) })}>
        <TextField
          label={dialog.name}
          hint={dialog.nameHint}
          maxLength={400}
          value={name}
          onValue={setName}
          disabled={isSent}
          autofocus
          autocomplete="off"
        />
        <Select
          label={dialog.expires}
          value={expiry}
          options={Object.entries(dialog.expiryOptions) as [Expiry, string][]}
          onValue={setExpiry}
          disabled={isSent}
        />
        {expiry === 'date' && (
          <TextField
            label={dialog.date}
            type="date"
            hint={texts.zone(zoneHere())}
            value={date}
            onValue={setDate}
            disabled={isSent}
            missing={date === '' ? dialog.dateMissing : undefined}
            fault={date !== '' && ends === undefined ? dialog.pastDate : undefined}
          />
        )}
        <ScopeFields draft={draft} onDraft={setDraft} disabled={isSent} />
        {isSent && !busy && <p role="alert">{dialog.again}</p>}
        {!(error instanceof Unreachable) && <Problem error={error} />}
        <FormEnd busy={busy} stays onCancel={onClose}>
          {dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
