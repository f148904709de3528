import { useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { account } from '../../api/panel.ts';
import { useCreation } from '../../hooks/use-creation.ts';
import { keys as texts } from '../../text/keys.ts';
import { TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { expiresAt, ExpiryFields, type ExpiryDraft } from './expiry-fields.tsx';
import { scopeOf, ScopeFields, type ScopeDraft } from './scope-fields.tsx';
import { ShownKey } from './shown-key.tsx';

interface CreateKeyProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

export function CreateKey({ accountId, onClose, onCreated }: CreateKeyProps) {
  const { dialog } = texts;
  const [name, setName] = useState('');
  const [expiry, setExpiry] = useState<ExpiryDraft>({ expiry: '90', date: '' });
  const [draft, setDraft] = useState<ScopeDraft>({ access: 'full', ranges: '' });
  const { busy, error, run, made, isSent } = useCreation(account(accountId).createKey, onCreated);
  if (made) return <ShownKey title={dialog.created} apiKey={made.apiKey} onClose={onClose} />;
  return (
    <Dialog title={dialog.title} onClose={onClose} stays={isSent}>
      <Form onSend={() => run({ name: name.trim(), expiresAt: expiresAt(expiry) ?? null, ...scopeOf(draft) })}>
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
        <ExpiryFields draft={expiry} onDraft={setExpiry} disabled={isSent} hasNever />
        <ScopeFields draft={draft} onDraft={setDraft} disabled={isSent} />
        <p class="quiet small">{dialog.endsWith}</p>
        {isSent && !busy && <p role="alert">{dialog.again}</p>}
        {!(error instanceof Unreachable) && <Problem error={error} />}
        <FormEnd busy={busy} stays onCancel={onClose}>
          {dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
