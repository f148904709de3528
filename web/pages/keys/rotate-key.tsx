import { useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { account, type ListedApiKey } from '../../api/panel.ts';
import { useCreation } from '../../hooks/use-creation.ts';
import { formatInstant } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { Select } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Name } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';
import { ShownKey } from './shown-key.tsx';

interface ChangeKeyProps {
  readonly accountId: string;
  readonly apiKey: ListedApiKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

type Overlap = keyof typeof texts.rotateDialog.overlaps;
/** Objects list such keys by their numbers. */
const OVERLAPS = Object.entries(texts.rotateDialog.overlaps) as [Overlap, string][];

/** Gives a key another secret, which is shown once. The previous one works for as long as the person chooses. */
export function RotateKey({ accountId, apiKey, onClose, onChanged }: ChangeKeyProps) {
  const { rotateDialog } = texts;
  const [overlap, setOverlap] = useState<Overlap>('86400');
  const { busy, error, run, made, isSent } = useCreation(
    (graceSeconds: number, key) => account(accountId).rotateKey(apiKey.keyId, graceSeconds, key),
    onChanged,
  );
  if (made) {
    return (
      <ShownKey title={rotateDialog.rotated} apiKey={made.apiKey} onClose={onClose}>
        <p>
          {made.formerExpiresAt === null
            ? rotateDialog.formerEnded
            : `${rotateDialog.formerEnds} ${formatInstant(made.formerExpiresAt)}.`}
        </p>
      </ShownKey>
    );
  }
  return (
    <Dialog title={rotateDialog.title} onClose={onClose} stays={isSent}>
      <p>
        <Name otherwise={apiKey.keyId}>{apiKey.name}</Name>
      </p>
      <p>{rotateDialog.says}</p>
      {apiKey.formerExpiresAt !== null && !isSent && (
        <div class="note warn">
          <p>
            {rotateDialog.former} {formatInstant(apiKey.formerExpiresAt)}.
          </p>
        </div>
      )}
      <Form onSend={() => run(Number(overlap))}>
        <Select
          label={rotateDialog.overlap}
          hint={rotateDialog.overlapHint}
          value={overlap}
          options={OVERLAPS}
          onValue={setOverlap}
          disabled={isSent}
        />
        {isSent && !busy && <p role="alert">{rotateDialog.again}</p>}
        {!(error instanceof Unreachable) && <Problem error={error} />}
        <FormEnd busy={busy} stays onCancel={onClose}>
          {texts.rotate}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
