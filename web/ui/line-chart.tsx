import { useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatTick } from '../text/format.ts';
import { colourOf, usePlot } from './plot.ts';

export interface Line {
  readonly name: string;
  /** The token of its colour. */
  readonly token: string;
  /** Lengths of dashes and gaps in pixels, by which the lines differ without colours; none for a solid line. */
  readonly dash: readonly number[];
  /** By the instants of the chart; null is a gap. */
  readonly values: readonly (number | null)[];
}

interface LineChartProps {
  /** Says what it shows, for those who do not see it. */
  readonly label: string;
  /** In milliseconds since 1970, in equal steps. */
  readonly instants: readonly number[];
  readonly lines: readonly Line[];
  /** The place of the instant that is read out. */
  readonly at: number;
  readonly onAt: (at: number) => void;
  /** Says in words what is at that place. */
  readonly says: string;
}

const HEIGHT = 240;
const PAGE = 6;

/**
 * Lines over time. Pointers and keys choose an instant: the chart is a slider for those who do not see it, and the page
 * has the same numbers as a table.
 */
export function LineChart({ label, instants, lines, at, onAt, says }: LineChartProps) {
  const choose = useRef(onAt);
  choose.current = onAt;
  const { place, plot } = usePlot(
    HEIGHT,
    (Plot, element) => {
      const options = optionsOf(element, instants, lines, (chosen) => choose.current(chosen));
      return new Plot(options, dataOf(instants, lines), element);
    },
    [instants, lines],
  );
  const last = instants.length - 1;
  const go = (event: KeyboardEvent): void => {
    const to = placeAfter(event.key, at, last);
    if (to === undefined) return;
    event.preventDefault();
    onAt(to);
    const instant = instants[to];
    const drawn = plot.current;
    if (drawn && instant !== undefined) drawn.setCursor({ left: drawn.valToPos(instant / 1000, 'x'), top: 0 }, false);
  };
  return (
    <div
      ref={place}
      class="chart line-chart"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at}
      aria-valuetext={says}
      onKeyDown={go}
    />
  );
}

function placeAfter(key: string, at: number, last: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - PAGE,
    PageUp: at + PAGE,
    Home: 0,
    End: last,
  };
  const to = steps[key];
  return to === undefined ? undefined : Math.max(0, Math.min(last, to));
}

const dataOf = (instants: readonly number[], lines: readonly Line[]): uPlot.AlignedData => [
  instants.map((instant) => instant / 1000),
  ...lines.map(({ values }) => [...values]),
];

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

function optionsOf(
  element: HTMLElement,
  instants: readonly number[],
  lines: readonly Line[],
  onAt: (at: number) => void,
): uPlot.Options {
  const [quiet = '', line = '', gap = ''] = ['--quiet', '--line', '--sunken'].map((token) => colourOf(element, token));
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const named = (second: number): string => formatTick(second * 1000);
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, size: 28, values: (_plot, marks) => marks.map(named), incrs: TIME_STEPS, space: 64 },
      { ...axis, size: 48, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
    ],
    series: [
      {},
      ...lines.map(({ token, dash }): uPlot.Series => ({
        stroke: colourOf(element, token),
        width: 2,
        ...(dash.length > 0 && { dash: [...dash] }),
        // A point between two gaps has no line.
        points: { show: true, size: 5, filter: (plot, series) => alone(plot.data[series] ?? []) },
      })),
    ],
    hooks: {
      drawClear: [(plot) => shadeGaps(plot, instants, lines, gap)],
      setCursor: [({ cursor: { idx } }) => (typeof idx === 'number' ? onAt(idx) : undefined)],
    },
  };
}

const TIME_STEPS = [1, 2, 3, 6, 12]
  .map((hours) => hours * HOUR_SECONDS)
  .concat([1, 2, 7, 14].map((n) => n * DAY_SECONDS));

/** The places of the values that have none beside them. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number): boolean => values[index] === null || values[index] === undefined;
  return Array.from({ length: values.length }, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  );
}

/** Lays a ground under the instants without values, so that nobody takes them for zero. */
function shadeGaps(plot: uPlot, instants: readonly number[], lines: readonly Line[], colour: string): void {
  const { left, top, width, height } = plot.bbox;
  const [first = 0, second = first + HOUR_SECONDS * 1000] = instants;
  const half = (second - first) / 2000;
  const { ctx } = plot;
  ctx.save();
  ctx.fillStyle = colour;
  for (const [index, instant] of instants.entries()) {
    if (lines.some(({ values }) => values[index] !== null)) continue;
    const begin = Math.max(left, plot.valToPos(instant / 1000 - half, 'x', true));
    const end = Math.min(left + width, plot.valToPos(instant / 1000 + half, 'x', true));
    if (end > begin) ctx.fillRect(begin, top, end - begin, height);
  }
  ctx.restore();
}
