import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { apps as texts } from '../../text/apps.ts';
import { CopyButton, DownloadButton } from '../../ui/controls.tsx';
import { fileOf, linesFor, WAYS, type Enrollable, type Way } from './ways.ts';

/** A secret that is shown once, to be copied. */
export function SecretText({ label, secret }: { label: string; secret: string }) {
  const shown = useRef<HTMLElement>(null);
  return (
    <div class="secret">
      <div class="row between">
        <strong>
          <bdi class="name">{label}</bdi>
        </strong>
        <CopyButton text={secret} shownIn={shown} />
      </div>
      <code ref={shown}>{secret}</code>
    </div>
  );
}

/** The apps whose lines are shown; what is copied and downloaded has all. */
const SHOWN_MAX = 50;

/** How daemons enroll with their codes: by the agent, by curl, or from a Secret of Kubernetes. */
export function EnrollmentLines({ apps }: { apps: readonly Enrollable[] }) {
  const [way, setWay] = useState<Way>('agent');
  const id = useId();
  const { dialog } = texts;
  const shown = useRef<HTMLPreElement>(null);
  const text = useMemo(() => linesFor(way, apps), [way, apps]);
  const first = useMemo(() => linesFor(way, apps.slice(0, SHOWN_MAX)), [way, apps]);
  return (
    <div class="stack tight">
      <h3>{dialog.lines}</h3>
      <WayTabs id={id} way={way} onWay={setWay} />
      <div class="stack tight" id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${way}`}>
        <p class="quiet small">
          {dialog.wayHints[way]} {dialog.device}
        </p>
        <pre ref={shown} tabIndex={0} style={{ maxHeight: '16rem' }}>
          {first}
        </pre>
        <div class="row end">
          <CopyButton text={text} {...(apps.length <= SHOWN_MAX && { shownIn: shown })} />
          <DownloadButton text={text} file={fileOf(way)} type={way === 'secret' ? 'application/yaml' : 'text/plain'} />
        </div>
      </div>
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
    <div class="tabs" role="tablist" aria-label={texts.dialog.lines} onKeyDown={step}>
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
          {texts.dialog.ways[name]}
        </button>
      ))}
    </div>
  );
}
