import { useMemo } from 'preact/hooks';
import { oneOf, useQuery } from '../../address/use-query.ts';
import { account, type Usage } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { formatAmount, formatCount, formatMonth, formatPrice } from '../../text/format.ts';
import { usage as texts } from '../../text/usage.ts';
import { BarChart } from '../../ui/bar-chart.tsx';
import { Badge, Select } from '../../ui/controls.tsx';
import { Card, Figure, Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';

const MONTHS_SHOWN = 24;

/** This month and those before, as `2026-01`, in UTC. */
function monthsUntil(now: Date): readonly [string, ...string[]] {
  const monthOf = (back: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7);
  return [monthOf(0), ...Array.from({ length: MONTHS_SHOWN - 1 }, (_, back) => monthOf(back + 1))];
}

/** The nights of a month, and what they come to. */
export function UsagePage({ accountId }: PageProps) {
  const months = useMemo(() => monthsUntil(new Date()), []);
  const fields = useMemo(() => ({ month: oneOf(...months) }), [months]);
  const {
    state: { month },
    change,
  } = useQuery(fields);
  const usage = useResource(`usage ${accountId} ${month}`, (signal) => account(accountId).usage(month, { signal }), {
    of: accountId,
    topics: ['usage'],
  });
  const address = (format: 'csv' | 'events'): string => account(accountId).usageAddress(month, format);
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={
        <>
          <Select
            label={texts.month}
            value={month}
            options={months.map((one) => [one, formatMonth(one)] as const)}
            onValue={(chosen) => change({ month: chosen })}
          />
          <a class="button" href={address('csv')} download={`usage-${month}.csv`}>
            {texts.csv}
          </a>
          <a class="button" href={address('events')} download={`usage-${month}.json`}>
            {texts.events}
          </a>
        </>
      }
    >
      <Shown of={usage}>{(data) => <Month usage={data} />}</Shown>
    </Page>
  );
}

function Month({ usage }: { usage: Usage }) {
  const [own] = usage.accounts;
  const nights = own?.nights ?? [];
  const names = useMemo(() => nights.map(({ day }) => String(Number(day.slice(8)))), [nights]);
  const late = nights.filter((night) => night.late).length;
  const values = useMemo(() => nights.map(({ activeDaemons }) => activeDaemons), [nights]);
  const { currency, pricePerDaemonMonth, complete, final } = usage;
  return (
    <>
      <div class="grid">
        <Card>
          <Figure
            label={texts.amount}
            value={formatAmount(own?.amountMinor ?? 0, currency)}
            note={final ? texts.whole : complete ? texts.soFar : <Badge tone="warn">{texts.missing}</Badge>}
          />
        </Card>
        <Card>
          <Figure label={texts.daemonNights} value={formatCount(own?.daemonNights ?? 0)} />
        </Card>
        <Card>
          <Figure
            label={texts.price}
            value={pricePerDaemonMonth === null ? texts.prices : formatPrice(pricePerDaemonMonth, currency)}
          />
        </Card>
      </div>
      <Card title={texts.nights}>
        {nights.length === 0 ? (
          <p class="quiet">{texts.empty}</p>
        ) : (
          <div class="stack">
            <BarChart label={texts.chart(formatMonth(usage.month))} names={names} values={values} />
            {late > 0 && (
              <div>
                <Badge tone="warn" icon="clock">
                  {texts.lateNights(late)}
                </Badge>
              </div>
            )}
            <details>
              <summary>{texts.table}</summary>
              <Table
                caption={texts.nights}
                rows={nights}
                idOf={({ day }) => day}
                orderIn="sort"
                columns={[
                  { name: texts.columns.day, names: true, by: ({ day }) => day, cell: ({ day }) => day },
                  {
                    name: texts.columns.daemons,
                    number: true,
                    by: ({ activeDaemons }) => activeDaemons,
                    cell: ({ activeDaemons }) => formatCount(activeDaemons),
                  },
                  {
                    name: texts.columns.late,
                    by: ({ late }) => Number(late),
                    cell: ({ late }) => (late ? <Badge tone="warn">{texts.late}</Badge> : texts.onTime),
                  },
                ]}
              />
            </details>
          </div>
        )}
      </Card>
    </>
  );
}
