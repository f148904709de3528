import { useRef, useState } from 'preact/hooks';
import { ApiError, newIdempotencyKey } from '../../api/client.ts';
import { account, type IssuedCode, type PanelAppDetail } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import type { PageProps } from '../../shell/page-props.ts';
import { pathOfAccount, pathOfAudit } from '../../shell/router.ts';
import { useMay } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { app as texts, apps } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Card, Facts, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Problem, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Words } from '../../ui/words.tsx';
import { Timeline } from '../audit/timeline.tsx';
import { EnrollDaemon } from './add-daemon.tsx';
import { AppStatus } from './app-columns.tsx';
import { useEnrollment } from './enrollment-lines.tsx';
import { typedName } from './typed-name.ts';
import { shownName } from '../../../src/text/shown-name.ts';

/** One app with all that is known of it, and what the user may do. */
export function AppPage({ accountId, appId }: PageProps) {
  const detail = useResource(`app ${appId}`, (signal) => account(accountId).app(appId, { signal }), {
    of: accountId,
    topics: ['apps', 'seen', 'config', 'reviews'],
  });
  const name = detail.data?.name ?? '';
  const isGone = detail.error instanceof ApiError && detail.error.status === 404;
  if (isGone) return <Gone accountId={accountId} appId={appId} />;
  return (
    <Page
      title={shownName(name, appId)}
      lead={<Link to={pathOfAccount(accountId, 'apps')}>{texts.back}</Link>}
      actions={detail.data ? <Actions accountId={accountId} app={detail.data} onChanged={detail.reload} /> : undefined}
    >
      <Shown of={detail}>
        {(app) => (
          <>
            <Shared at={app.sharedAt} />
            <div class="grid two">
              <Card>
                <AppFacts accountId={accountId} app={app} />
              </Card>
              <Card title={texts.codes}>
                <Codes codes={app.codes} />
              </Card>
            </div>
            <Card title={texts.timeline}>
              <Timeline
                key={`${app.statusAt} ${app.enrolledAt} ${app.sharedAt} ${app.codes.map(({ issuedAt }) => issuedAt).join()}`}
                empty={texts.noTimeline}
                beside={app.acknowledged && { at: app.acknowledged.at, says: <Reported of={app.acknowledged} /> }}
                read={(before, signal) =>
                  account(accountId).audit({ appId, limit: 20, ...(before !== undefined && { before }) }, { signal })
                }
              />
            </Card>
          </>
        )}
      </Shown>
    </Page>
  );
}

/** Entries of the audit lead here, too, after the app was deleted. */
const Gone = ({ accountId, appId }: PageProps) => (
  <Page title={texts.goneTitle} lead={<Link to={pathOfAccount(accountId, 'apps')}>{texts.back}</Link>}>
    <Empty title={texts.gone}>
      <p>
        <code>{appId}</code>
      </p>
      <Link to={pathOfAudit(accountId, { target: `app:${appId}` })}>{texts.goneAudit}</Link>
    </Empty>
  </Page>
);

/** Several machines use the credential, as far as the service has found. */
function Shared({ at }: { at: PanelAppDetail['sharedAt'] }) {
  if (at === null) return null;
  return (
    <div class="note warn" role="status">
      <Icon name="warn" />
      <p>
        {texts.shared} <Time at={at} />. {texts.sharedSays}
      </p>
    </div>
  );
}

function AppFacts({ accountId, app }: { accountId: string; app: PanelAppDetail }) {
  const { facts } = texts;
  return (
    <Facts
      facts={[
        [facts.id, <code key="id">{app.appId}</code>],
        [facts.status, <AppStatus key="status" status={app.status} />],
        [facts.since, <Time key="since" at={app.statusAt} />],
        [facts.lastSeen, <Time key="seen" at={app.lastSeenAt} />],
        [facts.platform, <Name key="platform">{app.platform}</Name>],
        [facts.version, <Name key="version">{app.agentVersion}</Name>],
        [facts.connection, app.enrolledAt === null ? undefined : facts[app.connection]],
        [facts.configuration, <Acknowledged key="acknowledged" of={app.acknowledged} />],
        [
          facts.reviews,
          <Link key="reviews" to={pathOfAccount(accountId, 'reviews')}>
            {texts.reviewsOf(app.reviews.entries, app.reviews.dropped)}
          </Link>,
        ],
        [facts.created, <Time key="created" at={app.createdAt} />],
        [facts.enrolled, <Time key="enrolled" at={app.enrolledAt} />],
        [facts.managedBy, app.managedBy],
      ]}
    />
  );
}

