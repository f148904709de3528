import { ItemRefused } from '../../api/many.ts';
import { apps as texts } from '../../text/apps.ts';
import { Icon } from '../../ui/icons.tsx';
import { Name } from '../../ui/page.tsx';

/* The progress of a change of many apps, and its failures. */

export const Through = ({ through, all }: { through: number; all: number }) => (
  <div class="stack tight">
    <span>{texts.progress(through, all)}</span>
    <progress max={all} value={through} aria-hidden="true" />
  </div>
);

/** An app that is not changed, and why. */
interface Failed {
  readonly item: { readonly appId?: string; readonly name: string };
  readonly error: unknown;
}

const FAILURES_SHOWN = 50;

function sentenceOf(error: unknown): string {
  if (error instanceof ItemRefused && error.code === 'not_found') return texts.gone;
  return error instanceof Error ? error.message : String(error);
}

export function Failures({ says, failures }: { says: string; failures: readonly Failed[] }) {
  return (
    <div class="note bad" role="alert">
      <Icon name="warn" />
      <div class="grow">
        <p>{says}</p>
        {failures.length > 0 && (
          <ul tabIndex={0} aria-label={texts.failures} style={{ maxHeight: '12rem', overflow: 'auto' }}>
            {failures.slice(0, FAILURES_SHOWN).map(({ item: { appId = '', name }, error }, index) => (
              <li key={index}>
                <Name otherwise={appId}>{name}</Name>: {sentenceOf(error)}
              </li>
            ))}
            {failures.length > FAILURES_SHOWN && <li>{texts.moreFailures(failures.length - FAILURES_SHOWN)}</li>}
          </ul>
        )}
      </div>
    </div>
  );
}
