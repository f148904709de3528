import { useState } from 'preact/hooks';
import { pager as texts } from '../../text/operator.ts';
import { Button } from '../../ui/controls.tsx';

/** The pages of a list that a person has turned over. */
interface Places {
  /** Where the page begins, as `after` of the request; undefined for the first. */
  readonly place: string | undefined;
  readonly number: number;
  readonly forth: (next: string) => void;
  readonly back: () => void;
}

export function usePlaces(): Places {
  const [places, setPlaces] = useState<readonly string[]>([]);
  return {
    place: places.at(-1),
    number: places.length + 1,
    forth: (next) => setPlaces([...places, next]),
    back: () => setPlaces(places.slice(0, -1)),
  };
}

/** Turns the pages of a list over; nothing where there is one page alone. */
export function Pager({ places, next }: { places: Places; next: string | undefined }) {
  const { place, number, forth, back } = places;
  if (place === undefined && next === undefined) return null;
  return (
    <nav class="pager" aria-label={texts.label}>
      <Button small disabled={place === undefined} onClick={back}>
        {texts.back}
      </Button>
      <span role="status">{texts.page(number)}</span>
      <Button small disabled={next === undefined} onClick={() => next !== undefined && forth(next)}>
        {texts.forth}
      </Button>
    </nav>
  );
}
