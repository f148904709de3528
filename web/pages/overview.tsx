import { account, type AccountRate, type AuditPage, type Overview, type ReviewCounts } from '../api/panel.ts';
import { useResource } from '../hooks/use-resource.ts';
import { Link } from '../shell/link.tsx';
import type { PageProps } from '../shell/page-props.ts';
import { mayRead } from '../shell/rights.ts';
import { pathOfAccount, pathOfApps, pathOfAudit } from '../shell/router.ts';
import { useSession } from '../shell/session.tsx';
import { overview as texts } from '../text/overview.ts';
import { formatAmount, formatCount, formatMonth, formatPrice, formatShare } from '../text/format.ts';
import { Badge } from '../ui/controls.tsx';
import { Card, Figure, Name, Page, Shares, Time } from '../ui/page.tsx';
import { Loading, Shown } from '../ui/state.tsx';
import { Table } from '../ui/table.tsx';
import { Entry } from './audit/timeline.tsx';
import { RolloutBar } from './configuration/rollout.tsx';
import { FleetCard } from './overview/fleet.tsx';
import { ExpiringKeys } from './expiring-keys.tsx';
import { FirstSteps } from './overview/first-steps.tsx';
import { filtersFor, runsOf } from './overview/runs.ts';

const MIB = 1024 * 1024;

/** The account at a glance. Each card reads by itself: a failure of one hides no other. */
export function OverviewPage({ accountId }: PageProps) {
  const { me } = useSession();
  const overview = useResource(`overview ${accountId}`, (signal) => account(accountId).overview({ signal }), {
    of: accountId,
    topics: ['account', 'apps', 'keys', 'seen', 'usage'],
  });
  // Until it is known whether there are apps, nothing below may be seen: it would move.
  const isKnown = overview.data !== undefined || overview.error !== undefined;
  const isEmpty = overview.data?.apps.total === 0;
  return (
    <Page title={texts.title} lead={overview.data?.name ?? '\u00A0'}>
      <Shown of={overview} pending={<PendingFigures />}>
        {(data) => <Figures accountId={accountId} data={data} />}
      </Shown>
      {isKnown && !isEmpty && <FleetCard accountId={accountId} />}
      <div class={isKnown ? 'grid two steady' : 'grid two steady unknown'}>
        {!isEmpty && <RateCard accountId={accountId} />}
        {!isEmpty && (
          <Card
            title={texts.rollout}
            actions={<Link to={pathOfAccount(accountId, 'configuration')}>{texts.toConfiguration}</Link>}
          >
            <RolloutBar accountId={accountId} />
          </Card>
        )}
        {!isEmpty && mayRead(me, accountId, 'countReviews') && <ReviewsCard accountId={accountId} />}
        <EventsCard accountId={accountId} />
      </div>
    </Page>
  );
}

function Figures({ accountId, data }: { accountId: string; data: Overview }) {
  const { apps, month, disabled, managedBy, storage } = data;
  const to = (status: string): string => pathOfApps(accountId, { status });
  return (
    <>
      {disabled && <div class="note bad">{texts.disabled}</div>}
      {storage.near && storage.quotaBytes !== null && (
        <div class="note bad" role="status">
          {texts.nearQuota(
            formatShare(storage.storedBytes / storage.quotaBytes),
            formatCount(storage.quotaBytes / MIB),
          )}
        </div>
      )}
      <ExpiringKeys accountId={accountId} keys={data.expiringKeys} />
      {managedBy !== undefined && <div class="note">{texts.managed(managedBy)}</div>}
      <FirstSteps accountId={accountId} apps={apps} />
      <div class="grid figures" hidden={apps.total === 0}>
        <Card title={texts.apps} actions={<Link to={pathOfAccount(accountId, 'apps')}>{texts.appsAll}</Link>}>
          <div class="stack">
            <Figure label={texts.appsOf(apps.total, apps.most)} value={formatCount(apps.total)} />
            <Shares
              label={texts.apps}
              parts={[
                { name: texts.statuses.active, value: apps.active, tone: 'good', to: to('active') },
                { name: texts.statuses.pending, value: apps.pending, tone: 'warn', to: to('pending') },
                { name: texts.statuses.revoked, value: apps.revoked, tone: 'bad', to: to('revoked') },
              ]}
            />
            {apps.silent > 0 && (
              <Link to={pathOfApps(accountId, { status: 'active', silent: 'hour', sort: 'last-contact' })}>
                <Badge tone="warn" icon="clock">
                  {texts.silent(apps.silent)}
                </Badge>
              </Link>
            )}
          </div>
        </Card>
        <Card title={texts.tonight}>
          <Figure label={texts.tonightNote} value={formatCount(apps.active)} />
        </Card>
        <Card title={texts.month} actions={month && <span class="quiet">{formatMonth(month.month)}</span>}>
          {month ? <Month month={month} /> : <p class="quiet">{texts.noMonth}</p>}
        </Card>
      </div>
    </>
  );
}

/** The cards of the figures before they are known, as high as with them: nothing below may move. */
const PendingFigures = () => (
  <div class="grid figures">
    {[texts.apps, texts.tonight, texts.month].map((title) => (
      <Card key={title} title={title}>
        <Loading lines={2} />
      </Card>
    ))}
  </div>
);

