/** The endpoint that the daemon waits for. */
export const ENDPOINT = 'https://otel.example.com';

/** The program of a daemon; the Secret fills its environment. */
const DAEMON = `
  const { appId, enrollCode, serverUrl } = process.env;
  const ask = async (path, credential, body) => {
    const headers = credential === undefined ? {} : { authorization: \`Bearer \${credential}\` };
    const answer = await fetch(serverUrl + '/device/v1/' + path, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(path + ': ' + answer.status + ' ' + await answer.text());
    return answer.status === 204 ? {} : await answer.json();
  };
  const { credential } = await ask('enroll', undefined, {
    appId, enrollCode, platform: 'linux', agentVersion: '1.0.0', connection: 'cloud',
  });
  for (;;) {
    const { revision, otel } = await ask('config', credential);
    if (otel.enabled) {
      await ask('config/ack', credential, { revision, status: 'applied' });
      console.log('received ' + otel.endpoint);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
`;

/**
 * A pod that enrolls with the Secret of its name and ends when it has received a configuration; it is allowed what
 * `restricted` allows.
 */
export function daemonPod(image: string, name: string): object {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const command = ['node', '--input-type=module', '--eval', DAEMON];
  const envFrom = [{ secretRef: { name } }];
  const container = { name, image, imagePullPolicy: 'Never', command, envFrom, securityContext };
  const spec = { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}
