import { useId, useRef } from 'preact/hooks';
import { changeQuery } from '../../address/address.ts';
import { oneOf, useQuery } from '../../address/use-query.ts';
import { account, readAddresses, type Configuration } from '../../api/panel.ts';
import { useResource, type Resource } from '../../hooks/use-resource.ts';
import { daemons as texts } from '../../text/daemons.ts';
import { CopyButton } from '../../ui/controls.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Shown } from '../../ui/state.tsx';
import { stepsOf, WAYS, type Named, type Step, type Way } from './ways.ts';

interface SecretTextProps {
  readonly label: string;
  /** The id of what it belongs to, where names may be the same. */
  readonly id?: string;
  readonly secret: string;
}

/** A secret that is shown once, to be copied. */
export function SecretText({ label, id, secret }: SecretTextProps) {
  const shown = useRef<HTMLElement>(null);
  return (
    <div class="secret">
      <div class="row between">
        <strong>
          <bdi class="name">{label}</bdi>
        </strong>
        {id !== undefined && <code class="quiet small">{id}</code>}
        <CopyButton text={secret} what={label} shownIn={shown} />
      </div>
      <code ref={shown}>{secret}</code>
    </div>
  );
}

/** The facts that the ways to enroll depend on. */
export interface Enrollment {
  readonly addresses: Resource<Named['addresses']>;
  readonly configuration: Resource<Configuration>;
}

export function useEnrollment(accountId: string): Enrollment {
  const addresses = useResource('addresses', (signal) => readAddresses({ signal }));
  const configuration = useResource(
    `configuration ${accountId}`,
    (signal) => account(accountId).configuration({ signal }),
    { of: accountId, topics: ['config'] },
  );
  return { addresses, configuration };
}

const [FIRST = 'linux', ...OTHERS] = WAYS;
/** The chosen way stands in the address, so that a link opens it, and the next daemon begins with it. */
const BY = { by: oneOf<Way>(FIRST, ...OTHERS) };

/** Takes the way out of the address: the dialog that shows it is closed. */
export const forgetWay = (): void => changeQuery({ by: undefined });

/** The ways in which a daemon enrolls with its code, wherever it runs. @param of the parts that the commands name */
export function EnrollmentLines({ appId, of: { addresses, configuration } }: { appId: string; of: Enrollment }) {
  const { state, change } = useQuery(BY);
  const id = useId();
  const way = state.by;
  const revision = configuration.data?.revision ?? 0;
  return (
    <div class="stack tight">
      <h3>{texts.ways}</h3>
      <WayTabs id={id} way={way} onWay={(by) => change({ by })} />
      <div class="stack" id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${way}`}>
        <Shown of={addresses} lines={4}>
          {(known) => (
            <>
              {!known.device.configured && <UnknownAddress url={known.device.url} />}
              {stepsOf(way, { appId, addresses: known, revision }).map((step, index) => (
                <Command key={step.says} step={step} isFirst={index === 0} />
              ))}
            </>
          )}
        </Shown>
      </div>
    </div>
  );
}

const UnknownAddress = ({ url }: { url: string }) => (
  <div class="note">
    <Icon name="warn" />
    <p>{texts.unknownAddress(url)}</p>
  </div>
);

/** The first one is what a person wants next: Enter copies it. */
function Command({ step: { says, needs, text }, isFirst }: { step: Step; isFirst: boolean }) {
  const shown = useRef<HTMLPreElement>(null);
  const id = useId();
  return (
    <div class="stack tight">
      {needs !== undefined && <p class="quiet small">{needs}</p>}
      <div class="says">
        <p id={id} class="quiet small">
          {says}
        </p>
        <CopyButton text={text} what={texts.command} describedBy={id} shownIn={shown} autofocus={isFirst} />
      </div>
      <pre ref={shown} tabIndex={0} class="command">
        {text}
      </pre>
    </div>
  );
}

interface WayTabsProps {
  readonly id: string;
  readonly way: Way;
  readonly onWay: (way: Way) => void;
}

/** The tabs are one stop of the Tab key; the arrow keys go from one to the next. */
function WayTabs({ id, way, onWay }: WayTabsProps) {
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = WAYS.at((WAYS.indexOf(way) + by) % WAYS.length) ?? way;
    onWay(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={texts.ways} onKeyDown={step}>
      {WAYS.map((name) => (
        <button
          key={name}
          id={`${id}-${name}`}
          type="button"
          role="tab"
          aria-selected={name === way}
          aria-controls={`${id}-panel`}
          tabIndex={name === way ? 0 : -1}
          onClick={() => onWay(name)}
        >
          {texts.way[name]}
        </button>
      ))}
    </div>
  );
}
