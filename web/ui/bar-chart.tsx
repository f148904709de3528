import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';

interface BarChartProps {
  /** Says what it shows, for those who do not see it. */
  readonly label: string;
  readonly names: readonly string[];
  readonly values: readonly number[];
}

const HEIGHT = 260;

/** A bar chart by uPlot, which is loaded when it is first shown. The page has the same numbers as a table. */
export function BarChart({ label, names, values }: BarChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    let end = (): void => undefined;
    let isWanted = true;
    void Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]).then(
      ([{ default: Plot }]) => {
        if (isWanted) end = drawn(Plot, element, names, values);
        // Without the library there is no chart; the table has the numbers all the same.
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
      end();
    };
  }, [names, values]);
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

type Plot = typeof uPlot;

/** Draws it, and again when the width or the colours change. @returns a function that ends it */
function drawn(Plot: Plot, element: HTMLElement, names: readonly string[], values: readonly number[]): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  let plot: uPlot | undefined;
  const draw = (): void => {
    plot?.destroy();
    const indexes = names.map((_, index) => index);
    plot = new Plot(optionsOf(Plot, element, names), [indexes, [...values]], element);
  };
  draw();
  const watch = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
  watch.observe(element);
  scheme.addEventListener('change', draw);
  return () => {
    watch.disconnect();
    scheme.removeEventListener('change', draw);
    plot?.destroy();
  };
}

/** The colour of a token, as the canvas takes it. */
function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf(Plot: Plot, element: HTMLElement, names: readonly string[]): uPlot.Options {
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
