import { useEffect, useMemo, useRef } from 'preact/hooks';
import { oneOf, useQuery } from '../../address/use-query.ts';
import { account, type ReviewEntry } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { reviews as texts } from '../../text/reviews.ts';
import { Select } from '../../ui/controls.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { Empty, Problem, Shown } from '../../ui/state.tsx';
import { useDecisions } from './decisions.ts';
import { inTriageOrder, readReviews, type Severity, type Status } from './order.ts';
import { Triage } from './triage.tsx';

const REVIEW_FILTER = {
  status: oneOf<Status>('open', 'confirmed', 'dismissed'),
  severity: oneOf<'' | Severity>('', 'critical', 'high', 'medium', 'low'),
};

/** The review queue, worked through by keys or by buttons. */
export function ReviewsPage({ accountId }: PageProps) {
  const {
    state: { status, severity },
    change,
  } = useQuery(REVIEW_FILTER);
  const queue = useResource(`reviews ${accountId} ${status}`, (signal) => readReviews(accountId, status, signal), {
    of: accountId,
    topics: ['reviews'],
  });
  const keep = (changed: ReviewEntry): void =>
    queue.replace((data) => ({
      ...data,
      entries: data.entries.map((entry) => (entry.entryId === changed.entryId ? changed : entry)),
    }));
  const { sending, failed, decide } = useDecisions(accountId, keep);
  const { entries } = queue.data ?? {};
  const shown = useMemo(() => {
    const here = (entries ?? []).filter((entry) => (sending.get(entry.entryId) ?? entry.status) === status);
    return inTriageOrder(here, severity);
  }, [entries, sending, status, severity]);
  useFocusOnceEmpty(shown.length);
  return (
    <Page title={texts.title} lead={texts.lead} actions={<Counts accountId={accountId} />}>
      <Filters status={status} severity={severity} onFilter={change} />
      <Problem error={failed?.error}>{failed && <p>{texts.takenBack(failed.entry.rule)}</p>}</Problem>
      <Shown of={queue}>
        {({ isWhole }) => (
          <>
            {!isWhole && <p class="note">{texts.more}</p>}
            <Card flush>
              {shown.length === 0 ? (
                <Empty title={status === 'open' && severity === '' ? texts.empty : texts.nothing} />
              ) : (
                <Triage
                  key={`${status} ${severity}`}
                  accountId={accountId}
                  entries={shown}
                  onDecide={decide}
                  onNoted={keep}
                />
              )}
            </Card>
          </>
        )}
      </Shown>
    </Page>
  );
}

/** Once the last entry is gone the focus would be nowhere: it goes to the heading. */
function useFocusOnceEmpty(count: number): void {
  const before = useRef(0);
  useEffect(() => {
    const isEmptied = before.current > 0 && count === 0;
    before.current = count;
    if (isEmptied && document.activeElement === document.body) document.querySelector('h1')?.focus();
  }, [count]);
}

interface FiltersProps {
  readonly status: Status;
  readonly severity: '' | Severity;
  readonly onFilter: (part: { readonly status?: Status; readonly severity?: '' | Severity }) => void;
}

const Filters = ({ status, severity, onFilter }: FiltersProps) => (
  <div class="toolbar">
    <Select
      label={texts.status}
      value={status}
      options={Object.entries(texts.statuses) as [Status, string][]}
      onValue={(chosen) => onFilter({ status: chosen })}
    />
    <Select
      label={texts.severity}
      value={severity}
      options={[['', texts.anySeverity], ...(Object.entries(texts.severities) as [Severity, string][])]}
      onValue={(chosen) => onFilter({ severity: chosen })}
    />
  </div>
);

function Counts({ accountId }: { accountId: string }) {
  const counts = useResource(`counts ${accountId}`, (signal) => account(accountId).reviewCounts({ signal }), {
    of: accountId,
    topics: ['reviews'],
  });
  if (!counts.data) return null;
  const { open, confirmed, dismissed, dropped, complete } = counts.data;
  const all = open.critical + open.high + open.medium + open.low;
  return (
    <p class="quiet" role="status">
      {texts.counts(all, confirmed, dismissed)}
      {dropped > 0 && <> · {texts.dropped(dropped)}</>}
      {!complete && <> · {texts.incomplete}</>}
    </p>
  );
}
