import { isBlank } from '../../src/text/shown-name.ts';
import { charactersOf } from '../text/format.ts';
import { Name } from './page.tsx';

/** From there on a name stands in two parts. */
const WHOLE_MAX = 20;
/** The length of the second part, which is never left out. */
const END = 10;

/**
 * A name among many that begin alike: on a narrow screen it takes two lines, and where there is no room for all of it,
 * its middle is left out rather than its end. The parts are boxes of their own, which some readers of a screen tell
 * apart: what the name stands in has it as its label.
 */
export function DistinctName({ children: name, otherwise }: { children: string; otherwise: string }) {
  if (isBlank(name)) return <Name otherwise={otherwise}>{name}</Name>;
  const parts = charactersOf(name);
  if (parts.length <= WHOLE_MAX) {
    return (
      <bdi class="name distinct" title={name}>
        {name}
      </bdi>
    );
  }
  return (
    <bdi class="name distinct parts" title={name}>
      <span>{parts.slice(0, -END).join('')}</span>
      <span>{parts.slice(-END).join('')}</span>
    </bdi>
  );
}
