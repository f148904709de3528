import { operator } from '../../api/panel.ts';
import { useEffect } from 'preact/hooks';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfAccount } from '../../shell/router.ts';
import { formatCount, formatShare } from '../../text/format.ts';
import { limits as texts } from '../../text/operator.ts';
import { Badge } from '../../ui/controls.tsx';
import { Card, Page, Time } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';

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
        {({ accounts }) => (
          <Card flush>
            {accounts.length === 0 ? (
              <Empty title={texts.none} />
            ) : (
              <Table
                caption={texts.caption}
                rows={accounts}
                idOf={({ accountId }) => accountId}
                columns={[
                  {
                    name: columns.account,
                    names: true,
                    cell: ({ accountId }) => (
                      <Link to={pathOfAccount(accountId)} class="mono">
                        {accountId}
                      </Link>
                    ),
                  },
                  {
                    name: columns.fill,
                    by: ({ fill }) => fill,
                    cell: ({ fill }) => (
                      <Badge tone={fill >= 1 ? 'bad' : fill >= 0.75 ? 'warn' : 'calm'}>{formatShare(fill)}</Badge>
                    ),
                  },
                  {
                    name: columns.refused,
                    number: true,
                    by: ({ refused }) => refused,
                    cell: ({ refused }) => formatCount(refused),
                  },
                  {
                    name: columns.by,
                    cell: ({ refusedBy }) =>
                      refusedBy.map(({ keyId, operation, refused }) => (
                        <div key={`${keyId} ${operation}`}>
                          <code>{keyId}</code> <code>{operation}</code> {formatCount(refused)}
                        </div>
                      )),
                  },
                  {
                    name: columns.since,
                    cell: ({ limitedSince }) => (limitedSince === null ? '—' : <Time at={limitedSince} />),
                  },
                  { name: columns.lifts, cell: ({ liftsAt }) => (liftsAt === null ? '—' : <Time at={liftsAt} />) },
                ]}
              />
            )}
          </Card>
        )}
      </Shown>
    </Page>
  );
}
