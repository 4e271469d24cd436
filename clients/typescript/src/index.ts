export type { Answer, AnswerMeta, DataWithMeta, ListAnswer } from './answer.ts';
export type {
  Batch,
  BatchChange,
  Batches,
  BatchResult,
  ResultOptions,
  WaitOptions,
} from './batches.ts';
export {
  AuthenticationError,
  type ClientErrorCode,
  ConflictError,
  ConnectionError,
  type ErrorFacts,
  InvalidRequestError,
  NotFoundError,
  QuotaError,
  RateLimitError,
  ServiceError,
  SoukError,
  TimeoutError,
  WebhookError,
} from './errors.ts';
export type { FileStream, Files, TableOptions } from './files.ts';
export type {
  ErrorCode,
  Methods,
  OperationData,
  OperationName,
  OperationTables,
  Schemas,
  TableFormat,
} from './generated/operations.ts';
export type { Job, Jobs } from './jobs.ts';
export { type LoginOptions, login, renewTokens, revokeToken, type Tokens } from './login.ts';
export type { CallOptions, RequestOptions } from './method-types.ts';
export { Souk, type SoukOptions } from './souk.ts';
export { VERSION } from './version.ts';
export { type ReceivedWebhook, type VerifyOptions, verifyWebhook, type WebhookEvent } from './webhooks.ts';
