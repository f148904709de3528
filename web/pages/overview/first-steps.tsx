import { useEffect, useState } from 'preact/hooks';
import { account, type Overview } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfAccount } from '../../shell/router.ts';
import { useIsOwner } from '../../shell/rights.ts';
import { firstSteps as texts } from '../../text/first-steps.ts';
import { Button } from '../../ui/controls.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Card } from '../../ui/page.tsx';
import { Empty, Loading } from '../../ui/state.tsx';
import { keepSteps, keptSteps } from './kept-steps.ts';

interface FirstStepsProps {
  readonly accountId: string;
  readonly apps: Overview['apps'];
}

/** The way from an account without apps to a fleet: from its first app on it stays until all is done, or put away. */
export function FirstSteps({ accountId, apps }: FirstStepsProps) {
  const isOwner = useIsOwner(accountId);
  const isEmpty = apps.total === 0;
  const [kept, setKept] = useState(() => keptSteps(accountId));
  const keep = (state: 'begun' | 'away' | undefined): void => {
    keepSteps(accountId, state);
    setKept(state);
  };
  useEffect(() => {
    if (isOwner && isEmpty && kept === undefined) keep('begun');
  }, [isOwner, isEmpty, kept]);
  const isShown = isOwner && kept !== 'away' && (isEmpty || kept === 'begun');
  if (isShown) return <Steps accountId={accountId} apps={apps} onEnd={keep} />;
  if (!isEmpty) return null;
  return (
    <Card>
      <Empty title={texts.noApps}>
        <p>{isOwner ? texts.noAppsSays : texts.noAppsForViewers}</p>
        {isOwner && <Link to={`${pathOfAccount(accountId, 'apps')}?new=daemon`}>{texts.steps.create.does}</Link>}
      </Empty>
    </Card>
  );
}

interface Step {
  readonly name: keyof typeof texts.steps;
  readonly isDone: boolean;
  readonly to: string;
}

function Steps({ accountId, apps, onEnd }: FirstStepsProps & { readonly onEnd: (state: 'away' | undefined) => void }) {
  const steps = useSteps(accountId, apps);
  const isDone = steps?.every((step) => step.isDone) === true;
  useEffect(() => {
    if (isDone) onEnd(undefined);
  }, [isDone]);
  if (isDone) return null;
  return (
    <Card
      title={texts.title}
      actions={
        <Button small kind="quiet" onClick={() => onEnd('away')}>
          {texts.away}
        </Button>
      }
    >
      {steps ? (
        <ol class="steps">
          {steps.map((step) => (
            <OneStep key={step.name} {...step} />
          ))}
        </ol>
      ) : (
        <Loading lines={4} />
      )}
    </Card>
  );
}

function OneStep({ name, isDone, to }: Step) {
  const { does, says } = texts.steps[name];
  return (
    <li class={isDone ? 'done' : ''}>
      <span class="mark">{isDone && <Icon name="check" />}</span>
      <div>
        {isDone ? (
          <>
            <span class="heard">{texts.done}: </span>
            {does}
          </>
        ) : (
          <Link to={to}>{does}</Link>
        )}
        <p class="quiet small">{says}</p>
      </div>
    </li>
  );
}

/** Each is done where the service says so; undefined until it has. */
function useSteps(accountId: string, apps: Overview['apps']): readonly Step[] | undefined {
  const { data: configuration } = useResource(
    `configuration ${accountId}`,
    (signal) => account(accountId).configuration({ signal }),
    { of: accountId, topics: ['config', 'account'] },
  );
  const { data: isInvited } = useResource(
    `people ${accountId}`,
    async (signal) => {
      const [{ members }, { invitations }] = await Promise.all([
        account(accountId).members({ signal }),
        account(accountId).invitations({ signal }),
      ]);
      return members.length > 1 || invitations.length > 0;
    },
    { of: accountId, topics: ['members'] },
  );
  if (!configuration || isInvited === undefined) return undefined;
  const list = pathOfAccount(accountId, 'apps');
  return [
    { name: 'create', isDone: apps.total > 0, to: `${list}?new=daemon` },
    { name: 'seen', isDone: apps.active + apps.revoked > 0, to: `${list}?new=daemon` },
    ...(configuration.entitlement === 'enterprise'
      ? [
          {
            name: 'collector',
            isDone: configuration.revision > 0 && configuration.purge === 'none',
            to: pathOfAccount(accountId, 'configuration'),
          } as const,
        ]
      : []),
    { name: 'invite', isDone: isInvited, to: `${pathOfAccount(accountId, 'members')}?new=invitation` },
  ];
}
