import { useState } from 'preact/hooks';
import { apps as texts } from '../../text/apps.ts';
import { CopyButton } from '../../ui/controls.tsx';

/** A secret that is shown once, to be copied. */
export const SecretText = ({ label, secret }: { label: string; secret: string }) => (
  <div class="secret">
    <div class="row between">
      <strong>
        <bdi class="name">{label}</bdi>
      </strong>
      <CopyButton text={secret} />
    </div>
    <code>{secret}</code>
  </div>
);

const DEVICE = 'https://DEVICE-ADDRESS';

/** Lines to paste. The code goes by a file or by standard input: arguments are seen by others. */
const WAYS = {
  agent: (appId: string, code: string) =>
    `printf '%s' '${code}' |\n  muster agent run --app ${appId} --code-stdin --device-url ${DEVICE}`,
  curl: (appId: string, code: string) =>
    `curl -sS ${DEVICE}/device/v1/enroll -H 'Content-Type: application/json' --data @- <<'JSON'\n${JSON.stringify({ appId, enrollCode: code, connection: 'cloud' })}\nJSON`,
  secret: (appId: string, code: string) =>
    [
      'apiVersion: v1',
      'kind: Secret',
      'metadata:',
      '  name: muster-enrollment',
      'type: Opaque',
      'stringData:',
      `  appId: ${appId}`,
      `  enrollCode: ${code}`,
      `  deviceUrl: ${DEVICE}`,
    ].join('\n'),
} as const;
type Way = keyof typeof WAYS;

/** How a daemon enrolls with the code: by the agent, by curl, or from a Secret of Kubernetes. */
export function EnrollmentLines({ appId, code }: { appId: string; code: string }) {
  const [way, setWay] = useState<Way>('agent');
  const { dialog } = texts;
  const names: Readonly<Record<Way, string>> = { agent: dialog.byAgent, curl: dialog.byCurl, secret: dialog.bySecret };
  const text = WAYS[way](appId, code);
  return (
    <div class="stack tight">
      <h3>{dialog.lines}</h3>
      <div class="tabs" role="tablist" aria-label={dialog.lines}>
        {(Object.keys(WAYS) as Way[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === way} onClick={() => setWay(name)}>
            {names[name]}
          </button>
        ))}
      </div>
      <pre tabIndex={0}>{text}</pre>
      <div class="row between">
        <span class="quiet small">{dialog.device}</span>
        <CopyButton text={text} />
      </div>
    </div>
  );
}