function Month({ month }: { month: NonNullable<Overview['month']> }) {
  const { amountMinor, currency, pricePerDaemonMonth, nights, daemonNights, complete } = month;
  return (
    <div class="stack tight">
      <Figure
        label={texts.nights(nights, daemonNights)}
        value={formatAmount(amountMinor, currency)}
        note={pricePerDaemonMonth === null ? texts.prices : texts.price(formatPrice(pricePerDaemonMonth, currency))}
      />
      {!complete && <Badge tone="warn">{texts.incomplete}</Badge>}
    </div>
  );
}

function RateCard({ accountId }: { accountId: string }) {
  const rate = useResource(`rate ${accountId}`, (signal) => account(accountId).rate({ signal }), {
    of: accountId,
    topics: ['limits'],
  });
  return (
    <Card title={texts.rate}>
      <Shown of={rate} lines={2}>
        {(data) => <Rate rate={data} />}
      </Shown>
    </Card>
  );
}

function Rate({ rate }: { rate: AccountRate }) {
  const used = Math.round(rate.fill * rate.most);
  const tone = rate.fill >= 1 ? 'bad' : rate.fill >= 0.75 ? 'warn' : 'accent';
  return (
    <div class="stack">
      <Figure label={texts.rateOf(used, rate.most)} value={formatCount(used)} />
      <div
        class="meter"
        role="meter"
        aria-label={texts.rate}
        aria-valuemin={0}
        aria-valuemax={rate.most}
        aria-valuenow={used}
      >
        <span class={tone} style={{ width: `${Math.min(100, rate.fill * 100)}%` }} />
      </div>
      {rate.limitedSince !== null && (
        <p role="status">
          {texts.limited} {texts.limitedSince} <Time at={rate.limitedSince} />.{' '}
          {rate.liftsAt !== null && (
            <>
              {texts.lifts} <Time at={rate.liftsAt} />.
            </>
          )}
        </p>
      )}
      {rate.refusedBy.length > 0 && (
        <Table
          caption={`${texts.refusedBy}: ${texts.refused(rate.refused)}`}
          rows={rate.refusedBy}
          idOf={({ keyId, operation }) => `${keyId} ${operation}`}
          columns={[
            {
              name: texts.refusedColumns.key,
              names: true,
              cell: ({ keyId, keyName = '' }) => <Name otherwise={keyId}>{keyName}</Name>,
            },
            { name: texts.refusedColumns.operation, cell: ({ operation }) => <code>{operation}</code> },
            { name: texts.refusedColumns.refused, number: true, cell: ({ refused }) => formatCount(refused) },
          ]}
        />
      )}
    </div>
  );
}

const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

function ReviewsCard({ accountId }: { accountId: string }) {
  const counts = useResource(`counts ${accountId}`, (signal) => account(accountId).reviewCounts({ signal }), {
    of: accountId,
    topics: ['reviews'],
  });
  const isEmpty = ({ open }: ReviewCounts): boolean => SEVERITIES.every((severity) => open[severity] === 0);
  return (
    <Card title={texts.reviews} actions={<Link to={pathOfAccount(accountId, 'reviews')}>{texts.toReviews}</Link>}>
      <Shown of={counts} lines={3}>
        {(data) =>
          isEmpty(data) ? (
            <p class="quiet">{texts.noReviews}</p>
          ) : (
            <Shares
              label={texts.reviews}
              parts={SEVERITIES.map((severity) => ({
                name: texts.severities[severity],
                value: data.open[severity],
                tone: severity,
                to: `${pathOfAccount(accountId, 'reviews')}?severity=${severity}`,
              }))}
            />
          )
        }
      </Shown>
    </Card>
  );
}

/** So many entries are read, and gathered into the lines that are shown. */
const EVENTS = { limit: 40 };
const EVENT_LINES = 8;

function EventsCard({ accountId }: { accountId: string }) {
  const events = useResource(`events ${accountId}`, (signal) => account(accountId).audit(EVENTS, { signal }), {
    of: accountId,
    topics: ['apps', 'config', 'keys', 'members', 'account', 'reviews'],
  });
  return (
    <Card title={texts.events} actions={<Link to={pathOfAccount(accountId, 'audit')}>{texts.toAudit}</Link>}>
      <Shown of={events} lines={5}>
        {(page) => <Events accountId={accountId} page={page} />}
      </Shown>
    </Card>
  );
}

function Events({ accountId, page: { entries, next } }: { accountId: string; page: AuditPage }) {
  if (entries.length === 0) return <p class="quiet">{texts.noEvents}</p>;
  const runs = runsOf(entries);
  return (
    <ol class="timeline">
      {runs.slice(0, EVENT_LINES).map((run, index) => (
        <Entry key={`${run.newest.at} ${index}`} entry={run.newest} accountId={accountId}>
          {run.more > 0 && (
            <Link to={pathOfAudit(accountId, filtersFor(run))}>
              {texts.moreEvents(run.more, index === runs.length - 1 && next !== undefined)}
            </Link>
          )}
        </Entry>
      ))}
    </ol>
  );
}
