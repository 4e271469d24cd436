/**
 * All Redis keys of the service except BullMQ's. Keys that one script uses have the same hash tag {...}, so that they are
 * on one node of a Redis Cluster.
 */
export interface RedisKeys {
  /** The prefix of all keys but those of queues. */
  namespace: string;
  /** The answer of one call. */
  callAnswer(callId: string): string;
  /** The newest answer of a presentation, shared by all accounts. */
  sharedAnswer(presentationId: string): string;
  /** A shared answer that a newer one replaced, for requests that join a call with the old answer. */
  replacedAnswer(presentationId: string, version: string): string;
  /** The body of a large answer, stored separately; `owner` is the answer's key. */
  body(owner: string, version: string): string;
  /** Present while a caller may poll for the answer of a call. */
  keepAnswer(callId: string): string;
  /** Bytes of the answers that an account may poll, by the hour in which they were stored. */
  storedBytes(accountId: number): string;
  /** Bytes of the answers of an account's calls that were answered directly, by the same hours. */
  directBytes(accountId: number): string;
  /** Raw data of one source. The number is the version of its format. */
  source(identity: string): string;
  /** Held by the leader that fetches a source. A forced fetch is a separate flight. */
  flight(identity: string, forced: boolean): string;
  /** Channel of flight completions. */
  flightsChannel: string;
  /** Channel of completion messages of jobs that name no process. */
  jobsChannel: string;
  /** Channel of the completion messages for one process. */
  completionsChannel(id: string): string;
  /** The processes that wait for a call, in addition to the one that submitted its job. */
  waiting(callId: string): string;
  /** The mean run time of the jobs of a pool, as its workers see it. */
  meanDuration(pool: string): string;
  /** Channel of commands to workers about the jobs they run. */
  controlChannel: string;
  /** Present while further requests wait for a job, in addition to the first. */
  joined(callId: string): string;
  /** Present while a worker has to stop a job. */
  cancelled(callId: string): string;
  /** The pieces of an upload, for the worker that reads it. */
  upload(uploadId: string): string;
  /** The reply of that worker. */
  reply(uploadId: string): string;
  /** Channel of replies. */
  repliesChannel: string;
  /** Channel of batch changes. */
  batchesChannel: string;
  /** The token bucket of one provider. */
  tokens(provider: string): string;
  /** The pacing state of one rate-limited endpoint, shared by all workers. */
  pacing(endpoint: string): string;
  /** The cookie that a provider requires. */
  cookie(provider: string): string;
  /** The live workers of a pool. */
  workers(pool: string): string;
  /** Prefix of the counters of sign-in attempts, by account or by address. */
  attempts(kind: string): string;
  /** Prefix of the counters of requests that cost no units, by account. */
  freeRequests: string;
  /** Prefix of the counters of bytes of uploads, by account. */
  uploadBytes: string;
  /** Prefix of the queue of a pool, which has a hash tag of its own. */
  queuePrefix(pool: string): string;
}

export function redisKeys(namespace: string): RedisKeys {
  return {
    namespace,
    callAnswer: (callId) => `${namespace}:answer:{${callId}}`,
    sharedAnswer: (presentationId) => `${namespace}:answer:{${presentationId}}`,
    replacedAnswer: (presentationId, version) => `${namespace}:answer:{${presentationId}}:${version}`,
    body: (owner, version) => `${owner}:body:${version}`,
    keepAnswer: (callId) => `${namespace}:answer:{${callId}}:keep`,
    storedBytes: (accountId) => `${namespace}:stored:{${accountId}}`,
    directBytes: (accountId) => `${namespace}:stored:{${accountId}}:direct`,
    source: (identity) => `${namespace}:source:4:{${identity}}`,
    flight: (identity, forced) => `${namespace}:source:{${identity}}:${forced ? 'forced' : 'flight'}`,
    flightsChannel: `${namespace}:flights`,
    jobsChannel: `${namespace}:jobs`,
    completionsChannel: (id) => `${namespace}:jobs:${id}`,
    waiting: (callId) => `${namespace}:waiting:{${callId}}`,
    meanDuration: (pool) => `${namespace}:workers:{${pool}}:duration`,
    controlChannel: `${namespace}:control`,
    cancelled: (callId) => `${namespace}:cancelled:{${callId}}`,
    joined: (callId) => `${namespace}:joined:{${callId}}`,
    reply: (uploadId) => `${namespace}:upload:{${uploadId}}:reply`,
    repliesChannel: `${namespace}:replies`,
    batchesChannel: `${namespace}:batches`,
    upload: (uploadId) => `${namespace}:upload:{${uploadId}}`,
    tokens: (provider) => `${namespace}:tokens:{${provider}}`,
    pacing: (endpoint) => `${namespace}:pacing:{${endpoint}}`,
    cookie: (provider) => `${namespace}:cookie:{${provider}}`,
    workers: (pool) => `${namespace}:workers:{${pool}}`,
    attempts: (kind) => `${namespace}:attempts:${kind}`,
    freeRequests: `${namespace}:free`,
    uploadBytes: `${namespace}:upload-bytes`,
    queuePrefix: (pool) => `{${namespace}-${pool}}`,
  };
}
