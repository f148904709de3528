import { useEffect, useState } from 'preact/hooks';
import { operator, type KeyStatus } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { formatCount } from '../../text/format.ts';
import { encryption as texts } from '../../text/operator.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card, Facts, Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Gauge } from './gauge.tsx';

const AGAIN_MS = 3000;

const underOlder = ({ sealedUnder, writing }: KeyStatus): number =>
  Object.entries(sealedUnder).reduce((sum, [key, count]) => (Number(key) < writing ? sum + count : sum), 0);

/** Whether a rotation has an end yet to come: it is over once the older lines of the key file may be removed. */
const isUnderWay = (status: KeyStatus): boolean =>
  underOlder(status) > 0 || status.known.some((key) => key < status.writing && !status.removable.includes(key));

const newestOf = ({ known, writing }: KeyStatus): number => Math.max(writing, ...known);

/** The key-encryption keys, and a rotation with its progress. */
export function EncryptionPage() {
  const { say } = useSession();
  const [isAsking, setAsking] = useState(false);
  const mayRotate = useIsOpen()('rotateKeys');
  const keys = useResource('encryption', (signal) => operator.keys({ signal }));
  const left = keys.data ? underOlder(keys.data) : 0;
  const underWay = keys.data !== undefined && isUnderWay(keys.data);
  useEffect(() => {
    if (!underWay) return undefined;
    const timer = setInterval(keys.reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [underWay, keys.reload]);
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={mayRotate ? <Button onClick={() => setAsking(true)}>{texts.rotate}</Button> : undefined}
    >
      <Shown of={keys}>
        {(status) => (
          <>
            <Sealed status={status} left={left} />
            <Card title={texts.replicas}>
              <Table
                caption={texts.replicasCaption}
                rows={status.replicas}
                idOf={({ replicaId }) => replicaId}
                orderIn="replicas"
                columns={[
                  {
                    name: texts.replicaColumns.id,
                    names: true,
                    by: ({ replicaId }) => replicaId,
                    cell: ({ replicaId }) => <code>{replicaId.slice(0, 12)}</code>,
                  },
                  {
                    name: texts.replicaColumns.keys,
                    by: ({ keyNumbers }) => Math.max(...keyNumbers),
                    cell: ({ keyNumbers }) => keyNumbers.join(', '),
                  },
                ]}
              />
            </Card>
          </>
        )}
      </Shown>
      {isAsking && mayRotate && (
        <Confirm
          title={texts.rotateTitle}
          action={texts.rotate}
          danger={false}
          work={async () => {
            const { writing, before } = await operator.rotateKeys();
            say(writing === before ? texts.unchanged(writing) : texts.rotated(writing));
            keys.reload();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{texts.rotateSays}</p>
          {keys.data && (
            <p>{newestOf(keys.data) > keys.data.writing ? texts.rotateTo(newestOf(keys.data)) : texts.noNewer}</p>
          )}
        </Confirm>
      )}
    </Page>
  );
}

/** How much is sealed under the active key by now. It is heard once it is done, and not with every number. */
function Progress({ status: { sealedUnder }, left }: { status: KeyStatus; left: number }) {
  const all = Object.values(sealedUnder).reduce((sum, count) => sum + count, 0);
  return (
    <>
      {left > 0 && (
        <div class="stack tight">
          <Gauge share={(all - left) / Math.max(all, 1)} isGood />
          <p>{texts.progress(formatCount(left))}</p>
        </div>
      )}
      <p role="status">{left === 0 ? texts.done : texts.underWay}</p>
    </>
  );
}

function Sealed({ status, left }: { status: KeyStatus; left: number }) {
  const { writing, known, sealedUnder, awaitingRetirement, countedAll } = status;
  const needed = [...Object.entries(sealedUnder), ...Object.entries(awaitingRetirement)]
    .filter(([, count]) => count > 0)
    .map(([key]) => Number(key));
  const numbers = [...new Set([...known, ...needed, writing])].sort((a, b) => a - b);
  const { sealedColumns: columns } = texts;
  return (
    <Card title={texts.sealed}>
      <div class="stack">
        <Facts
          facts={[
            [texts.active, writing],
            [texts.known, known.join(', ')],
          ]}
        />
        <Progress status={status} left={left} />
        {!countedAll && <p class="quiet">{texts.moreThanCounted}</p>}
        <Table
          caption={texts.sealedCaption}
          rows={numbers}
          idOf={String}
          orderIn="sort"
          columns={[
            { name: columns.key, names: true, by: (number) => number, cell: (number) => number },
            {
              name: columns.count,
              number: true,
              by: (number) => sealedUnder[number] ?? 0,
              cell: (number) => formatCount(sealedUnder[number] ?? 0),
            },
            {
              name: columns.waiting,
              number: true,
              by: (number) => awaitingRetirement[number] ?? 0,
              cell: (number) => formatCount(awaitingRetirement[number] ?? 0),
            },
            {
              name: columns.state,
              by: (number) => Number(known.includes(number)) + Number(number === writing),
              cell: (number) => <KeyState number={number} status={status} />,
            },
          ]}
        />
      </div>
    </Card>
  );
}

function KeyState({ number, status }: { number: number; status: KeyStatus }) {
  const { writing, known, removable } = status;
  if (!known.includes(number))
    return (
      <Badge tone="bad" icon="warn">
        {texts.missing}
      </Badge>
    );
  if (number === writing) return <Badge tone="good">{texts.writing}</Badge>;
  if (number > writing) return <Badge tone="warn">{texts.waitingToBeActive}</Badge>;
  return <Badge>{removable.includes(number) ? texts.removable : texts.inUse}</Badge>;
}
