import { useSession } from '../shell/session.tsx';
import { audit } from '../text/audit.ts';

const KINDS: Readonly<Record<string, string>> = audit.actors;

/** Who did something, as the audit names actors: `user:ID`, `key:ID`, `operator:NAME`, `device:ID` or the service. */
export function Actor({ of }: { of: string }) {
  const { me } = useSession();
  const [kind = '', ...rest] = of.split(':');
  const name = rest.join(':');
  if (of === `user:${me.userId}`) return <strong>{audit.you}</strong>;
  const says = KINDS[kind] ?? kind;
  if (name === '') return <strong>{says}</strong>;
  return (
    <span>
      {says} <bdi class="mono">{name}</bdi>
    </span>
  );
}
