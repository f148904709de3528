import { useId, useState } from 'preact/hooks';
import { authHeaderFault, needsHeader } from '../../../src/domain/otel-config/collector-header.ts';
import { ApiError } from '../../api/client.ts';
import { account, type Configuration, type ConfigurationRevision } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { configuration } from '../../text/configuration.ts';
import { TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Differences } from './differences.tsx';
import { needed } from '../../ui/tried.ts';

const texts = configuration.revisions;

interface RestoreDialogProps {
  readonly accountId: string;
  readonly revision: ConfigurationRevision;
  /** The configuration that was shown when the restoration was asked for. */
  readonly now: Configuration;
  readonly onClose: () => void;
  /** The configuration is another one than the page shows. */
  readonly onChanged: () => void;
}

/** A header for the restored revision; its value is a secret, and goes with the dialog. */
interface Header {
  readonly kind: 'keep' | 'set' | 'none';
  readonly value: string;
}

/** Asks before a revision is restored, and for a header where the stored one is not for its endpoint. */
export function RestoreDialog({ accountId, revision, now, onClose, onChanged }: RestoreDialogProps) {
  const { say } = useSession();
  const [header, setHeader] = useState<Header>({ kind: now.authHeaderSet ? 'keep' : 'set', value: '' });
  const isNeeded = needsHeader(now, revision);
  const { busy, error, run } = useAction(async () => {
    const { kind, value } = header;
    const sent = kind === 'keep' ? { keepHeader: true } : { authHeader: kind === 'set' ? value : '' };
    const body = { revision: revision.revision, seen: now.tag, ...(isNeeded && sent) };
    try {
      await account(accountId).restoreConfiguration(body);
      say(texts.dialog.done(revision.revision));
    } catch (fault) {
      if (!(fault instanceof ApiError && fault.code === 'changed_meanwhile')) throw fault;
      say(texts.dialog.meanwhile);
    }
    onChanged();
    onClose();
  });
  const after = { ...revision, authHeaderSet: isNeeded ? header.kind !== 'none' : now.authHeaderSet };
  return (
    <Dialog title={texts.dialog.title(revision.revision)} onClose={onClose} wide>
      <Differences
        before={now}
        after={after}
        names={[configuration.dialog.before, configuration.dialog.after]}
        same={texts.dialog.sameAsNow}
      />
      <p>{configuration.dialog.devices(now.devices)}</p>
      <Form unsaved={header.value !== ''} onSend={run}>
        {isNeeded && <HeaderChoice header={header} isStored={now.authHeaderSet} onHeader={setHeader} />}
        {!isNeeded && now.authHeaderSet && <p>{texts.dialog.stays}</p>}
        <FormEnd error={error} busy={busy} onCancel={onClose}>
          {texts.dialog.action}
        </FormEnd>
      </Form>
    </Dialog>
  );
}

interface HeaderChoiceProps {
  readonly header: Header;
  /** A header is stored now. */
  readonly isStored: boolean;
  readonly onHeader: (header: Header) => void;
}

function HeaderChoice({ header: { kind, value }, isStored, onHeader }: HeaderChoiceProps) {
  const id = useId();
  const fault = kind === 'set' && value !== '' ? authHeaderFault(value) : undefined;
  const choices = [
    ...(isStored ? ([['keep', texts.dialog.keep]] as const) : []),
    ['set', texts.dialog.set],
    ['none', texts.dialog.without],
  ] as const;
  return (
    <fieldset>
      <legend>{configuration.header}</legend>
      <p class="note warn">{isStored ? texts.dialog.moves : texts.dialog.needed}</p>
      {choices.map(([choice, label]) => (
        <div class="check" key={choice}>
          <input
            type="radio"
            id={`${id}-${choice}`}
            name={id}
            checked={kind === choice}
            onChange={() => onHeader({ kind: choice, value: '' })}
          />
          <label for={`${id}-${choice}`}>{label}</label>
        </div>
      ))}
      {kind === 'set' && (
        <TextField
          label={configuration.headerValue}
          hint={configuration.headerHint}
          fault={fault}
          missing={needed(value)}
          type="password"
          autofocus
          autocomplete="off"
          spellcheck={false}
          value={value}
          onValue={(typed) => onHeader({ kind, value: typed })}
        />
      )}
    </fieldset>
  );
}
