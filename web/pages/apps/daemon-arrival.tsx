import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { account, type Configuration, type PanelAppDetail } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfAccount } from '../../shell/router.ts';
import { daemons } from '../../text/daemons.ts';
import { Button } from '../../ui/controls.tsx';
import { Icon, type IconName } from '../../ui/icons.tsx';
import type { Enrollment } from './enrollment-lines.tsx';

const texts = daemons.arrival;

/** The last stage that a daemon has reached. */
type Stage = 'waiting' | 'enrolled' | 'applied' | 'failed' | 'private' | 'off' | 'not-entitled';

/** @param before when the app had enrolled last as the code was issued; null where it never had */
function stageOf(
  app: PanelAppDetail | undefined,
  configuration: Configuration | undefined,
  before: string | null,
): Stage {
  if (!app || app.enrolledAt === null || app.enrolledAt === before) return 'waiting';
  if (app.connection === 'private') return 'private';
  if (configuration && configuration.entitlement !== 'enterprise') return 'not-entitled';
  if (configuration?.enabled === false) return 'off';
  const { acknowledged } = app;
  // A report of the daemon before is not one of this daemon.
  const isOfThis = acknowledged?.current === true && (before === null || acknowledged.at >= app.enrolledAt);
  return isOfThis ? acknowledged.status : 'enrolled';
}

/** The milliseconds after which it is said what to check; a daemon of OpAMP polls once a minute. */
const LATE_MS: Partial<Record<Stage, number>> = { waiting: 30_000, enrolled: 90_000 };

/** The stages of a daemon since its code was issued. */
interface Arrival {
  readonly app: PanelAppDetail | undefined;
  readonly stage: Stage;
  /** The code is used. */
  readonly isEnrolled: boolean;
}

/** @param before when the app had enrolled last as the code was issued; null where it never had */
export function useArrival(accountId: string, appId: string, before: string | null, of: Enrollment): Arrival {
  const { data: app } = useResource(`arrival ${appId}`, (signal) => account(accountId).app(appId, { signal }), {
    of: accountId,
    topics: ['apps', 'seen', 'config', 'rollout'],
  });
  const stage = stageOf(app, of.configuration.data, before);
  return { app, stage, isEnrolled: stage !== 'waiting' };
}

interface ArrivalProps {
  readonly accountId: string;
  readonly arrival: Arrival;
  readonly of: Enrollment;
  /** The content below it, which stays in sight with it. */
  readonly children: ComponentChildren;
}

/** The stages of the daemon, as they happen: it is waited for, enrolls, and applies the configuration. */
export function DaemonArrival({ accountId, arrival, of, children }: ArrivalProps) {
  const { app, stage, isEnrolled } = arrival;
  const isLate = useLate(stage);
  const checks = useRef<HTMLDivElement>(null);
  const { platform = '', agentVersion = '', acknowledged } = app ?? {};
  const what = [platform, agentVersion].filter((part) => part !== '').join(', ');
  return (
    <>
      {isLate && <Checks shownIn={checks} stage={stage} device={of.addresses.data?.device.url ?? ''} />}
      <div class="outcome">
        <h3>{texts.title}</h3>
        <div role="status">
          <ol class="milestones">
            <Milestone state="done">{texts.created}</Milestone>
            {isEnrolled ? (
              <Milestone state="done">{what === '' ? texts.enrolled : texts.enrolledAs(what)}</Milestone>
            ) : (
              <Milestone state="now">{texts.waiting}</Milestone>
            )}
            <Milestone state={STATES[stage]}>{lastOf(stage, acknowledged)}</Milestone>
          </ol>
        </div>
        {isLate && (
          <div>
            <Button small onClick={() => checks.current?.focus()}>
              {texts.check}
            </Button>
          </div>
        )}
        {stage === 'off' && <Link to={pathOfAccount(accountId, 'configuration')}>{texts.set}</Link>}
        {children}
      </div>
    </>
  );
}

type MilestoneState = 'done' | 'now' | 'next' | 'bad';
const ICONS = { done: 'check', now: 'clock', next: 'later', bad: 'cross' } as const satisfies Record<
  MilestoneState,
  IconName
>;
const STATES = {
  waiting: 'next',
  enrolled: 'now',
  applied: 'done',
  failed: 'bad',
  private: 'done',
  off: 'done',
  'not-entitled': 'done',
} as const satisfies Record<Stage, MilestoneState>;

const Milestone = ({ state, children }: { state: MilestoneState; children: string }) => (
  <li class={state}>
    <Icon name={ICONS[state]} />
    {state === 'next' && <span class="heard">{texts.toCome} </span>}
    <bdi class="words">{children}</bdi>
  </li>
);

function lastOf(stage: Stage, acknowledged: PanelAppDetail['acknowledged'] | undefined): string {
  switch (stage) {
    case 'waiting':
      return texts.later;
    case 'enrolled':
      return texts.applying;
    case 'applied':
      return texts.applied(acknowledged?.revision ?? 0);
    case 'failed':
      return texts.failed(acknowledged?.error ?? '');
    case 'private':
      return texts.private;
    case 'off':
      return texts.off;
    case 'not-entitled':
      return texts.notEntitled;
  }
}

/** Tells whether a stage lasts longer than it should. */
function useLate(stage: Stage): boolean {
  const [late, setLate] = useState<Stage>();
  useEffect(() => {
    const ms = LATE_MS[stage];
    if (ms === undefined) return undefined;
    const timer = setTimeout(() => setLate(stage), ms);
    return () => clearTimeout(timer);
  }, [stage]);
  return late === stage;
}

interface ChecksProps {
  /** Takes the focus, which brings the checks into sight. */
  readonly shownIn: { readonly current: HTMLDivElement | null };
  readonly stage: Stage;
  readonly device: string;
}

function Checks({ shownIn, stage, device }: ChecksProps) {
  const isWaiting = stage === 'waiting';
  return (
    <div ref={shownIn} class="note warn" role="status" tabIndex={-1}>
      <Icon name="warn" />
      <div class="grow">
        <p>{isWaiting ? texts.late : texts.slow}</p>
        <ul>
          {(isWaiting ? texts.lateChecks(device) : texts.slowChecks).map((check) => (
            <li key={check} class="words">
              {check}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
