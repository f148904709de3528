import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { batchesOf, inBatches, isFinal, ItemRefused, without, type Batch } from '../../api/many.ts';
import { account, type PanelApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useSession } from '../../shell/session.tsx';
import { app as appTexts, apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { Problem } from '../../ui/state.tsx';
import { Failures, Through } from './many-outcome.tsx';
import { typedName } from './typed-name.ts';

interface ChangeManyProps {
  readonly accountId: string;
  readonly apps: readonly PanelApp[];
  readonly change: 'revoke' | 'delete';
  /** @param left the ids of the apps that are not changed */
  readonly onClose: (left: readonly string[]) => void;
}

/** Revokes or deletes the chosen apps after a typed confirmation, and shows how far it has come and what failed. */
export function ChangeMany(props: ChangeManyProps) {
  const { change, onClose } = props;
  const { left, failures, progress, busy, error, run, stop } = useChange(props);
  const isRevoke = change === 'revoke';
  const count = left.length;
  const managed = left.filter(({ managedBy }) => managedBy !== undefined).length;
  const close = (): void => {
    if (!busy) onClose(left.map(({ appId }) => appId));
  };
  const isBegun = progress !== undefined;
  const told = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that was pressed is gone.
    if (isBegun) told.current?.focus();
  }, [isBegun]);
  return (
    <Dialog title={isRevoke ? texts.revokeMany(count) : texts.deleteMany(count)} onClose={close} stays={busy}>
      <p>{saysOf(isRevoke, count)}</p>
      {managed > 0 && <p>{texts.managedMany(managed)}</p>}
      <div ref={told} role="status" tabIndex={-1}>
        {progress && <Through {...progress} />}
      </div>
      {!busy && isBegun && <Failures says={texts.failedSome(count)} failures={failures} />}
      <Problem error={error} />
      {isBegun ? (
        <div class="actions">
          {busy ? <Button onClick={stop}>{common.stop}</Button> : <Button onClick={close}>{common.close}</Button>}
          <Button kind="danger primary" busy={busy} onClick={run}>
            {common.retry}
          </Button>
        </div>
      ) : (
        <TypedForm left={left} action={isRevoke ? texts.revoke : texts.remove} onCancel={close} onConfirm={run} />
      )}
    </Dialog>
  );
}

function saysOf(isRevoke: boolean, count: number): string {
  const { revokeSays, deleteSays } = count === 1 ? appTexts : texts;
  return isRevoke ? revokeSays : deleteSays;
}

interface Failure {
  readonly item: PanelApp;
  readonly error: unknown;
}
interface Progress {
  readonly through: number;
  readonly all: number;
}

function useChange({ accountId, apps, change, onClose }: ChangeManyProps) {
  const { say } = useSession();
  // The list behind the dialog is read again meanwhile, and loses what is deleted.
  const [{ length: total }] = useState(apps);
  const [batches, setBatches] = useState(() => batchesOf(apps));
  const left = useMemo(() => batches.flatMap(({ items }) => items), [batches]);
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const [progress, setProgress] = useState<Progress>();
  const stopping = useRef<AbortController>(undefined);
  const { busy, error, run } = useAction(async () => {
    const api = account(accountId);
    const work = async ({ items, key }: Batch<PanelApp>) => {
      const { outcomes } = await api.changeApps(
        change,
        items.map(({ appId }) => appId),
        key,
      );
      return outcomes.map(({ error: refused, ...changed }) => (refused ? new ItemRefused(refused) : changed));
    };
    const show = (through: number): void => setProgress({ through, all: left.length });
    stopping.current = new AbortController();
    setFailures([]);
    show(0);
    const outcome = await inBatches(batches, work, show, stopping.current.signal);
    // An app that is not there was deleted by somebody else.
    const gone = outcome.failed.filter(({ error: fault }) => isFinal(fault)).map(({ item }) => item);
    const again = without(outcome.left, new Set(gone));
    if (again.length === 0) {
      say(change === 'revoke' ? texts.revokedMany(total) : texts.deletedMany(total));
      return onClose([]);
    }
    setBatches(again);
    setFailures(outcome.failed.filter(({ error: fault }) => !isFinal(fault)));
  });
  return { left, failures, progress, busy, error, run, stop: () => stopping.current?.abort() };
}

interface TypedFormProps {
  readonly left: readonly PanelApp[];
  readonly action: string;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
}

/** Asks for the name of the one app, or for the number of them. */
function TypedForm({ left, action, onCancel, onConfirm }: TypedFormProps) {
  const [typed, setTyped] = useState('');
  const [only] = left;
  const wanted = left.length === 1 && only ? typedName(only.name, only.appId) : String(left.length);
  const isTyped = typed.trim() === wanted;
  return (
    <Form unsaved={false} onSend={onConfirm}>
      <TextField
        label={common.typeToConfirm(wanted)}
        missing={isTyped ? undefined : common.typeToConfirm(wanted)}
        value={typed}
        onValue={setTyped}
        inputMode={left.length === 1 ? 'text' : 'numeric'}
        autocomplete="off"
        spellcheck={false}
      />
      <FormEnd kind="danger primary" onCancel={onCancel}>
        {action}
      </FormEnd>
    </Form>
  );
}
