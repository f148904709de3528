import { useState } from 'preact/hooks';
import type { Me } from '../../api/panel.ts';
import { useSession } from '../../shell/session.tsx';
import { additions as texts } from '../../text/additions.ts';
import { Button } from '../../ui/controls.tsx';
import { browserKeeps, valueOf } from '../../ui/kept.ts';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';

type Addition = Me['additions'][number];

/**
 * The additions that the user has put away, in this browser alone: a person who has a copy of the session, or signs in
 * elsewhere, hides nothing here. Each addition is put away by all that is shown of it, and not by its time, since one
 * of another replica's clock may be older.
 */
const placeOf = ({ userId }: Pick<Me, 'userId'>): string => `muster-additions-put-away-${userId}`;

const keyOf = ({ kind, at, name, client }: Addition): string => JSON.stringify([kind, at, name, client]);

function putAway(me: Me): ReadonlySet<string> {
  const keys = valueOf(browserKeeps.read(placeOf(me)));
  return new Set(Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : []);
}

const AdditionLine = ({ kind, name, at, client, count }: Addition & { count: number }) => (
  <>
    {texts.kinds[kind]} <Name>{name}</Name>, {count > 1 && texts.times(count)} <Time at={at} />, {texts.from} {client}
  </>
);

interface Alike {
  readonly newest: Addition;
  readonly count: number;
}

/** Additions that differ by their time alone, as one; the oldest first. */
function alike(additions: readonly Addition[]): readonly Alike[] {
  const found = new Map<string, Alike>();
  for (const newest of additions) {
    const key = keyOf({ ...newest, at: '' });
    const count = (found.get(key)?.count ?? 0) + 1;
    found.delete(key);
    found.set(key, { newest, count });
  }
  return [...found.values()];
}

/** What was added to the user's ways in, until they put it away. */
export function AdditionsBanner() {
  const { me } = useSession();
  const [away, setAway] = useState(() => putAway(me));
  const shown = me.additions.filter((one) => !away.has(keyOf(one)));
  if (shown.length === 0) return null;
  const putAllAway = (): void => {
    const keys = me.additions.map(keyOf);
    browserKeeps.write(placeOf(me), JSON.stringify(keys));
    setAway(new Set(keys));
  };
  return (
    <div class="banner" role="status">
      <p>{texts.banner}</p>
      <ul>
        {alike(shown).map(({ newest, count }) => (
          <li key={keyOf(newest)}>
            <AdditionLine {...newest} count={count} />
          </li>
        ))}
      </ul>
      <p>
        {texts.notYou} <a href="/me">{texts.look}</a>
      </p>
      <Button small onClick={putAllAway}>
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
        idOf={keyOf}
        orderIn="additions"
        columns={[
          {
            name: columns.what,
            names: true,
            by: ({ kind, name }) => `${texts.kinds[kind]} ${name}`,
            cell: ({ kind, name }) => (
              <>
                {texts.kinds[kind]} <Name>{name}</Name>
              </>
            ),
          },
          { name: columns.when, by: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
          { name: columns.from, by: ({ client }) => client, cell: ({ client }) => client },
        ]}
      />
    </Card>
  );
}
