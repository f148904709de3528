/* Texts of the page of the configuration. */

export const configuration = {
  title: 'Configuration',
  lead: 'The OpenTelemetry export configuration of all cloud-managed daemons. Each picks a change up at its next poll.',
  form: 'Export',
  enabled: 'Daemons export to the collector',
  endpoint: 'Endpoint',
  endpointHint: 'The OTLP/HTTP address of the collector. Plain http: is for loopback and private hosts only.',
  required: 'An endpoint is needed while daemons export.',
  header: 'Header for the collector',
  headerSet: 'A header is stored. It is never shown.',
  headerUnset: 'No header is stored.',
  headerKeep: 'Leave it as it is',
  headerReplace: 'Set another one',
  headerRemove: 'Delete it',
  headerValue: 'The header',
  headerHint: 'The value of Authorization, such as “Bearer …”, or “Name: value” for another header.',
  show: 'Show what I type',
  pasted:
    'This has the form of OTEL_EXPORTER_OTLP_HEADERS, name=value and percent-encoded. Daemons would send it as it stands, which collectors refuse.',
  severalPasted: (count: number) =>
    `This has the form of OTEL_EXPORTER_OTLP_HEADERS, with ${count} headers. One can be stored: leave the others out.`,
  useDecoded: 'Use the decoded value',
  evidence: 'Evidence of detections',
  evidenceHint:
    'How much of a detection Muster keeps in the review queue. It holds for detections that come after the change.',
  evidenceOptions: {
    hashes: 'Hashes: a hash of the text alone',
    redacted: 'Redacted: the hash, and the text without what is private',
    full: 'Full: the hash, and all of the text that was found',
  },
  review: 'Review the change',
  nothing: 'Nothing is changed.',
  unsaved: 'There are changes that are not saved.',
  discard: 'Discard',
  dialog: {
    title: 'Save this configuration?',
    devices: (count: number) =>
      count === 1
        ? '1 active cloud daemon picks it up at its next poll.'
        : `${count} active cloud daemons pick it up at their next polls.`,
    save: 'Save',
    before: 'Before',
    after: 'After',
    what: 'Field',
    changes: 'Changes',
    on: 'on',
    off: 'off',
    none: 'none',
    headerNew: 'another one',
    headerStored: 'stored',
    headerGone: 'deleted',
    headerMoves:
      'The stored header goes to the new endpoint. Set another one, or delete it, where it is not meant for it.',
  },
  saved: 'The configuration is saved.',
  meanwhile:
    'Somebody else has changed the configuration meanwhile. This is stored now, and in the form where you have typed nothing; what you have typed is kept:',
  meanwhileUnseen: 'No field that is shown differs: the header may have been replaced, or a change was taken back.',
  rollout: 'Rollout',
  revision: (revision: number) => (revision === 0 ? 'Nothing was stored yet.' : `Revision ${revision}`),
  changed: 'Changed',
  parts: { applied: 'Applied', failed: 'Failed', pending: 'Pending', stale: 'Silent' },
  noDevices: 'No active cloud daemon takes a configuration.',
  failures: 'Failures by what the daemons said',
  failureColumns: { error: 'What was said', devices: 'Daemons' },
  emptied: 'It runs the empty configuration in its place.',
  unhealthy: 'Agents that say they are not healthy',
  latest: 'Newest failures',
  latestColumns: { app: 'App', error: 'What was said', at: 'When' },
  history: 'History',
  noHistory: 'Nothing was stored yet.',
  purge: 'Purge',
  purgeTitle: 'Purge the configuration',
  purgeLead:
    'Removes the configuration with its header; daemons then export nothing. The store forgets both soon after; backups that were made before may still hold the encrypted header.',
  purgeAction: 'Purge',
  purgeWord: 'purge',
  purged: 'The configuration is purged.',
  purgeStates: {
    none: '',
    'in-history': 'Purged. The history of the store still holds it; it is being forgotten.',
    forgotten: 'Purged, and the store has forgotten it.',
  },
  notEntitled:
    'The account has no Enterprise entitlement, which the configuration needs. What is stored can be purged all the same.',
};
