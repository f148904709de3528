/** The client of Muster's three APIs: one class for each. */
export { DeviceClient } from './device.ts';
export type { DeviceClientOptions, EnrollOptions, Poll, PollOptions } from './device.ts';
export { MusterError } from './errors.ts';
export type { ClientCode } from './errors.ts';
export { OperatorClient } from './operator.ts';
export type { OperatorClientOptions } from './operator.ts';
export type {
  CallOptions,
  ClientOptions,
  ConditionalOptions,
  CreateOptions,
  GenericAnswer,
  GenericRequest,
  RetryEvent,
  SecretSource,
} from './options.ts';
export { OwnerClient } from './owner.ts';
export type { OwnerClientOptions, TaggedOtelConfig } from './owner.ts';
export type { BackupStream, UsageText } from './pages.ts';
export type { Timing } from './timing.ts';
export type { AppEvent, WatchOptions } from './watch.ts';
export type * from './generated/v1.ts';
export type * from './generated/device.ts';
export type * from './generated/operator.ts';
// These are in several of the documents, and the same in each.
export type { AppStatus, EvidenceLevel } from './generated/v1.ts';
export type { Severity } from './generated/device.ts';
export type {
  ListAccountsQuery as PageQuery,
  ListReviewQueueQuery as ReviewQuery,
  ReadUsageQuery as UsageQuery,
} from './generated/operator.ts';
