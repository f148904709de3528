/* Texts of the dialog that adds a daemon, and of the ways in which one enrolls. */

export const daemons = {
  add: 'Add a daemon',
  name: 'Name',
  nameHint: 'For people: where it runs, or what it watches. It need not be unique.',
  create: 'Get the code',
  ready: (name: string) => `Enroll ${name}`,
  look: 'Open its page',
  another: 'Add another',
  code: 'Enrollment code',
  validUntil: (at: string) =>
    `It is shown once, here and now. It enrolls one daemon, and is valid until ${at}. The command asks for it: paste it there.`,
  command: 'Command',
  ways: 'Where the daemon runs',
  way: {
    linux: 'Linux',
    container: 'Container',
    kubernetes: 'Kubernetes',
    opamp: 'Collector (OpAMP)',
    own: 'Own client',
  },
  steps: {
    linux:
      'On the machine, with the command muster. It enrolls, and writes the configuration to a file for a collector.',
    again: 'To start it again later, without a code:',
    container: 'With Docker. The volume keeps the credential.',
    kubernetes: 'With kubectl, in the namespace of the daemon.',
    enrolledPod: 'Once it is enrolled, nothing needs the code any more:',
    opamp:
      'On the machine, with the commands muster and opampsupervisor, and an OpenTelemetry Collector. It enrolls, and ' +
      'starts the collector under its supervisor.',
    enroll: 'Enrolls by the device API, and keeps the credential as a header in a file:',
    poll: 'Reads the configuration, as a daemon does again and again:',
    acknowledge: 'Says that it is applied:',
    api: 'A further daemon by the API, with the header Authorization: Bearer and an API key in a file:',
  },
  /** The program that each way needs, and how it comes there. */
  needs: {
    muster: (tarball: string) =>
      `The command muster is in ${tarball}, which npm run pack makes in a checkout of Muster. On a machine with Node ` +
      '24: unpack it, run npm ci --omit=dev --ignore-scripts in its folder, and link its bin/muster.mjs as muster ' +
      'into a folder of the PATH.',
    container: (image: string) =>
      `${image} is the image of the service, as deploy/compose.yaml names it. If machines pull it from a registry, put that before the name.`,
    kubernetes: (image: string) =>
      `${image} is the image of the service, as the chart names it. If nodes pull it from a registry, put that before the name.`,
    own: 'The commands need a shell with curl and sed, and no muster.',
  },
  manyHint: 'Put the appId of a line of the file in the place of APP_ID, and give the command the code of that line.',
  unknownAddress: (url: string) =>
    `${url} is the address of the listener, and other machines may not reach it. An operator sets the right one with MUSTER_PUBLIC_DEVICE_URL.`,
  arrival: {
    title: 'What happens',
    created: 'Code issued',
    waiting: 'Waiting for the daemon…',
    check: 'See what to check',
    enrolled: 'Enrolled',
    enrolledAs: (what: string) => `Enrolled: ${what}`,
    applying: 'Waiting for it to apply the configuration…',
    applied: (revision: number) => `Configuration applied: revision ${revision}`,
    failed: (error: string) => `The configuration could not be applied: ${error}`,
    /** Said before a stage that is still to come. */
    toCome: 'Then:',
    later: 'Configuration applied',
    private: 'It is configured on its machine, and takes nothing from here.',
    off: 'Nothing to apply: no configuration is switched on.',
    set: 'Set the configuration',
    notEntitled: 'Nothing to apply: the account is not entitled to deliver a configuration.',
    late: 'It has not come yet. Check:',
    lateChecks: (device: string) => [
      'Did the command end with an error? It names what is wrong.',
      `Does the machine reach the service? This must print 401: curl -sS -o /dev/null -w '%{http_code}\\n' ${device}/device/v1/config`,
      'Is its certificate from an authority of your own? Name that by MUSTER_CLIENT_CA_FILE, or curl --cacert.',
      'Was the code used before, or cut off while copying? Issue a new one on the page of the app.',
    ],
    slow: 'It has not said that it applied the configuration. Check:',
    slowChecks: [
      'Does it still run? Its own output says what it could not do.',
      'A collector hears of a configuration when it polls, which may take a minute.',
      'A client of your own has to acknowledge: the last commands under Own client show how.',
    ],
  },
};
