import type uPlot from 'uplot';
import { colourOf, usePlot } from './plot.ts';

interface BarChartProps {
  /** Says what it shows, for those who do not see it. */
  readonly label: string;
  readonly names: readonly string[];
  readonly values: readonly number[];
}

const HEIGHT = 260;

/** A bar chart. The page has the same numbers as a table. */
export function BarChart({ label, names, values }: BarChartProps) {
  const { place } = usePlot(
    HEIGHT,
    (Plot, element) => {
      const indexes = names.map((_, index) => index);
      return new Plot(optionsOf(Plot, element, names), [indexes, [...values]], element);
    },
    [names, values],
  );
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

function optionsOf(Plot: typeof uPlot, element: HTMLElement, names: readonly string[]): uPlot.Options {
  const [accent, quiet, line] = ['--accent', '--quiet', '--line'].map((token) => colourOf(element, token));
  const axis = { stroke: quiet ?? '', grid: { stroke: line ?? '', width: 1 }, ticks: { show: false } };
  const bars = Plot.paths.bars?.({ size: [0.7, 40] });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [-0.6, Math.max(names.length - 0.4, 0.6)] },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { ...axis, size: 28, grid: { show: false }, values: (_plot, marks) => marks.map((mark) => names[mark] ?? '') },
      { ...axis, size: 56, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
    ],
    series: [{}, { fill: accent ?? '', ...(bars && { paths: bars }), points: { show: false } }],
  };
}
