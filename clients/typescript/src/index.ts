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
export type { BackupStream, PageQuery, ReviewQuery, UsageQuery, UsageText } from './pages.ts';
export type { Timing } from './timing.ts';
export type { AppEvent, WatchOptions } from './watch.ts';
export type {
  App,
  AppList,
  AppStatus,
  CreateAppRequest,
  CreatedApp,
  EvidenceLevel,
  IssuedEnrollCode,
  OtelConfig,
  PurgedOtelConfig,
  RevokedApp,
  StoreOtelConfigRequest,
} from './generated/v1.ts';
export type {
  AcceptedDetections,
  AckStatus,
  AcknowledgeConfigRequest,
  Connection,
  DeliveredOtelConfig,
  Detection,
  DeviceConfig,
  EnrollDeviceRequest,
  EnrolledDevice,
  ReportDetectionsRequest,
  ReportedEvidence,
  Severity,
} from './generated/device.ts';
export type {
  Account,
  AccountApp,
  AccountAppPage,
  AccountPage,
  AccountUsage,
  AcknowledgedRevision,
  ApiKey,
  ApiKeyList,
  AuditEntry,
  AuditFault,
  AuditFaultKind,
  AuditHead,
  AuditPage,
  AuditVerification,
  ChangeAccountAppRequest,
  ChangeAccountRequest,
  ChangeUserRequest,
  CreateAccountRequest,
  CreateApiKeyRequest,
  CreatedApiKey,
  CreatedUser,
  CreateUserRequest,
  DecideReviewRequest,
  Entitlement,
  Evidence,
  FleetHealth,
  KeyRotation,
  KeyStatus,
  LimitedAccount,
  MadeApiKey,
  MadeApiKeys,
  RateLimits,
  RefusedByKey,
  ReplicaKeys,
  ReviewEntry,
  ReviewPage,
  ReviewStatus,
  Rollout,
  RolloutError,
  RolloutFailure,
  UnhealthyAgent,
  Usage,
  UsageNight,
  UsageTotal,
  User,
  UserLink,
  UserList,
} from './generated/operator.ts';
