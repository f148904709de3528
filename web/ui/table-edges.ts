import { useLayoutEffect, useState } from 'preact/hooks';

/** The sides on which more of a table lies than is seen. */
interface Edges {
  readonly start: boolean;
  readonly end: boolean;
  /** The width of the columns at the end that stay in sight, in pixels. */
  readonly pinnedEnd: number;
}

/** With less room between them, the last column goes with the others: what is pinned would cover them. */
const ROOM_MIN = 0.25;

const widthOf = (cell: Element | null): number => (cell instanceof HTMLElement ? cell.offsetWidth : 0);

function edgesOf(scroller: HTMLElement): Edges {
  const { scrollLeft, scrollWidth, clientWidth } = scroller;
  const head = scroller.querySelector('thead tr');
  const pinned = widthOf(head?.querySelector('.pin-end') ?? null);
  const name = widthOf(head?.querySelector('.pin-start') ?? null);
  return {
    start: scrollLeft > 1,
    end: scrollLeft + clientWidth < scrollWidth - 1,
    pinnedEnd: pinned + name > clientWidth * (1 - ROOM_MIN) ? 0 : pinned,
  };
}

const isSame = (a: Edges, b: Edges): boolean => a.start === b.start && a.end === b.end && a.pinnedEnd === b.pinnedEnd;

/** Watches whether columns of a table are out of sight. */
export function useEdges(scroller: { current: HTMLDivElement | null }): Edges {
  const [edges, setEdges] = useState<Edges>({ start: false, end: false, pinnedEnd: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const look = (): void => {
      const now = edgesOf(element);
      setEdges((before) => (isSame(before, now) ? before : now));
    };
    look();
    const size = new ResizeObserver(look);
    size.observe(element);
    if (element.firstElementChild) size.observe(element.firstElementChild);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      size.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [scroller]);
  return edges;
}
