import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useNow } from '../hooks/use-now.ts';
import { HelpLink } from '../shell/help.tsx';
import { Link } from '../shell/link.tsx';
import { useShownAccountName } from '../shell/account-name.tsx';
import { common } from '../text/common.ts';
import { formatAge, formatCount, formatInstant, formatMoment } from '../text/format.ts';
import { isBlank } from '../../src/text/shown-name.ts';

/* The parts that pages are made of. */

interface PageProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Its head is one line, so that more of a long list is in sight. */
  readonly dense?: boolean;
  readonly children?: ComponentChildren;
}

/** A page: its heading, which with the account is also the title of the document, and what can be done. */
export function Page({ title, lead, actions, dense, children }: PageProps) {
  const account = useShownAccountName();
  useEffect(() => {
    document.title = [title, account, common.product].filter((part) => part !== undefined).join(' · ');
  }, [title, account]);
  return (
    <>
      <header class={dense === true ? 'page-head dense' : 'page-head'}>
        <div>
          <div class="row">
            <h1 tabIndex={-1}>{title}</h1>
            <HelpLink />
          </div>
          {lead !== undefined && <p class="quiet">{lead}</p>}
        </div>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ComponentChildren;
  /** Its content, such as a table, reaches to its edge. */
  readonly flush?: boolean;
  readonly children?: ComponentChildren;
}

export const Card = ({ title, actions, flush, children }: CardProps) => (
  <section class={`card ${flush === true ? 'flush' : ''}`} aria-label={title}>
    {(title !== undefined || actions !== undefined) && (
      <div class="head">
        {title !== undefined && <h2>{title}</h2>}
        {actions !== undefined && <div class="row">{actions}</div>}
      </div>
    )}
    {children}
  </section>
);

/** A number with what it counts. */
export const Figure = ({
  label,
  value,
  note,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
}) => (
  <div class="figure">
    <span class="quiet">{label}</span>
    <span class="value">{value}</span>
    {note !== undefined && <span class="quiet small">{note}</span>}
  </div>
);

/** Terms with what they stand for; a fact whose value is undefined is left out. */
export const Facts = ({ facts }: { facts: readonly (readonly [term: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== undefined)
      .map(([term, value]) => [<dt key={term}>{term}</dt>, <dd key={`${term} value`}>{value}</dd>])}
  </dl>
);

/** An instant as an age, and beside it the instant itself in the zone of the browser; to the second behind it. */
export function Time({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return <span class="quiet">{common.never}</span>;
  return (
    <time dateTime={at} title={formatInstant(at)}>
      {formatAge(at, now)} <span class="moment">{formatMoment(at, now)}</span>
    </time>
  );
}

/**
 * A text of somebody else's, such as a name or a platform: in its own direction, in one line, and cut where the line
 * ends. Its title has the whole, and so has the page or the dialog that the row leads to.
 */
export const Name = ({ children, otherwise = '—' }: { children: string; otherwise?: string }) =>
  isBlank(children) ? (
    <span class="name quiet">{otherwise}</span>
  ) : (
    <bdi class="name" title={children}>
      {children}
    </bdi>
  );

/** Shares of a whole, as a bar with a legend that says the same in numbers. */
export function Shares({
  label,
  parts,
}: {
  label: string;
  /** `to` leads to what is counted. */
  parts: readonly { name: string; value: number; tone: string; to?: string }[];
}) {
  const whole = parts.reduce((sum, { value }) => sum + value, 0);
  return (
    <div class="stack tight" role="group" aria-label={label}>
      <div class="meter" aria-hidden="true">
        {parts
          .filter(({ value }) => value > 0)
          .map(({ name, value, tone }) => (
            <span key={name} class={tone} style={{ width: `${(100 * value) / Math.max(whole, 1)}%` }} />
          ))}
      </div>
      <ul class="legend">
        {parts.map(({ name, value, tone, to }) => (
          <li key={name}>
            <span class={`swatch ${tone}`} aria-hidden="true" />
            {to === undefined || value === 0 ? (
              <span>
                {name} <strong class="number">{formatCount(value)}</strong>
              </span>
            ) : (
              <Link to={to}>
                {name} <strong class="number">{formatCount(value)}</strong>
              </Link>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
