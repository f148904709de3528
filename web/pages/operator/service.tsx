import { useEffect } from 'preact/hooks';
import { me, operator, type ServiceState } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { formatCount, formatMonth } from '../../text/format.ts';
import { service as texts } from '../../text/operator.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Card, Facts, Page, Time } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Gauge } from './gauge.tsx';

const AGAIN_MS = 10_000;

/** The state of the service; it reads again every few seconds. */
export function ServicePage() {
  const state = useResource('service', (signal) => operator.service({ signal }));
  useEffect(() => {
    const timer = setInterval(state.reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [state.reload]);
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Shown of={state}>
        {(data) => (
          <div class="grid two">
            <Replicas state={data} />
            <StoreCard state={data} />
            <Nights state={data} />
            <Purges state={data} />
            <Backup state={data} />
          </div>
        )}
      </Shown>
    </Page>
  );
}

function Replicas({ state }: { state: ServiceState }) {
  const { replicaColumns: columns } = texts;
  return (
    <Card title={texts.replicas}>
      <Table
        caption={texts.replicasCaption}
        rows={state.replicas}
        idOf={({ replicaId }) => replicaId}
        orderIn="replicas"
        columns={[
          {
            name: columns.id,
            names: true,
            by: ({ replicaId }) => replicaId,
            cell: ({ replicaId, self }) => (
              <span class="row">
                <code>{replicaId.slice(0, 12)}</code> {self && <Badge>{texts.self}</Badge>}
              </span>
            ),
          },
          { name: columns.version, by: ({ version }) => version, cell: ({ version }) => version },
          {
            name: columns.role,
            by: ({ leader }) => (leader ? 0 : 1),
            cell: ({ leader }) => (
              <Badge tone={leader ? 'good' : 'calm'}>{leader ? texts.leader : texts.follower}</Badge>
            ),
          },
          { name: columns.started, by: ({ startedAt }) => startedAt, cell: ({ startedAt }) => <Time at={startedAt} /> },
          {
            name: columns.clock,
            by: ({ clockSkewMs }) => (clockSkewMs === null ? null : Math.abs(clockSkewMs)),
            cell: ({ clockSkewMs }) => <Clock skewMs={clockSkewMs} />,
          },
        ]}
      />
    </Card>
  );
}

/** From there on the clock of a machine is worth a look: times in the audit and of the nights come from it. */
const SKEW_MS_MAX = 5000;

function Clock({ skewMs }: { skewMs: number | null }) {
  if (skewMs === null) return <span class="quiet">{texts.unknown}</span>;
  if (Math.abs(skewMs) < SKEW_MS_MAX) return <span class="number">{texts.skew(skewMs)}</span>;
  return (
    <Badge tone="warn" icon="warn">
      {texts.off(texts.skew(skewMs))}
    </Badge>
  );
}

function StoreCard({ state }: { state: ServiceState }) {
  const { facts } = texts;
  return (
    <Card title={texts.store}>
      <Facts
        facts={[
          [facts.version, state.version],
          [facts.kind, state.store],
          [facts.fullness, state.fullness === null ? texts.unknown : <Gauge key="full" share={state.fullness} />],
          [facts.accounts, formatCount(state.accounts)],
          [facts.apps, formatCount(state.apps)],
          [facts.users, formatCount(state.users)],
          [facts.leaderSince, state.leaderSince === null ? texts.unknown : <Time key="since" at={state.leaderSince} />],
        ]}
      />
    </Card>
  );
}

function Nights({ state: { nights } }: { state: ServiceState }) {
  const { nightColumns: columns } = texts;
  const { meteredThrough, due } = nights;
  const isBehind = meteredThrough !== null && meteredThrough < due;
  return (
    <Card title={texts.nights}>
      <div class="stack">
        {meteredThrough === null ? (
          <Badge>{texts.neverMetered}</Badge>
        ) : (
          <Badge tone={isBehind ? 'warn' : 'good'} icon={isBehind ? 'warn' : 'check'}>
            {isBehind ? texts.behind : texts.upToDate}
          </Badge>
        )}
        <Facts
          facts={[
            [texts.metered, meteredThrough ?? '—'],
            [texts.due, due],
          ]}
        />
        {nights.days.length === 0 ? (
          <p class="quiet">{texts.noNights(formatMonth(nights.month))}</p>
        ) : (
          <Table
            caption={texts.nightsOf(formatMonth(nights.month))}
            rows={nights.days.toReversed()}
            idOf={({ day }) => day}
            orderIn="nights"
            columns={[
              { name: columns.day, names: true, by: ({ day }) => day, cell: ({ day }) => day },
              {
                name: columns.daemons,
                number: true,
                by: ({ activeDaemons }) => activeDaemons,
                cell: ({ activeDaemons }) => formatCount(activeDaemons),
              },
              {
                name: columns.late,
                by: ({ late }) => Number(late),
                cell: ({ late }) => (late ? <Badge tone="warn">{texts.late}</Badge> : texts.onTime),
              },
            ]}
          />
        )}
      </div>
    </Card>
  );
}

function Purges({ state: { purges } }: { state: ServiceState }) {
  return (
    <Card title={texts.purges}>
      <div class="stack">
        {purges.waiting === 0 ? (
          <p>{texts.noPurges}</p>
        ) : (
          <p>
            {texts.waiting(purges.waiting)}. {texts.oldest} <Time at={purges.oldestAt} />.
          </p>
        )}
        <p class="quiet">{texts.purgesSay}</p>
      </div>
    </Card>
  );
}

function Backup({ state: { lastBackupAt } }: { state: ServiceState }) {
  const mayRead = useIsOpen()('readBackup');
  // The browser downloads it by itself, and could not ask for the proof that it needs.
  const { busy, error, run } = useAction(async () => {
    await me.proof();
    location.assign(operator.backupAddress);
  });
  return (
    <Card title={texts.backup}>
      <div class="stack">
        <p>
          {lastBackupAt === null ? (
            texts.noBackup
          ) : (
            <>
              {texts.lastBackup} <Time at={lastBackupAt} />.
            </>
          )}
        </p>
        {mayRead && (
          <>
            <div class="note warn">
              <Icon name="warn" />
              <p>{texts.backupSays}</p>
            </div>
            <div>
              <Button icon="download" busy={busy} onClick={run}>
                {texts.download}
              </Button>
            </div>
            <Problem error={error} />
          </>
        )}
      </div>
    </Card>
  );
}
