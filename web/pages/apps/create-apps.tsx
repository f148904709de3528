import { useState } from 'preact/hooks';
import { Unreachable } from '../../api/client.ts';
import { ItemRefused } from '../../api/many.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { daemons } from '../../text/daemons.ts';
import { Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormEnd } from '../../ui/form.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { Problem } from '../../ui/state.tsx';
import { EnrollDaemon } from './add-daemon.tsx';
import { useCodeBatches, type CodeBatches } from './code-batches.ts';
import { CreatedCodes } from './created-codes.tsx';
import { Failures, Through } from './many-outcome.tsx';
import { forgetWay, useEnrollment, type Enrollment } from './enrollment-lines.tsx';

/** The most apps of an account (`appsPerAccountMax`). */
export const APPS_MAX = 1000;

interface CreateAppsProps {
  readonly accountId: string;
  /** The number of apps that still fit into the account; undefined until it is known. */
  readonly room: number | undefined;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Adds one daemon after the other. */
export function AddDaemon(props: CreateAppsProps) {
  const [round, setRound] = useState(0);
  return <CreateApps key={round} {...props} onAnother={() => setRound(round + 1)} />;
}

/** Creates one app or many, and shows their codes once. While it works it stays. */
export function CreateApps(props: CreateAppsProps & { onAnother?: () => void }) {
  const { accountId, room = APPS_MAX, onCreated, onAnother } = props;
  const onClose = (): void => {
    forgetWay();
    props.onClose();
  };
  const creation = useCodeBatches(accountId, 'create', onCreated);
  const enrollment = useEnrollment(accountId);
  const { created, rest, failures } = creation;
  if (created.length === 0) return <NewApps {...{ creation, room, onClose }} isOne={onAnother !== undefined} />;
  const [first] = created;
  if (first && created.length === 1 && rest === 0 && failures.length === 0) {
    const { appId, name, enrollCode: code, enrollCodeExpiresAt: expiresAt } = first;
    const issued = { appId, name, code, expiresAt, before: null };
    return <EnrollDaemon {...{ accountId, issued, enrollment, onClose, onAnother }} />;
  }
  return <NewCodes creation={creation} enrollment={enrollment} onClose={onClose} />;
}

interface NewCodesProps {
  readonly creation: CodeBatches;
  readonly enrollment: Enrollment;
  readonly onClose: () => void;
}

function NewCodes({ creation, enrollment, onClose }: NewCodesProps) {
  const { dialog } = texts;
  const { created, rest, refused, busy } = creation;
  const shownOnce = useShownOnce(created.map(({ enrollCode }) => enrollCode));
  return (
    <Dialog
      title={dialog.created(created.length, created.length + rest + refused)}
      onClose={onClose}
      wide
      stays={busy || rest > 0}
      shownOnce={shownOnce}
    >
      <Progress creation={creation} />
      <Rest creation={creation} />
      <CreatedCodes created={created} enrollment={enrollment} />
      <div class="actions">
        {busy && <Button onClick={creation.stop}>{common.stop}</Button>}
        {rest > 0 && !busy && <Button onClick={() => creation.run([])}>{dialog.retry}</Button>}
        <Button kind="primary" disabled={busy} onClick={() => shownOnce.leave(onClose)}>
          {dialog.kept}
        </Button>
      </div>
    </Dialog>
  );
}

const Progress = ({ creation: { progress } }: { creation: CodeBatches }) => (
  <div role="status">{progress && <Through {...progress} />}</div>
);

const isFull = (error: unknown): boolean => error instanceof ItemRefused && error.code === 'limit_reached';

/** What is left, and why. Of a lost answer it says enough: the same keys go with the next attempt. */
function Rest({ creation: { rest, refused, failures, busy, error } }: { creation: CodeBatches }) {
  if (busy) return null;
  const { dialog } = texts;
  const told = [rest > 0 ? dialog.rest(rest) : '', refused > 0 ? dialog.refused(refused) : ''].join(' ').trim();
  if (failures.length > 1) {
    // An account that is full says the same of each.
    const full = failures.every(({ error: fault }) => isFull(fault)) ? error : undefined;
    return full instanceof Error ? (
      <Failures says={`${told} ${full.message}`} failures={[]} />
    ) : (
      <Failures says={told} failures={failures} />
    );
  }
  return (
    <>
      {told !== '' && <p role="alert">{told}</p>}
      {!(error instanceof Unreachable) && <Problem error={error} />}
    </>
  );
}

const namesOf = (pattern: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => pattern.replaceAll('{n}', String(index + 1)));
const previewOf = (names: readonly string[]): string => texts.dialog.preview(names[0] ?? '', names.at(-1) ?? '');

interface NewAppsProps {
  readonly creation: CodeBatches;
  /** The number of apps that still fit into the account. */
  readonly room: number;
  /** There is one to create, and no number to ask for. */
  readonly isOne: boolean;
  readonly onClose: () => void;
}

function NewApps({ creation, room, isOne, onClose }: NewAppsProps) {
  const { dialog } = texts;
  const { rest, busy, run } = creation;
  const [count, setCount] = useState('1');
  const [pattern, setPattern] = useState('');
  const number = Number(count);
  const isNumber = Number.isInteger(number) && number >= 1 && number <= APPS_MAX;
  const names = isNumber ? namesOf(pattern.trim(), number) : [];
  // An attempt whose answer was lost is repeated as it was: the apps that there are by now may be those of it.
  const isFixed = busy || rest > 0;
  const tooMany = !isFixed && number > room ? dialog.tooMany(room) : undefined;
  return (
    <Dialog title={isOne ? daemons.add : dialog.title} onClose={onClose} stays={isFixed}>
      <Form onSend={() => run(names.map((name, order) => ({ order, name, asks: name })))}>
        <TextField
          label={dialog.name}
          hint={isOne ? daemons.nameHint : names.length > 1 ? previewOf(names) : dialog.nameHint}
          maxLength={200}
          value={pattern}
          disabled={isFixed}
          onValue={setPattern}
          autocomplete="off"
          fault={isOne ? tooMany : undefined}
          autofocus
        />
        {!isOne && (
          <TextField
            label={dialog.count}
            hint={dialog.room(room)}
            fault={tooMany}
            missing={isNumber ? undefined : dialog.countHint}
            type="number"
            min={1}
            max={room}
            value={count}
            disabled={isFixed}
            onValue={setCount}
          />
        )}
        <Progress creation={creation} />
        <Rest creation={creation} />
        <FormEnd busy={busy} stays onCancel={onClose} onStop={number > 1 ? creation.stop : undefined}>
          {rest > 0 && !busy ? common.retry : isOne ? daemons.create : dialog.create}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
