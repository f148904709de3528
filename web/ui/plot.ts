import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { onColours } from '../shell/theme.ts';

type Plot = typeof uPlot;

interface Drawn {
  /** The element that the plot is drawn into. */
  readonly place: RefObject<HTMLDivElement | null>;
  /** The plot as it is drawn now. */
  readonly plot: { readonly current: uPlot | undefined };
}

/**
 * A plot by uPlot, which is loaded when one is first shown. It is drawn again when its width, the colours or the paper
 * change. Without the library there is none: the page has the same numbers as a table.
 * @param height in pixels
 * @param inputs where one of them changes, another plot is drawn
 */
export function usePlot(
  height: number,
  draw: (Plot: Plot, element: HTMLElement) => uPlot,
  inputs: readonly unknown[],
): Drawn {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    let end = (): void => undefined;
    let isWanted = true;
    void Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]).then(
      ([{ default: Plot }]) => {
        if (!isWanted) return;
        const again = (): void => {
          plot.current?.destroy();
          plot.current = draw(Plot, element);
        };
        again();
        const endColours = onColours(again);
        const paper = matchMedia('print');
        paper.addEventListener('change', again);
        const watch = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
        watch.observe(element);
        end = () => {
          watch.disconnect();
          paper.removeEventListener('change', again);
          endColours();
        };
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
      end();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [...inputs]);
  return { place, plot };
}

/** The colour of a token, as the canvas takes it. */
export function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
