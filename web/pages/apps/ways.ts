import type { PublicAddresses } from '../../../src/api/contract/panel/addresses.ts';
import { shellWord } from '../../../src/text/shell-words.ts';
import { daemons as texts } from '../../text/daemons.ts';

/*
 * The ways by which a daemon comes to the fleet, as commands to paste. No command holds the code: it is read from the
 * terminal, and goes on by standard input, so that neither a list of processes nor the history of a shell has it. Each
 * command is one list, so that a terminal which takes pasted lines one by one asks for the code at the end. Only the
 * endpoint of OpAMP may need a quote: ids are letters and digits, and the configuration keeps other URLs plain.
 */

/** The parts that the commands name. */
export interface Named {
  readonly appId: string;
  readonly addresses: PublicAddresses;
  /** The revision of the configuration that a daemon is given. */
  readonly revision: number;
}

/** A command, and what it does. */
export interface Step {
  readonly says: string;
  /** The program that must be there before, and how it comes there. */
  readonly needs?: string;
  readonly text: string;
}

/** Reads one line, and so the code, from the terminal. */
const CODE = "(printf 'Enrollment code: ' >&2; head -n 1) |";

/** The image and the package of npm have the version in their names. */
const needsMuster = ({ addresses: { image } }: Named): string =>
  texts.needs.muster(`muster-muster-${image.slice(image.lastIndexOf(':') + 1)}.tgz`);

const linux = (named: Named): readonly Step[] => {
  const { appId, addresses } = named;
  const { device } = addresses;
  const daemon = `--device-url ${device.url} \\\n    --credential-file muster-${appId}.credential \\\n    --otel-config muster-${appId}.yaml`;
  return [
    {
      says: texts.steps.linux,
      needs: needsMuster(named),
      text: `${CODE}\n  muster agent run --app ${appId} --code-stdin \\\n    ${daemon}`,
    },
    { says: texts.steps.again, text: `muster agent run \\\n    ${daemon}` },
  ];
};

function container({ appId, addresses: { device, image } }: Named): readonly Step[] {
  const network = isThisMachine(device.url) ? '--network host ' : '';
  const runs = `-v muster-${appId}:/var/lib/muster \\\n    ${network}${image} agent run`;
  const daemon = `--device-url ${device.url} \\\n    --credential-file /var/lib/muster/credential`;
  return [
    {
      says: texts.steps.container,
      needs: texts.needs.container(image),
      text:
        `${CODE}\n  docker run -i --rm ${runs} --once \\\n    --app ${appId} --code-stdin \\\n    ${daemon} &&\n` +
        `docker run -d --name muster-${appId} --restart unless-stopped \\\n    ${runs} \\\n    ${daemon}`,
    },
  ];
}

const kubernetes = (named: Named): readonly Step[] => [
  {
    says: texts.steps.kubernetes,
    needs: texts.needs.kubernetes(named.addresses.image),
    text:
      `${CODE}\n  kubectl create secret generic muster-${named.appId} --from-file=enrollCode=/dev/stdin &&\n` +
      `kubectl apply -f - <<'YAML'\n${manifest(named)}\nYAML`,
  },
  { says: texts.steps.enrolledPod, text: `kubectl delete secret muster-${named.appId}` },
];

/** A pod that keeps its credential: a code enrolls once, and a pod may be started again. */
const manifest = ({ appId, addresses: { device, image } }: Named): string => `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: muster-${appId}
spec:
  serviceName: muster-${appId}
  replicas: 1
  selector:
    matchLabels:
      app: muster-${appId}
  template:
    metadata:
      labels:
        app: muster-${appId}
    spec:
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: agent
          image: ${image}
          args:
            - agent
            - run
            - --app=${appId}
            - --code-file=/run/code/enrollCode
            - --device-url=${device.url}
            - --credential-file=/var/lib/muster/credential
          volumeMounts:
            - name: state
              mountPath: /var/lib/muster
            - name: code
              mountPath: /run/code
              readOnly: true
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
      volumes:
        - name: code
          secret:
            secretName: muster-${appId}
            optional: true
  volumeClaimTemplates:
    - metadata:
        name: state
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 16Mi`;

function opamp(named: Named): readonly Step[] {
  const { appId, addresses } = named;
  const { device, opampUrl } = addresses;
  const endpoint = opampUrl === `${device.url}/v1/opamp` ? '' : ` \\\n    --endpoint ${shellWord(opampUrl)}`;
  return [
    {
      says: texts.steps.opamp,
      needs: needsMuster(named),
      text:
        `${CODE}\n  muster agent enroll --opamp muster-${appId} --app ${appId} --code-stdin \\\n` +
        `    --device-url ${device.url}${endpoint} &&\nopampsupervisor --config muster-${appId}/supervisor.yaml`,
    },
    { says: texts.steps.again, text: `opampsupervisor --config muster-${appId}/supervisor.yaml` },
  ];
}

function own({ appId, revision, addresses: { api, device } }: Named): readonly Step[] {
  const [answer, header] = [`muster-${appId}.json`, `muster-${appId}.header`];
  const sends = (path: string): string => `curl -sS --fail-with-body ${device.url}/device/v1/${path}`;
  const json = "-H 'Content-Type: application/json'";
  return [
    {
      says: texts.steps.enroll,
      needs: texts.needs.own,
      text:
        `(\n  umask 077\n  ${CODE}\n` +
        `    sed 's/.*/{"appId":"${appId}","enrollCode":"&","connection":"cloud"}/' |\n` +
        `    ${sends('enroll')} \\\n      ${json} --data @- -o ${answer} &&\n` +
        `    sed 's/.*"credential":"\\([^"]*\\)".*/Authorization: Bearer \\1/' ${answer} \\\n      > ${header} &&\n` +
        `    rm ${answer}\n)`,
    },
    { says: texts.steps.poll, text: `${sends('config')} \\\n  -H @${header}` },
    {
      says: texts.steps.acknowledge,
      text: `${sends('config/ack')} \\\n  -H @${header} \\\n  ${json} \\\n  --data '{"revision":${revision},"status":"applied"}'`,
    },
    {
      says: texts.steps.api,
      text: `curl -sS --fail-with-body ${api.url}/v1/apps \\\n  -H @muster-api-key.header \\\n  ${json} \\\n  --data '{"name":"edge 2"}'`,
    },
  ];
}

const STEPS = { linux, container, kubernetes, opamp, own } as const;

/** A way by which a daemon comes. */
export type Way = keyof typeof STEPS;
export const WAYS = Object.keys(STEPS) as readonly Way[];

/** The commands of a way, in their order. */
export const stepsOf = (way: Way, named: Named): readonly Step[] => STEPS[way](named);

const isThisMachine = (url: string): boolean => /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(url);
