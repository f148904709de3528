import { useState } from 'preact/hooks';
import { forMany } from '../../api/many.ts';
import { account, type PanelApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/state.tsx';

interface ChangeManyProps {
  readonly accountId: string;
  readonly apps: readonly PanelApp[];
  readonly change: 'revoke' | 'delete';
  /** @param left the ids of the apps that could not be changed, or of all when nothing was begun */
  readonly onClose: (left: readonly string[]) => void;
}

/** Revokes or deletes the chosen apps, after a typed confirmation, and shows how far it has come. */
export function ChangeMany({ accountId, apps, change, onClose }: ChangeManyProps) {
  const [left, setLeft] = useState(apps);
  const [typed, setTyped] = useState('');
  const [through, setThrough] = useState<number>();
  const [fault, setFault] = useState<unknown>();
  const count = left.length;
  const confirmation = String(count);
  const { busy, error, run } = useAction(async () => {
    const api = account(accountId);
    setFault(undefined);
    setThrough(0);
    const work = ({ appId }: PanelApp) => (change === 'revoke' ? api.revokeApp(appId) : api.deleteApp(appId));
    const { failed } = await forMany(left, work, setThrough);
    if (failed.length === 0) return onClose([]);
    setLeft(failed.map(({ item }) => item));
    setFault(failed[0]?.error);
    setTyped('');
  });
  const close = (): void => {
    if (!busy) onClose(left.map(({ appId }) => appId));
  };
  return (
    <Dialog title={change === 'revoke' ? texts.revokeMany(count) : texts.deleteMany(count)} onClose={close}>
      <p>{change === 'revoke' ? texts.revokeSays : texts.deleteSays}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === confirmation) run();
        }}
      >
        <TextField
          label={common.typeToConfirm(confirmation)}
          value={typed}
          onValue={setTyped}
          inputMode="numeric"
          autocomplete="off"
        />
        {through !== undefined && (
          <p role="status">
            {texts.progress(through, count)}{' '}
            <progress max={Math.max(through, count)} value={through} aria-hidden="true" />
          </p>
        )}
        {fault !== undefined && <p role="alert">{texts.failedSome(count)}</p>}
        <Problem error={fault ?? error} />
        <div class="actions">
          <Button onClick={close}>{common.cancel}</Button>
          <Button type="submit" kind="danger primary" busy={busy} disabled={typed.trim() !== confirmation}>
            {change === 'revoke' ? texts.revoke : texts.remove}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
