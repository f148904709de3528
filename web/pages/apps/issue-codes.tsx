import { useEffect, useRef, useState } from 'preact/hooks';
import { account, type PanelApp } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Button } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useShownOnce } from '../../ui/shown-once.ts';
import { shownName } from '../../../src/text/shown-name.ts';
import { EnrollDaemon } from './add-daemon.tsx';
import { useCodeBatches } from './code-batches.ts';
import { CreatedCodes } from './created-codes.tsx';
import { forgetWay, useEnrollment } from './enrollment-lines.tsx';
import { Failures, Through } from './many-outcome.tsx';

interface IssueCodesProps {
  readonly accountId: string;
  readonly apps: readonly PanelApp[];
  /** @param left the ids of the apps that have no code of this */
  readonly onClose: (left: readonly string[]) => void;
}

/** Issues a code for each of the chosen apps, and shows the codes once. While it works and shows codes, it stays. */
export function IssueCodes({ accountId, apps, onClose }: IssueCodesProps) {
  const { codes, dialog } = texts;
  // The list behind the dialog is read again meanwhile.
  const [chosen] = useState(apps);
  const [isBegun, setBegun] = useState(false);
  const enrollment = useEnrollment(accountId);
  const { created, rest, failures, progress, busy, run, stop } = useCodeBatches(
    accountId,
    'issue-code',
    () => undefined,
  );
  // The Secret of a FleetApp holds the code of its app: another one would be known to nobody there.
  const able = chosen.filter(({ managedBy }) => managedBy === undefined);
  const managed = chosen.length - able.length;
  const revoked = able.filter(({ status }) => status === 'revoked').length;
  const [only] = able.length === 1 ? able : [];
  const detail = useResource(
    `issue ${only?.appId ?? ''}`,
    async (signal) => only && (await account(accountId).app(only.appId, { signal })),
    { of: accountId, topics: ['apps', 'seen'] },
  );
  /** The instant at which the one app had enrolled last; undefined where that is not known. */
  const before = useRef<string | null>(undefined);
  const close = (): void => {
    const issued = new Set(created.map(({ appId }) => appId));
    if (busy) return;
    forgetWay();
    onClose(chosen.map(({ appId }) => appId).filter((appId) => !issued.has(appId)));
  };
  const issue = (): void => {
    setBegun(true);
    before.current ??= detail.data?.enrolledAt;
    run(able.map(({ appId, name }, order) => ({ order, name: shownName(name, appId), asks: appId })));
  };
  const shownOnce = useShownOnce(created.map(({ enrollCode }) => enrollCode));
  const told = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that was pressed is gone.
    if (busy) told.current?.focus();
  }, [busy]);
  const hasCodes = !busy && created.length > 0;
  const [first] = created;
  if (first && only && !busy && before.current !== undefined) {
    const { appId, enrollCode: code, enrollCodeExpiresAt: expiresAt } = first;
    const issued = { appId, name: only.name, code, expiresAt, before: before.current };
    return <EnrollDaemon {...{ accountId, issued, enrollment, onClose: close }} />;
  }
  return (
    <Dialog
      title={hasCodes ? codes.issued(created.length) : codes.title(able.length)}
      onClose={close}
      wide={hasCodes}
      stays={busy || (created.length > 0 && rest > 0)}
      shownOnce={shownOnce}
    >
      {!isBegun && (
        <>
          <p>{codes.says}</p>
          {managed > 0 && <p>{codes.managed(managed)}</p>}
          {revoked > 0 && <p>{codes.revoked(revoked)}</p>}
        </>
      )}
      {busy && (
        <div ref={told} role="status" tabIndex={-1}>
          {progress && <Through {...progress} />}
        </div>
      )}
      {!busy && failures.length > 0 && (
        <Failures says={rest > 0 ? codes.rest(failures.length) : codes.refused(failures.length)} failures={failures} />
      )}
      {hasCodes && <CreatedCodes created={created} enrollment={enrollment} />}
      <div class="actions">
        {busy && <Button onClick={stop}>{common.stop}</Button>}
        {!busy && !isBegun && (
          <Button data-safest onClick={close}>
            {common.cancel}
          </Button>
        )}
        {!busy && isBegun && rest > 0 && <Button onClick={issue}>{common.retry}</Button>}
        {isBegun ? (
          <Button kind="primary" disabled={busy} onClick={() => shownOnce.leave(close)}>
            {created.length > 0 ? dialog.kept : common.close}
          </Button>
        ) : (
          <Button kind="primary" disabled={able.length === 0} onClick={issue}>
            {texts.issueCodes}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
