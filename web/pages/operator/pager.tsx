import { useLayoutEffect, useRef } from 'preact/hooks';
import { anyText, useQuery } from '../../address/use-query.ts';
import { pager as texts } from '../../text/operator.ts';
import { Button } from '../../ui/controls.tsx';

/** The pages of a list that a person has turned over. */
interface Places {
  /** Where the page begins, as `after` of the request; undefined for the first. */
  readonly place: string | undefined;
  readonly number: number;
  readonly forth: (next: string) => void;
  readonly back: () => void;
  /** True from the press of a button on, until the new page is there. */
  readonly isTurning: { current: boolean };
}

const PLACE = { after: anyText(200), page: anyText(6) };

/** The page stands in the address. Where a link led to it, the one before is the first. */
export function usePlaces(): Places {
  const { state, change } = useQuery(PLACE);
  const number = Number(state.page) || 1;
  const before = useRef<readonly string[]>([]);
  const isTurning = useRef(false);
  const turn = (after: string, page: number): void => {
    isTurning.current = true;
    change({ after, page: page === 1 ? '' : String(page) }, { adds: true });
  };
  return {
    place: state.after === '' ? undefined : state.after,
    number,
    isTurning,
    forth: (next) => {
      before.current = [...before.current.slice(0, number - 1), state.after];
      turn(next, number + 1);
    },
    back: () => {
      const place = before.current[number - 2];
      if (place === undefined) turn('', 1);
      else turn(place, number - 1);
    },
  };
}

/** Turns the pages of a list over, to where there are further ones; nothing where there is one page alone. */
export function Pager({ places, next }: { places: Places; next: string | undefined }) {
  const { place, number, forth, back, isTurning } = places;
  const bar = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const isTurned = isTurning.current;
    isTurning.current = false;
    // The button that was pressed went with the page of before, and left the focus to the heading.
    const { activeElement: at, body } = document;
    if (isTurned && (at === body || at?.matches('h1') === true)) bar.current?.focus();
  }, [isTurning]);
  if (place === undefined && next === undefined) return null;
  return (
    <nav class="pager" ref={bar} tabIndex={-1} aria-label={texts.label}>
      {place !== undefined && (
        <Button small onClick={back}>
          {texts.back}
        </Button>
      )}
      <span role="status">{texts.page(number)}</span>
      {next !== undefined && (
        <Button small onClick={() => forth(next)}>
          {texts.forth}
        </Button>
      )}
    </nav>
  );
}
