import { Link } from '../shell/link.tsx';
import { pathOfAccount, pathOfApp, pathOfOperator } from '../shell/router.ts';
import { useSession } from '../shell/session.tsx';
import { audit } from '../text/audit.ts';
import { Copied } from './copied.tsx';
import { Name } from './page.tsx';
import { isBlank } from '../../src/text/shown-name.ts';

/*
 * Persons, keys, apps and others, as the audit names them: `user:ID`, `user:ID:TOKEN`, `key:ID`, `app:ID`,
 * `operator:NAME`.
 */

const KINDS: Readonly<Record<string, string>> = audit.actors;

interface NamedProps {
  /** The kind and the id. */
  readonly of: string;
  /** The name that it had, or has; undefined where there is none. */
  readonly name?: string | undefined;
  /** The account whose pages have it; undefined for those of the service. */
  readonly accountId?: string | undefined;
  /** The words before say what it is. */
  readonly isSaid?: boolean;
}

/** Where one of a kind is shown; undefined where no page has it. */
function placeOf(kind: string, id: string, accountId: string | undefined): string | undefined {
  if (accountId === undefined) return kind === 'user' ? `${pathOfOperator('users')}?user=${id}` : undefined;
  if (kind === 'app' || kind === 'device') return pathOfApp(accountId, id);
  if (kind === 'key') return pathOfAccount(accountId, 'keys');
  return kind === 'user' ? pathOfAccount(accountId, 'members') : undefined;
}

/** Somebody or something by name, with the way there and the id to copy; without a name the id stands there once. */
export function Named({ of, name, accountId, isSaid = false }: NamedProps) {
  const { me } = useSession();
  const at = of.indexOf(':');
  const kind = at < 0 ? of : of.slice(0, at);
  const id = at < 0 ? '' : of.slice(at + 1);
  const [userId = '', tokenId] = kind === 'user' ? id.split(':') : [];
  if (of === `user:${me.userId}`) return <strong>{audit.you}</strong>;
  const says = KINDS[kind] ?? kind;
  if (id === '') return <strong>{says}</strong>;
  // An operator's token and a resource of Kubernetes have no id but their name.
  const isNamedById = kind === 'operator' || kind === 'kubernetes';
  // A person who acts by an access token is found as a person; the id to copy is that of the token.
  const place = placeOf(kind, kind === 'user' ? userId : id, accountId);
  const shown = <Name otherwise={id}>{isNamedById ? id : (name ?? '')}</Name>;
  return (
    <span class="named">
      {kind === 'user' || isSaid ? null : <>{says} </>}
      {place === undefined ? shown : <Link to={place}>{shown}</Link>}
      {!isNamedById && !isBlank(name ?? '') && (
        <>
          {' '}
          <Copied text={tokenId ?? id} />
        </>
      )}
    </span>
  );
}
