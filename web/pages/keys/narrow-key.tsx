import { useState } from 'preact/hooks';
import { isWithin } from '../../../src/domain/key-validity/key-restriction.ts';
import { KEY_ACCESSES } from '../../../src/domain/records/key-access.ts';
import { account, type ListedApiKey } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { keys as texts } from '../../text/keys.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Name } from '../../ui/page.tsx';
import { changed } from '../../ui/tried.ts';
import { scopeOf, ScopeFields, type ScopeDraft } from './scope-fields.tsx';

interface NarrowKeyProps {
  readonly accountId: string;
  readonly apiKey: ListedApiKey;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** Lets a key do less, or from fewer addresses. It cannot be widened again. */
export function NarrowKey({ accountId, apiKey, onClose, onChanged }: NarrowKeyProps) {
  const { narrowDialog } = texts;
  const { say } = useSession();
  const before: ScopeDraft = { access: apiKey.access, ranges: apiKey.allowedCidrs.join('\n') };
  const [draft, setDraft] = useState(before);
  const scope = scopeOf(draft);
  const isChanged = draft.access !== before.access || scope.allowedCidrs.join('\n') !== before.ranges;
  const isWider = !isWithin(scope, apiKey);
  const { busy, error, run } = useAction(async () => {
    await account(accountId).narrowKey(apiKey.keyId, scope);
    say(narrowDialog.done);
    onChanged();
    onClose();
  });
  return (
    <Dialog title={narrowDialog.title} onClose={onClose}>
      <p>
        <Name otherwise={apiKey.keyId}>{apiKey.name}</Name>
      </p>
      <p>{narrowDialog.says}</p>
      <Form onSend={run}>
        <ScopeFields
          draft={draft}
          onDraft={setDraft}
          accesses={apiKey.access === 'full' ? KEY_ACCESSES : [apiKey.access]}
          missing={{ access: changed(isChanged), ranges: isWider ? narrowDialog.wider : undefined }}
        />
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {narrowDialog.action}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
