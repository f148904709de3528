import { useState } from 'preact/hooks';
import type { Me } from '../../api/panel.ts';
import { useSession } from '../../shell/session.tsx';
import { additions as texts } from '../../text/additions.ts';
import { Button } from '../../ui/controls.tsx';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';

type Addition = Me['additions'][number];

/** The latest addition that the user has put away in this browser. */
const SEEN = 'muster-additions-seen';

const AdditionLine = ({ kind, name, at, client }: Addition) => (
  <>
    {texts.kinds[kind]} <Name>{name}</Name>, <Time at={at} />, {texts.from} {client}
  </>
);

/** What was added to the user's ways in since they last signed in from this browser, until they put it away. */
export function AdditionsBanner() {
  const { me } = useSession();
  const [seen, setSeen] = useState(() => localStorage.getItem(SEEN) ?? '');
  const since = [me.session.previousAt ?? '', seen].sort().at(-1) ?? '';
  const fresh = me.additions.filter(({ at }) => at > since);
  const latest = fresh.at(-1)?.at;
  if (latest === undefined) return null;
  const putAway = (): void => {
    localStorage.setItem(SEEN, latest);
    setSeen(latest);
  };
  return (
    <div class="banner" role="status">
      <p>{texts.banner}</p>
      <ul>
        {fresh.map((one) => (
          <li key={`${one.at} ${one.kind}`}>
            <AdditionLine {...one} />
          </li>
        ))}
      </ul>
      <p>
        {texts.notYou} <a href="/me">{texts.look}</a>
      </p>
      <Button small onClick={putAway}>
        {texts.mine}
      </Button>
    </div>
  );
}

/** The same for as long as it is kept. */
export function AdditionsCard() {
  const { me } = useSession();
  const { columns } = texts;
  if (me.additions.length === 0) return null;
  return (
    <Card title={texts.title}>
      <Table
        caption={texts.caption}
        rows={me.additions.toReversed()}
        idOf={({ at, kind }) => `${at} ${kind}`}
        columns={[
          {
            name: columns.what,
            names: true,
            cell: ({ kind, name }) => (
              <>
                {texts.kinds[kind]} <Name>{name}</Name>
              </>
            ),
          },
          { name: columns.when, cell: ({ at }) => <Time at={at} /> },
          { name: columns.from, cell: ({ client }) => client },
        ]}
      />
    </Card>
  );
}
