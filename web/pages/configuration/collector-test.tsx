import { useState } from 'preact/hooks';
import { account, type CollectorTest, type Configuration } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { collectorTest as texts } from '../../text/configuration.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Problem } from '../../ui/state.tsx';

/** Sends an empty export to the stored address, as the service reaches it, and tells what became of it. */
export function TestCollector({ accountId, stored }: { accountId: string; stored: Configuration }) {
  const [test, setTest] = useState<CollectorTest>();
  const { busy, error, run } = useAction(async () => {
    setTest(undefined);
    setTest(await account(accountId).testCollector());
  });
  if (stored.endpoint === '') return null;
  return (
    <div class="stack tight">
      <div class="row">
        <Button busy={busy} onClick={run}>
          {texts.test}
        </Button>
        <span class="quiet small">{texts.says}</span>
      </div>
      <Problem error={error} />
      <div role="status">{test && <Outcome test={test} />}</div>
    </div>
  );
}

function Outcome({ test: { outcome, status, reason, tlsError, revision } }: { test: CollectorTest }) {
  const isReached = outcome === 'reached';
  const why = outcome === 'not-reached' && (reason === null ? texts.status(status ?? 0) : texts.reasons[reason]);
  return (
    <p>
      <Badge tone={isReached ? 'good' : 'bad'} icon={isReached ? 'check' : 'warn'}>
        {texts.outcomes[outcome]}
      </Badge>{' '}
      {texts.revision(revision)} {why} {outcome === 'not-allowed' && texts.notAllowed}
      {outcome === 'withdrawn' && texts.withdrawn} {tlsError !== null && <bdi class="mono">{tlsError}</bdi>}
    </p>
  );
}
