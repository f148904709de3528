import { useRef, useState } from 'preact/hooks';
import { newIdempotencyKey } from '../../api/client.ts';
import { forMany } from '../../api/many.ts';
import { account, type CreatedApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Button, DownloadButton, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/state.tsx';
import { EnrollmentLines, SecretText } from './enrollment-lines.tsx';

interface CreateAppsProps {
  readonly accountId: string;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** An app to create, with the key that makes it one app however often it is asked for. */
interface Wanted {
  readonly name: string;
  readonly key: string;
}

const COUNT_MAX = 100;

const namesOf = (pattern: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => pattern.replaceAll('{n}', String(index + 1)));

/** Creates one app or many, and shows their codes once. */
export function CreateApps({ accountId, onClose, onCreated }: CreateAppsProps) {
  const { dialog } = texts;
  const [count, setCount] = useState('1');
  const [pattern, setPattern] = useState('');
  const [through, setThrough] = useState<number>();
  const [created, setCreated] = useState<readonly CreatedApp[]>([]);
  const [fault, setFault] = useState<unknown>();
  const left = useRef<readonly Wanted[]>(undefined);
  const number = Number(count);
  const isNumber = Number.isInteger(number) && number >= 1 && number <= COUNT_MAX;
  const { busy, error, run } = useAction(async () => {
    left.current ??= namesOf(pattern.trim(), number).map((name) => ({ name, key: newIdempotencyKey() }));
    setFault(undefined);
    setThrough(0);
    const api = account(accountId);
    const { done, failed } = await forMany(left.current, ({ name, key }) => api.createApp(name, key), setThrough);
    setCreated((before) => [...before, ...done.map(({ result }) => result)]);
    left.current = failed.map(({ item }) => item);
    setFault(failed[0]?.error);
    onCreated();
  });
  const rest = left.current?.length ?? 0;
  if (created.length > 0) {
    return (
      <Dialog title={dialog.created(created.length)} onClose={onClose} wide stays>
        <CreatedCodes created={created} />
        {rest > 0 && <p role="alert">{dialog.rest(rest)}</p>}
        <Problem error={fault} />
        <div class="actions">
          {rest > 0 && (
            <Button busy={busy} onClick={run}>
              {dialog.retry}
            </Button>
          )}
          <Button kind="primary" onClick={onClose}>
            {dialog.kept}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={dialog.title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isNumber) run();
        }}
      >
        <TextField
          label={dialog.name}
          hint={dialog.nameHint}
          maxLength={100}
          value={pattern}
          disabled={left.current !== undefined}
          onValue={setPattern}
          autocomplete="off"
          autofocus
        />
        <TextField
          label={dialog.count}
          hint={dialog.countHint}
          type="number"
          min={1}
          max={COUNT_MAX}
          value={count}
          disabled={left.current !== undefined}
          onValue={setCount}
        />
        {through !== undefined && <p role="status">{dialog.creating(through, number)}</p>}
        <Problem error={fault ?? error} />
        <div class="actions">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" kind="primary" busy={busy} disabled={!isNumber}>
            {dialog.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const csvOf = (created: readonly CreatedApp[]): string =>
  [
    ['appId', 'name', 'enrollCode', 'expiresAt'],
    ...created.map((app) => [app.appId, app.name, app.enrollCode, app.enrollCodeExpiresAt]),
  ]
    .map((row) => row.map(quoted).join(','))
    .join('\r\n');

function CreatedCodes({ created }: { created: readonly CreatedApp[] }) {
  const [only] = created;
  return (
    <div class="stack">
      <p>{common.shownOnce}</p>
      {created.length === 1 && only ? (
        <>
          <SecretText label={texts.dialog.code} secret={only.enrollCode} />
          <EnrollmentLines appId={only.appId} code={only.enrollCode} />
        </>
      ) : (
        <>
          <div class="row">
            <DownloadButton
              label={texts.dialog.csv}
              text={csvOf(created)}
              file="enrollment-codes.csv"
              type="text/csv"
            />
          </div>
          {created.map(({ appId, name, enrollCode }) => (
            <SecretText key={appId} label={name === '' ? appId : name} secret={enrollCode} />
          ))}
        </>
      )}
    </div>
  );
}
