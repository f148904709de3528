import { useState } from 'preact/hooks';
import { account, type ListedApiKey } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { formatInstant, zoneHere } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Name } from '../../ui/page.tsx';

interface ExpireKeyProps {
  readonly accountId: string;
  readonly apiKey: ListedApiKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** The reason for which a key cannot end at that instant, in milliseconds since 1970. */
function faultOf(at: number, present: string | null): string | undefined {
  const { expireDialog } = texts;
  if (Number.isNaN(at)) return expireDialog.missing;
  if (at <= Date.now()) return expireDialog.past;
  return present !== null && at >= Date.parse(present) ? expireDialog.later : undefined;
}

/** Lets a key end sooner. An expiry cannot be put off. */
export function ExpireKey({ accountId, apiKey, onClose, onChanged }: ExpireKeyProps) {
  const { expireDialog } = texts;
  const { say } = useSession();
  // A browser reads it in its own zone.
  const [wanted, setWanted] = useState('');
  const at = new Date(wanted).getTime();
  const fault = faultOf(at, apiKey.expiresAt);
  const { busy, error, run } = useAction(async () => {
    await account(accountId).expireKey(apiKey.keyId, new Date(at).toISOString());
    say(expireDialog.done);
    onChanged();
    onClose();
  });
  return (
    <Dialog title={expireDialog.title} onClose={onClose}>
      <p>
        <Name otherwise={apiKey.keyId}>{apiKey.name}</Name>
      </p>
      <p>
        {expireDialog.now} {apiKey.expiresAt === null ? common.never : formatInstant(apiKey.expiresAt)}.{' '}
        {expireDialog.says}
      </p>
      <Form onSend={run}>
        <TextField
          label={expireDialog.at}
          hint={texts.zone(zoneHere())}
          type="datetime-local"
          value={wanted}
          onValue={setWanted}
          missing={fault}
          fault={wanted === '' ? undefined : fault}
          autofocus
        />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {expireDialog.action}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