function Acknowledged({ of }: { of: PanelAppDetail['acknowledged'] }) {
  const { acknowledged } = texts;
  if (!of) return <span class="quiet">{acknowledged.nothing}</span>;
  const { status, revision, current, error, at } = of;
  return (
    <div class="stack tight">
      <span class="row">
        <Badge tone={status === 'applied' ? 'good' : 'bad'} icon={status === 'applied' ? 'check' : 'cross'}>
          {acknowledged[status]}
        </Badge>
        {acknowledged.revision(revision, current)} <Time at={at} />
      </span>
      {error !== undefined && <bdi class="mono">{error}</bdi>}
    </div>
  );
}

/** The last report of the daemon on a configuration: the audit has what people change, and not what daemons say. */
function Reported({ of: { status, revision, error } }: { of: NonNullable<PanelAppDetail['acknowledged']> }) {
  return (
    <>
      {texts.reported[status](revision)}
      {error !== undefined && (
        <div class="quiet small">
          <Words>{error}</Words>
        </div>
      )}
    </>
  );
}

function Codes({ codes }: { codes: PanelAppDetail['codes'] }) {
  if (codes.length === 0) return <p class="quiet">{texts.noCodes}</p>;
  return (
    <Table
      caption={texts.codes}
      rows={codes}
      idOf={({ issuedAt, expiresAt }) => `${issuedAt} ${expiresAt}`}
      columns={[
        { name: texts.issued, names: true, cell: ({ issuedAt }) => <Time at={issuedAt} /> },
        { name: texts.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
      ]}
    />
  );
}

function Actions({ accountId, app, onChanged }: { accountId: string; app: PanelAppDetail; onChanged: () => void }) {
  const { say, go } = useSession();
  const [asked, setAsked] = useState<'revoke' | 'delete' | 'code'>();
  const close = (): void => setAsked(undefined);
  const api = account(accountId);
  const may = useMay(accountId);
  const managed = app.managedBy !== undefined && <p>{texts.managed(app.managedBy)}</p>;
  return (
    <>
      {may('issueEnrollCode') && <Button onClick={() => setAsked('code')}>{texts.newCode}</Button>}
      {may('revokeApp') && app.status !== 'revoked' && (
        <Button kind="danger" onClick={() => setAsked('revoke')}>
          {apps.revoke}
        </Button>
      )}
      {may('deleteApp') && (
        <Button kind="danger" onClick={() => setAsked('delete')}>
          {apps.remove}
        </Button>
      )}
      {asked === 'code' && <NewCode accountId={accountId} app={app} onClose={close} onIssued={onChanged} />}
      {asked === 'revoke' && (
        <Confirm
          title={texts.revokeTitle}
          action={apps.revoke}
          work={async () => {
            await api.revokeApp(app.appId);
            say(texts.revoked);
            onChanged();
          }}
          onClose={close}
        >
          <p>{texts.revokeSays}</p>
          {managed}
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={texts.deleteTitle}
          action={apps.remove}
          typed={typedName(app.name, app.appId)}
          work={async () => {
            await api.deleteApp(app.appId);
            say(texts.deleted);
            go(pathOfAccount(accountId, 'apps'), { replace: true, isDone: true });
          }}
          onClose={close}
        >
          <p>{texts.deleteSays}</p>
          {managed}
        </Confirm>
      )}
    </>
  );
}

interface NewCodeProps {
  readonly accountId: string;
  readonly app: PanelAppDetail;
  readonly onClose: () => void;
  readonly onIssued: () => void;
}

function NewCode({ accountId, app: { appId, name, enrolledAt }, onClose, onIssued }: NewCodeProps) {
  const [code, setCode] = useState<IssuedCode>();
  const before = useRef(enrolledAt);
  const enrollment = useEnrollment(accountId);
  const key = useRef(newIdempotencyKey());
  const { busy, error, run } = useAction(async () => {
    before.current = enrolledAt;
    setCode(await account(accountId).issueCode(appId, key.current));
    onIssued();
  });
  if (code) {
    const issued = { appId, name, code: code.enrollCode, expiresAt: code.expiresAt, before: before.current };
    return <EnrollDaemon key="issued" isOnItsPage {...{ accountId, issued, enrollment, onClose }} />;
  }
  return (
    <Dialog title={texts.newCodeTitle} onClose={onClose} stays={busy}>
      <p>{texts.newCodeSays}</p>
      <Problem error={error} />
      <div class="actions">
        <Button data-safest disabled={busy} onClick={onClose}>
          {common.cancel}
        </Button>
        <Button kind="primary" busy={busy} onClick={run}>
          {texts.newCode}
        </Button>
      </div>
    </Dialog>
  );
}
