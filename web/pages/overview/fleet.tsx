import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { oneOf, useQuery } from '../../address/use-query.ts';
import { account, type FleetHistory } from '../../api/panel.ts';
import { useNow } from '../../hooks/use-now.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { fleet as texts } from '../../text/fleet.ts';
import { formatCount } from '../../text/format.ts';
import { Card } from '../../ui/page.tsx';
import { LineChart, type Line } from '../../ui/line-chart.tsx';
import { Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { stepsOf, type Step } from './steps.ts';

type Range = FleetHistory['range'];
const RANGES = ['24h', '7d', '90d'] as const satisfies readonly Range[];
const FIELDS = { range: oneOf<Range>(...RANGES) };

const HOUR_MS = 3_600_000;
/** The leader counts within some minutes after an hour has begun. */
const COUNTED_AFTER_MS = 3 * 60_000;

/** The number of active, silent and failed daemons over time, as a chart and as a table. */
export function FleetCard({ accountId }: { accountId: string }) {
  const {
    state: { range },
    change,
  } = useQuery(FIELDS);
  const history = useResource(
    `fleet ${accountId} ${range}`,
    (signal) => account(accountId).fleetHistory(range, { signal }),
    { of: accountId },
  );
  const { reload } = history;
  const hour = Math.floor((useNow(HOUR_MS / 60) - COUNTED_AFTER_MS) / HOUR_MS);
  const read = useRef(hour);
  useEffect(() => {
    if (read.current === hour) return;
    read.current = hour;
    reload();
  }, [hour, reload]);
  return (
    <Card
      title={texts.title}
      actions={
        <div class="choices" role="group" aria-label={texts.range}>
          {RANGES.map((one) => (
            <button
              key={one}
              type="button"
              class="button small"
              aria-pressed={one === range}
              onClick={() => change({ range: one })}
            >
              {texts.ranges[one]}
            </button>
          ))}
        </div>
      }
    >
      <div class="fleet">
        <Shown of={history}>{(data) => <History key={range} history={data} />}</Shown>
      </div>
    </Card>
  );
}

/** The lines differ by their dashes as well as by their colours. */
const LINES = [
  { name: 'active', token: '--good', dash: [] },
  { name: 'silent', token: '--warn', dash: [8, 4] },
  { name: 'failed', token: '--bad', dash: [2, 3] },
] as const;

function History({ history }: { history: FleetHistory }) {
  const steps = useMemo(() => stepsOf(history), [history]);
  const instants = useMemo(() => steps.map(({ from }) => from), [steps]);
  const lines = useMemo(() => linesOf(steps), [steps]);
  const [chosen, choose] = useState<number>();
  if (history.points.length === 0) return <p class="quiet fleet-none">{texts.none}</p>;
  const at = Math.min(chosen ?? steps.length - 1, steps.length - 1);
  const says = steps[at] ? sentenceOf(steps[at]) : '';
  const missing = steps.filter(({ counts }) => !counts).length;
  const [first] = steps;
  const isShortened = first !== undefined && first.from > Date.parse(history.from);
  const isHours = history.stepSeconds * 1000 === HOUR_MS;
  return (
    <div class="stack tight">
      <div class="fleet-head">
        <ul class="legend">
          {LINES.map(({ name, dash, token }) => (
            <li key={name}>
              <svg class="line-sample" viewBox="0 0 28 8" aria-hidden="true">
                <line
                  x1="0"
                  y1="4"
                  x2="28"
                  y2="4"
                  stroke-dasharray={dash.join(' ')}
                  style={{ stroke: `var(${token})` }}
                />
              </svg>
              {texts.series[name]}
            </li>
          ))}
        </ul>
        <p class="fleet-says number">{says}</p>
      </div>
      <LineChart label={texts.chart} instants={instants} lines={lines} at={at} onAt={choose} says={says} />
      <p class="quiet small">
        {isShortened && <strong>{texts.since(first.from)} </strong>}
        {missing > 0 && <strong>{texts.gaps(missing, steps.length, isHours)} </strong>}
        {!isHours && `${texts.worst} `}
        {texts.definition}
      </p>
      <details>
        <summary>{texts.table}</summary>
        <Steps steps={steps} range={history.range} />
      </details>
    </div>
  );
}

const linesOf = (steps: readonly Step[]): readonly Line[] =>
  LINES.map(({ name, token, dash }) => ({
    name: texts.series[name],
    token,
    dash,
    values: steps.map(({ counts }) => counts?.[name] ?? null),
  }));

function sentenceOf({ from, to, counts }: Step): string {
  const said = counts ? texts.counts(counts.active, counts.silent, counts.failed) : texts.notCounted;
  return `${texts.span(from, to)}: ${said}`;
}

/** The same numbers as a table. */
function Steps({ steps, range }: { steps: readonly Step[]; range: Range }) {
  const newestFirst = useMemo(() => steps.toReversed(), [steps]);
  return (
    <Table
      caption={texts.caption(texts.ranges[range])}
      rows={newestFirst}
      idOf={({ from }) => String(from)}
      long={steps.length > 30}
      columns={[
        {
          name: texts.time,
          names: true,
          cell: ({ from, to }) => <time dateTime={new Date(from).toISOString()}>{texts.span(from, to)}</time>,
        },
        ...LINES.map(({ name }) => ({
          name: texts.series[name],
          number: true,
          cell: ({ counts }: Step) =>
            counts ? formatCount(counts[name]) : <span class="quiet">{texts.notCounted}</span>,
        })),
      ]}
    />
  );
}
