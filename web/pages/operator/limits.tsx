import { useEffect } from 'preact/hooks';
import { operator } from '../../api/panel.ts';
import { useNow } from '../../hooks/use-now.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfAccount } from '../../shell/router.ts';
import { formatCount, formatInstant } from '../../text/format.ts';
import { limits as texts } from '../../text/operator.ts';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Gauge } from './gauge.tsx';
import { shownName } from '../../../src/text/shown-name.ts';

const AGAIN_MS = 5000;

/** Which accounts are limited now; it reads again every few seconds. */
export function LimitsPage() {
  const limits = useResource('limits', (signal) => operator.limits({ signal }));
  useEffect(() => {
    const timer = setInterval(limits.reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [limits.reload]);
  const { columns } = texts;
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Shown of={limits}>
        {({ accounts, limited }) => (
          <Card flush>
            <p class="heard" role="status">
              {texts.limited(limited)}
            </p>
            {accounts.length === 0 ? (
              <Empty title={texts.none}>
                <p class="quiet">{texts.noneSays}</p>
              </Empty>
            ) : (
              <Table
                caption={texts.caption}
                rows={accounts}
                idOf={({ accountId }) => accountId}
                orderIn="sort"
                keptAs="limits"
                columns={[
                  {
                    name: columns.account,
                    names: true,
                    by: ({ accountId, name = '' }) => shownName(name, accountId).toLowerCase(),
                    cell: ({ accountId, name = '' }) => (
                      <Link to={pathOfAccount(accountId)}>
                        <Name otherwise={accountId}>{name}</Name>
                      </Link>
                    ),
                  },
                  {
                    name: columns.fill,
                    by: ({ fill }) => fill,
                    cell: ({ fill }) => <Gauge share={fill} />,
                  },
                  {
                    name: columns.refused,
                    number: true,
                    by: ({ refused }) => refused,
                    cell: ({ refused }) => formatCount(refused),
                  },
                  {
                    name: columns.by,
                    by: ({ refusedBy: [first] }) => first?.keyName ?? first?.keyId ?? null,
                    cell: ({ refusedBy }) =>
                      refusedBy.map(({ keyId, keyName = '', operation, refused }) => (
                        <div key={`${keyId} ${operation}`}>
                          <Name otherwise={keyId}>{keyName}</Name> <code>{operation}</code> {formatCount(refused)}
                        </div>
                      )),
                  },
                  {
                    name: columns.since,
                    by: ({ limitedSince }) => limitedSince,
                    cell: ({ limitedSince }) => (limitedSince === null ? '—' : <Time at={limitedSince} />),
                  },
                  { name: columns.lifts, by: ({ liftsAt }) => liftsAt, cell: ({ liftsAt }) => <Lifts at={liftsAt} /> },
                ]}
              />
            )}
          </Card>
        )}
      </Shown>
    </Page>
  );
}

/** When the next request is free, in seconds: an age would say no more than that it is now. */
function Lifts({ at }: { at: string | null }) {
  const now = useNow(1000);
  if (at === null) return '—';
  const seconds = Math.max(0, Math.ceil((Date.parse(at) - now) / 1000));
  return (
    <time dateTime={at} title={formatInstant(at)}>
      {texts.inSeconds(seconds)}
    </time>
  );
}
