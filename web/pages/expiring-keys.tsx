import type { Overview } from '../api/panel.ts';
import { Link } from '../shell/link.tsx';
import { pathOfAccount } from '../shell/router.ts';
import { useIsOwner } from '../shell/rights.ts';
import { expiringKeys as texts } from '../text/expiring-keys.ts';
import { Icon } from '../ui/icons.tsx';
import { Name, Time } from '../ui/page.tsx';

interface ExpiringKeysProps {
  readonly accountId: string;
  readonly keys: Overview['expiringKeys'];
}

/** Warns those who can act of the API keys that expire soon; nothing where none does. */
export function ExpiringKeys({ accountId, keys }: ExpiringKeysProps) {
  const isOwner = useIsOwner(accountId);
  if (!isOwner || keys.length === 0) return null;
  const page = pathOfAccount(accountId, 'keys');
  const shown = keys.slice(0, SHOWN_MAX);
  return (
    <div class="note warn" role="status">
      <Icon name="clock" />
      <div class="grow stack tight">
        <p>{texts.says(keys.length)}</p>
        <ul>
          {shown.map(({ keyId, name, expiresAt }) => (
            <li key={keyId}>
              <Link to={`${page}?sort=expires`}>
                <Name otherwise={keyId}>{name}</Name>
              </Link>{' '}
              <Time at={expiresAt} />
            </li>
          ))}
        </ul>
        {keys.length > SHOWN_MAX && (
          <p>
            <Link to={`${page}?sort=expires`}>{texts.more(keys.length - SHOWN_MAX)}</Link>
          </p>
        )}
        <p>
          {texts.action} <Link to={`${page}?new=key`}>{texts.create}</Link>
        </p>
      </div>
    </div>
  );
}

/** The next ones to expire. */
const SHOWN_MAX = 10;
