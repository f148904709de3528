import { me as api } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { formatCount } from '../../text/format.ts';
import { me as texts } from '../../text/me.ts';
import { Card, Time } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';

/** Who tried to sign in as the user, and failed. */
export function RefusedSignInsCard() {
  const refused = useResource('failed sign-ins', (signal) => api.refusedSignIns({ signal }));
  const { refusedColumns: columns } = texts;
  return (
    <Card title={texts.refused}>
      <div class="stack">
        <p class="quiet">{texts.refusedLead}</p>
        <Shown of={refused} lines={2}>
          {({ refused: list }) =>
            list.length === 0 ? (
              <p>{texts.noneRefused}</p>
            ) : (
              <Table
                caption={texts.refusedCaption}
                rows={list}
                idOf={({ at }) => at}
                orderIn="refused"
                columns={[
                  { name: columns.at, names: true, by: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
                  {
                    name: columns.count,
                    number: true,
                    by: ({ count }) => count,
                    cell: ({ count }) => formatCount(count),
                  },
                  {
                    name: columns.ways,
                    cell: ({ ways }) => ways.map((way) => texts.methodNames[way] ?? way).join(', '),
                  },
                  { name: columns.clients, cell: ({ clients }) => <code>{clients.join(', ')}</code> },
                ]}
              />
            )
          }
        </Shown>
      </div>
    </Card>
  );
}
